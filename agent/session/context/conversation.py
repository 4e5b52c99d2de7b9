"""A session's messages while a turn works on them, and what of them is sent.

What a summary stands for is not held: it is in the store (``Store.context_messages`` reads what a
turn begins with), and a session that goes on all day takes no more than its window does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from agent.provider.client import Turn
from agent.records.messages import CompactionPart, MessageWithParts, Part
from agent.session.context.compaction import marker_of, visible_messages
from agent.session.context.request_turns import TurnConverter


class Conversation:
    """Messages, oldest first, from the tail of the newest summary on. What a step adds costs the
    same however many there are: what did not change is neither looked through nor converted
    again."""

    def __init__(self, messages: Iterable[MessageWithParts] = ()) -> None:
        self._all = list(messages)
        self._visible: list[MessageWithParts] | None = None
        self._marker: CompactionPart | None = None
        self._turns = TurnConverter()

    @property
    def all(self) -> list[MessageWithParts]:
        """Every message that is held. Not to be changed."""
        return self._all

    @property
    def visible(self) -> Sequence[MessageWithParts]:
        """What is sent: behind the newest summary only the messages that it left as they are."""
        if self._visible is None:
            self._visible = list(visible_messages(self._all))
            markers = (found for item in reversed(self._all) if (found := marker_of(item)))
            self._marker = next(markers, None)
            if self._marker is not None:
                start = self._marker.first_kept_id
                self._all = [item for item in self._all if item.message.id >= start]
        return self._visible

    @property
    def marker(self) -> CompactionPart | None:
        """The newest summary, None before there is one."""
        return self._marker if self.visible else None

    def turns(self) -> tuple[Turn, ...]:
        """What is sent, as a request holds it."""
        return self._turns.convert(self.visible)

    def add(self, *items: MessageWithParts) -> None:
        """Messages at the end."""
        self._all.extend(items)
        if self._visible is not None and not any(marker_of(item) for item in items):
            self._visible.extend(items)
        else:
            self._visible = None

    def replace_all(self, messages: list[MessageWithParts]) -> None:
        """Other messages in place of all that are there; the same objects stay converted."""
        if messages is not self._all:
            self._all, self._visible = messages, None

    def remove(self, message_id: str) -> None:
        self.replace_all([item for item in self._all if item.message.id != message_id])

    def replace_parts(self, parts: Mapping[str, Part]) -> None:
        """Put *parts* (by their ids) in the place of those that have these ids."""
        self.replace_all([_with(item, parts) for item in self._all])


def _with(item: MessageWithParts, parts: Mapping[str, Part]) -> MessageWithParts:
    if not any(part.id in parts for part in item.parts):
        return item
    return replace(item, parts=tuple(parts.get(part.id, part) for part in item.parts))
