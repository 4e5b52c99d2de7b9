"""The parts of one message as a view holds them: in the order of their ids, some still growing."""

from typing import TypeVar

from agent.records.messages import Part, Pending, ReasoningPart, TextPart, ToolPart
from agent.records.requests import PermissionRequest, Question

Asked = TypeVar("Asked", PermissionRequest, Question)


def without(held: tuple[Asked, ...], asked_id: str) -> tuple[Asked, ...]:
    """*held* but for the one of that id."""
    left = tuple(asked for asked in held if asked.id != asked_id)
    return left if len(left) < len(held) else held


def with_new(held: tuple[Asked, ...], asked: Asked, session_id: str) -> tuple[Asked, ...]:
    """*held* and *asked*, once, where that is of the tree of the session."""
    ours = session_id in {asked.session_id, asked.root_id}
    return (*held, asked) if ours and all(known.id != asked.id for known in held) else held


def part_id(part: Part) -> str:
    return part.id


def position(parts: list[Part], part_id: str) -> int:
    """Where *part_id* is or belongs; looked for from the end, where parts change."""
    index = len(parts)
    while index and parts[index - 1].id > part_id:
        index -= 1
    return index - 1 if index and parts[index - 1].id == part_id else index


def text_of(part: Part, name: str) -> str | None:
    """The text that deltas of field *name* extend, None where the part takes none now."""
    if name == "text" and isinstance(part, TextPart | ReasoningPart):
        return part.text
    if name == "raw" and isinstance(part, ToolPart) and isinstance(part.state, Pending):
        return part.state.raw
    return None
