"""What of a turn has a place in a document of any form, in order: one walk for all forms."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from agent.records.blocks import DiffBlock, ShellBlock
from agent.records.messages import (
    CompactionPart,
    MessageWithParts,
    ReasoningPart,
    ReportPart,
    SyntheticPart,
    TextPart,
    ToolPart,
)
from agent.session.review.timeline import TurnLine


@dataclass(frozen=True, slots=True)
class UserEntry:
    """A message of the user's; *first* of the one that began the turn, the others came while it
    worked."""

    item: MessageWithParts
    first: bool


@dataclass(frozen=True, slots=True)
class FailedStep:
    """A step that did not end well: *error* says why, "" where it was interrupted."""

    error: str


Entry = UserEntry | TextPart | ReasoningPart | ToolPart | ReportPart | CompactionPart | FailedStep


def turn_entries(turn: TurnLine) -> Iterator[Entry]:
    """The entries of *turn*; texts among them are never blank."""
    for item in turn.messages:
        message = item.message
        if message.role == "user":
            if message.synthetic:
                yield from (part for part in item.parts if isinstance(part, SyntheticPart))
            else:
                yield UserEntry(item, first=bool(turn.prompts) and item is turn.prompts[0])
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
            yield FailedStep("")
        elif message.error is not None:
            yield FailedStep(message.error.message)


MAX_LINES = 60
"""Lines of output that are shown of one call."""


def shell_text(block: ShellBlock) -> str:
    """*block* as a terminal has it, with a line for what is not kept of its output."""
    earlier = f"… {block.earlier} earlier lines\n" if block.earlier else ""
    return f"$ {block.command}\n{earlier}{block.output}".strip()


def diff_text(block: DiffBlock) -> Iterator[str]:
    """*block* as lines of a unified diff without file headers, as ``patch`` takes it."""
    sign = {"context": " ", "add": "+", "remove": "-"}
    for hunk in block.hunks:
        old = next((line.old for line in hunk.lines if line.old is not None), 0)
        new = next((line.new for line in hunk.lines if line.new is not None), 0)
        gone = sum(line.kind != "add" for line in hunk.lines)
        come = sum(line.kind != "remove" for line in hunk.lines)
        yield f"@@ -{old},{gone} +{new},{come} @@"
        yield from (sign[line.kind] + line.text for line in hunk.lines)
    if block.omitted:
        yield f"… {block.omitted} more lines"


def shortened(text: str) -> str:
    """The first and last lines of a long text."""
    lines = text.split("\n")
    if len(lines) <= MAX_LINES:
        return text
    half = MAX_LINES // 2
    left = len(lines) - 2 * half
    return "\n".join([*lines[:half], f"… {left} more lines", *lines[-half:]])


def date_time(when: float) -> str:
    """Date and time, of the place where it is written."""
    return datetime.fromtimestamp(when, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
