"""Discarding undone messages permanently, before a new turn begins."""

from dataclasses import replace

from agent.records.messages import AssistantMessage, Session
from agent.session.queue import is_queued
from agent.session.usage import with_model_usage
from agent.store.store import Store


async def discard_undone(store: Store, session_id: str) -> None:
    """Discard the undone messages of a session in which a turn is about to begin.

    The caller must have claimed the session, so that no redo happens meanwhile.
    """
    session = await store.session(session_id)
    if session.undone_at is None:
        return
    stored = await store.messages(session.id)
    # Queued messages came later, perhaps while the session was claimed: they were never undone.
    gone = [m for m in stored if m.message.id >= session.undone_at and not is_queued(m)]
    for item in gone:
        await store.remove_message(session.id, item.message.id)

    def settled(now: Session) -> Session:
        for item in gone:
            if isinstance(message := item.message, AssistantMessage):
                now = with_model_usage(now, message.model, message.usage, message.cost)
        return replace(now, undone_at=None, undone_tree=None)

    await store.update(session.id, settled)
