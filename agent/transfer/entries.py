"""What of a turn has a place in a document of any form, in order: one walk for all forms."""

from collections.abc import Iterator
from dataclasses import dataclass

from agent.records.messages import (
    CompactionPart,
    MessageWithParts,
    ReasoningPart,
    ReportPart,
    SyntheticPart,
    TextPart,
    ToolPart,
)
from agent.session.review.timeline import TimelineTurn


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the user's; *first* of the one that began the turn, the others came while it
    worked."""

    item: MessageWithParts
    first: bool


@dataclass(frozen=True, slots=True)
class Ended:
    """A step that did not end well: *error* says why, "" where it was interrupted."""

    error: str


Entry = Said | TextPart | ReasoningPart | ToolPart | ReportPart | CompactionPart | Ended


def entries(turn: TimelineTurn) -> Iterator[Entry]:
    """The entries of *turn*; texts among them are never blank."""
    for item in turn.messages:
        message = item.message
        if message.role == "user":
            if message.synthetic:
                yield from (part for part in item.parts if isinstance(part, SyntheticPart))
            else:
                yield Said(item, first=bool(turn.prompts) and item is turn.prompts[0])
            continue
        for part in item.parts:
            match part:
                case TextPart(synthetic=False) | ReasoningPart() if part.text.strip():
                    yield part
                case ToolPart():
                    yield part
                case _:
                    pass
        if message.interrupted:
            yield Ended("")
        elif message.error is not None:
            yield Ended(message.error.message)
