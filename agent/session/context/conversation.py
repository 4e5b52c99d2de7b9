"""A session's messages while a turn works on them, and the part of them that is sent.

Messages before the newest compaction are not held: they are in the store
(``Store.context_messages`` reads the start of a turn), so a session that runs all day takes no more
memory than its window.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from agent.provider.client import SentHistory, Turn
from agent.records.context_parts import ContextPart
from agent.records.messages import (
    CompactionPart,
    Completed,
    MessageWithParts,
    Part,
    ToolPart,
    messages_before,
)
from agent.session.context.compaction_markers import marker_of, visible_messages
from agent.session.context.request_turns import TurnConverter

T = TypeVar("T")


class Conversation:
    """Messages, oldest first, from the tail of the newest compaction on. The cost of a step does
    not depend on their number: unchanged messages are neither read nor converted again."""

    def __init__(self, messages: Iterable[MessageWithParts] = ()) -> None:
        self._all = list(messages)
        self._visible: list[MessageWithParts] | None = None
        self._marker: CompactionPart | None = None
        self._turns = TurnConverter()
        self._context = _Found(context_parts)
        self._attached = _Found(_attached_instructions)
        self.sent = SentHistory()

    @property
    def all(self) -> list[MessageWithParts]:
        """Every message that is held. Not to be changed."""
        return self._all

    @property
    def visible(self) -> Sequence[MessageWithParts]:
        """The messages that are sent: after the newest compaction only those that it kept."""
        if self._visible is None:
            self._visible = list(visible_messages(self._all))
            markers = (found for item in reversed(self._all) if (found := marker_of(item)))
            self._marker = next(markers, None)
            if self._marker is not None:
                older = messages_before(self._all, self._marker.message_id)
                self._all = self._all[len(messages_before(older, self._marker.first_kept_id)) :]
        return self._visible

    @property
    def marker(self) -> CompactionPart | None:
        """The newest compaction, None without one."""
        return self._marker if self.visible else None

    @property
    def context(self) -> Sequence[ContextPart]:
        """The context that the model was given, oldest first."""
        return self._context.of(self._all)

    @property
    def attached_instructions(self) -> Sequence[str]:
        """The marks of the instruction files that results of visible calls show."""
        return self._attached.of(self.visible)

    def turns(self) -> tuple[Turn, ...]:
        """Return the visible messages as the turns of a request."""
        return self._turns.convert(self.visible)

    def add(self, *items: MessageWithParts) -> None:
        """Append messages."""
        self._all.extend(items)
        if self._visible is not None and not any(marker_of(item) for item in items):
            self._visible.extend(items)
        else:
            self._visible = None

    def replace_all(self, messages: list[MessageWithParts]) -> None:
        """Replace all messages; the same objects stay converted."""
        if messages is not self._all:
            self._all, self._visible = messages, None

    def remove(self, message_id: str) -> None:
        self.replace_all([item for item in self._all if item.message.id != message_id])

    def replace_parts(self, parts: Mapping[str, Part]) -> None:
        """Replace the parts with the ids of *parts*."""
        self.replace_all([_with(item, parts) for item in self._all])


def context_parts(item: MessageWithParts) -> Iterator[ContextPart]:
    return (part for part in item.parts if isinstance(part, ContextPart))


def _attached_instructions(item: MessageWithParts) -> Iterator[str]:
    states = (part.state for part in item.parts if isinstance(part, ToolPart))
    shown = (s for s in states if isinstance(s, Completed) and s.compacted is None)
    return (mark for state in shown for mark in state.attached)


class _Found(Generic[T]):
    """The results of *find* for the messages of a list. A list that only grew is not read again."""

    def __init__(self, find: Callable[[MessageWithParts], Iterable[T]]) -> None:
        self._find = find
        self._list: Sequence[MessageWithParts] = ()
        self._read = 0
        self._found: list[T] = []

    def of(self, messages: Sequence[MessageWithParts]) -> Sequence[T]:
        if messages is not self._list or len(messages) < self._read:
            self._list, self._read, self._found = messages, 0, []
        for item in messages[self._read :]:
            self._found.extend(self._find(item))
        self._read = len(messages)
        return self._found


def _with(item: MessageWithParts, parts: Mapping[str, Part]) -> MessageWithParts:
    if not any(part.id in parts for part in item.parts):
        return item
    return replace(item, parts=tuple(parts.get(part.id, part) for part in item.parts))
