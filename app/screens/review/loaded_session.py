"""A session as a review reads it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from agent.records.blocks import TodoItem
from agent.records.messages import AssistantMessage, Idle, MessageWithParts, Part, Session
from agent.session.api import SessionSnapshot
from agent.session.review.timeline import TurnLine, timeline
from agent.store.store import Store
from app.session.view import SessionView


@dataclass(frozen=True, slots=True)
class LoadedSession:
    """One session with its turns, as it stood when it was read."""

    session: Session
    messages: tuple[MessageWithParts, ...]
    turns: tuple[TurnLine, ...]
    todos: tuple[TodoItem, ...] = ()

    def view(self) -> SessionView:
        """What a transcript draws."""
        snapshot = SessionSnapshot(
            session=self.session, messages=self.messages, status=Idle(), todos=self.todos
        )
        return SessionView(snapshot)

    def turn_of(self, message_id: str) -> int | None:
        """The index of the turn that holds a message."""
        for index, turn in enumerate(self.turns):
            if any(item.message.id == message_id for item in turn.messages):
                return index
        return None

    def item(self, message_id: str) -> MessageWithParts | None:
        return next((item for item in self.messages if item.message.id == message_id), None)

    def part(self, message_id: str, part_id: str) -> Part | None:
        item = self.item(message_id)
        return next((p for p in item.parts if p.id == part_id), None) if item else None

    def step(self, message_id: str) -> AssistantMessage | None:
        item = self.item(message_id)
        found = item.message if item is not None else None
        return found if isinstance(found, AssistantMessage) else None


UnfoldedSessions: TypeAlias = Mapping[str, LoadedSession]
"""Sessions of sub-agents that are unfolded, by the id of the part that each stands below."""


async def load_session(store: Store, session_id: str) -> LoadedSession:
    """A session as it is now. Raises ``SessionNotFound``."""
    session = await store.session(session_id)
    messages = tuple(await store.messages(session_id))
    todos = await store.todos(session_id)
    return LoadedSession(session, messages, timeline(messages), todos)
