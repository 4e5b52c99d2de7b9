"""The elements of a turn that exported documents show, in order, and texts that all forms share."""

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
from agent.session.review.timeline import TimelineTurn


@dataclass(frozen=True, slots=True)
class UserEntry:
    """A message of the user's."""

    message: MessageWithParts
    first: bool
    """True if it began the turn; others were sent while the turn was running."""


@dataclass(frozen=True, slots=True)
class FailedStep:
    """A step that failed or was interrupted."""

    error: str
    """The reason, "" for an interruption."""


Entry = UserEntry | TextPart | ReasoningPart | ToolPart | ReportPart | CompactionPart | FailedStep


def turn_entries(turn: TimelineTurn) -> Iterator[Entry]:
    """Yield the entries of *turn*; texts among them are never blank."""
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
"""Lines of one call's output that are shown."""


def shell_text(block: ShellBlock) -> str:
    """Return *block* as a terminal shows it, with a line for output that was not kept."""
    earlier = f"… {block.earlier} earlier lines\n" if block.earlier else ""
    return f"$ {block.command}\n{earlier}{block.output}".strip()


def diff_text(block: DiffBlock) -> Iterator[str]:
    """Yield *block* as lines of a unified diff without file headers, as ``patch`` reads it."""
    sign = {"context": " ", "add": "+", "remove": "-"}
    for hunk in block.hunks:
        old = next((line.old for line in hunk.lines if line.old is not None), 0)
        new = next((line.new for line in hunk.lines if line.new is not None), 0)
        removed = sum(line.kind != "add" for line in hunk.lines)
        added = sum(line.kind != "remove" for line in hunk.lines)
        yield f"@@ -{old},{removed} +{new},{added} @@"
        yield from (sign[line.kind] + line.text for line in hunk.lines)
    if block.omitted:
        yield f"… {block.omitted} more lines"


def shortened(text: str) -> str:
    """Return the first and last lines of a long text."""
    lines = text.split("\n")
    if len(lines) <= MAX_LINES:
        return text
    half = MAX_LINES // 2
    left = len(lines) - 2 * half
    return "\n".join([*lines[:half], f"… {left} more lines", *lines[-half:]])


def date_time(when: float) -> str:
    """Return the local date and time."""
    return datetime.fromtimestamp(when, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
