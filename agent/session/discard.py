"""Discarding undone messages permanently, before a new turn begins."""

from dataclasses import replace

from agent.records.messages import AssistantMessage, Session
from agent.session.queue import is_queued
from agent.session.usage import with_model_usage
from agent.store.store import Store


async def discard_undone(store: Store, session_id: str) -> None:
    """Discard the undone messages of a session in which a turn is about to begin.

    Call it only if the caller has claimed the session: nobody brings it back meanwhile.
    """
    session = await store.session(session_id)
    if session.undone_at is None:
        return
    stored = await store.messages(session.id)
    # What waits came later, be it while this one was claimed: it was never taken back.
    gone = [m for m in stored if m.message.id >= session.undone_at and not is_queued(m)]
    for item in gone:
        await store.remove_message(session.id, item.message.id)

    def settled(now: Session) -> Session:
        for item in gone:
            if isinstance(message := item.message, AssistantMessage):
                now = with_model_usage(now, message.model, message.usage, message.cost)
        return replace(now, undone_at=None, undone_tree=None)

    await store.update(session.id, settled)
