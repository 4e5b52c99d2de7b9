"""The parts of one message as a view holds them: in the order of their ids, some still growing."""

from agent.records.messages import Part, Pending, ReasoningPart, TextPart, ToolPart


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
