"""A session's messages while a turn works on them, and the part of them that is sent.

Messages before the newest compaction are not held: they are in the store
(``Store.context_messages`` reads the start of a turn), so a session that runs all day takes no more
memory than its window.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from agent.provider.client import Turn
from agent.records.messages import CompactionPart, MessageWithParts, Part, messages_before
from agent.session.context.compaction_markers import marker_of, visible_messages
from agent.session.context.request_turns import TurnConverter


class Conversation:
    """Messages, oldest first, from the tail of the newest compaction on. The cost of a step does
    not depend on their number: unchanged messages are neither read nor converted again."""

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


def _with(item: MessageWithParts, parts: Mapping[str, Part]) -> MessageWithParts:
    if not any(part.id in parts for part in item.parts):
        return item
    return replace(item, parts=tuple(parts.get(part.id, part) for part in item.parts))
