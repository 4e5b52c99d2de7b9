"""Parts that deltas may still come for, held in memory (spec 7, D3a).

Appending keeps a list of chunks and joins it only when somebody reads the part, so that
thousands of deltas a second cost next to nothing.
"""

from dataclasses import replace

from agent.records.errors import StoreError
from agent.records.events import DeltaField, PartDelta
from agent.records.messages import Part, Pending, ReasoningPart, TextPart, ToolPart


class _OpenPart:
    def __init__(self, part: Part) -> None:
        self.part = part
        self._chunks: list[str] = []
        self._length = len(_growing(part)[1])

    def append(self, field: DeltaField, delta: str) -> int:
        """Add *delta* and return the length before it."""
        if _growing(self.part)[0] != field:
            message = f"Part {self.part.id} takes no {field} now; this is a fault of the program."
            raise StoreError(message)
        offset = self._length
        self._chunks.append(delta)
        self._length += len(delta)
        return offset

    def current(self) -> Part:
        if self._chunks:
            self.part = _extended(self.part, "".join(self._chunks))
            self._chunks.clear()
        return self.part


def _growing(part: Part) -> tuple[DeltaField | None, str]:
    """The field of *part* that takes deltas, and what it holds."""
    match part:
        case TextPart() | ReasoningPart():
            return "text", part.text
        case ToolPart(state=Pending() as state):
            return "raw", state.raw
        case _:
            return None, ""


def _extended(part: Part, more: str) -> Part:
    match part:
        case TextPart():
            return replace(part, text=part.text + more)
        case ReasoningPart():
            return replace(part, text=part.text + more)
        case ToolPart(state=Pending() as state):
            return replace(part, state=replace(state, raw=state.raw + more))
        case _:
            return part


class OpenParts:
    """The open parts of this process by id."""

    def __init__(self) -> None:
        self._parts: dict[str, _OpenPart] = {}

    def put(self, part: Part) -> None:
        """Hold *part*, in place of what was held under its id."""
        self._parts[part.id] = _OpenPart(part)

    def get(self, part_id: str) -> Part | None:
        """The part with all its deltas, None if it is not held."""
        held = self._parts.get(part_id)
        return held.current() if held is not None else None

    def drop(self, part_id: str) -> None:
        self._parts.pop(part_id, None)

    def append(self, part_id: str, field: DeltaField, delta: str) -> PartDelta:
        """Apply a delta. Raises ``StoreError`` when the part is not open for *field*."""
        held = self._parts.get(part_id)
        if held is None:
            raise StoreError(f"Part {part_id} is not open; this is a fault of the program.")
        offset = held.append(field, delta)
        part = held.part
        return PartDelta(part.session_id, part.message_id, part_id, field, offset, delta)

    def session_ids(self) -> set[str]:
        """The sessions that have open parts here."""
        return {held.part.session_id for held in self._parts.values()}

    def ids(self, session_id: str) -> set[str]:
        """The ids of the open parts of a session."""
        return {id_ for id_, held in self._parts.items() if held.part.session_id == session_id}

    def of_session(self, session_id: str) -> list[Part]:
        """The open parts of a session with all their deltas."""
        return [
            held.current() for held in self._parts.values() if held.part.session_id == session_id
        ]
