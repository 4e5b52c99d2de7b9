"""The elements of a turn that exported documents show, in order, and texts that all forms share."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from agent.records.blocks import DiffBlock, Hunk, ShellBlock
from agent.records.frozen import frozen
from agent.records.messages import (
    CompactionPart,
    Completed,
    MessageWithParts,
    ReasoningPart,
    ReportPart,
    SyntheticPart,
    TextPart,
    ToolPart,
)
from agent.session.review.timeline import TimelineTurn, result_text
from agent.tools.files.diffs import NO_NEWLINE


@frozen
class UserEntry:
    """A message of the user's."""

    message: MessageWithParts
    first: bool
    """True if it began the turn; others were sent while the turn was running."""


@frozen
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


MAX_SPILL = 4 * 1024 * 1024
"""Bytes of an output that are read from its file."""


def full_output(part: ToolPart) -> str:
    """Return the output of a call, from its file where the model read it truncated."""
    state = part.state
    if isinstance(state, Completed) and state.spill is not None:
        try:
            with Path(state.spill).open("rb") as file:
                text = file.read(MAX_SPILL).decode("utf-8", "replace")
                left = len(file.read(1)) > 0
        except OSError:
            return result_text(part)  # the file is deleted after some days
        return f"{text}\n… more than {MAX_SPILL // 1024**2} MB" if left else text
    return result_text(part)


def shell_text(block: ShellBlock, part: ToolPart) -> str:
    """Return *block* of a call as a terminal shows it, with the whole output if it is kept."""
    output = full_output(part) if block.earlier else block.output
    return f"$ {block.command}\n{output}".strip()


def diff_text(block: DiffBlock) -> Iterator[str]:
    """Yield *block* as lines of a unified diff without file headers, as ``patch`` reads it."""
    sign = {"context": " ", "add": "+", "remove": "-"}
    for hunk in block.hunks:
        old = next((line.old for line in hunk.lines if line.old is not None), 0)
        new = next((line.new for line in hunk.lines if line.new is not None), 0)
        removed = sum(line.kind != "add" for line in hunk.lines)
        added = sum(line.kind != "remove" for line in hunk.lines)
        yield f"@@ -{old},{removed} +{new},{added} @@"
        without_newline = set(_lines_without_newline(hunk))
        for number, line in enumerate(hunk.lines):
            yield sign[line.kind] + line.text.removesuffix(NO_NEWLINE)
            if number in without_newline or line.text.endswith(NO_NEWLINE):
                yield "\\ No newline at end of file"
    if block.omitted:
        yield f"… {block.omitted} more lines"


def _lines_without_newline(hunk: Hunk) -> Iterator[int]:
    """Yield the indexes of the lines that have no newline in their file."""
    for side, other in (("old", "add"), ("new", "remove")):
        lines = [number for number, line in enumerate(hunk.lines) if line.kind != other]
        if lines and hunk.missing_newline in {side, "both"}:
            yield lines[-1]


def date_time(when: float) -> str:
    """Return the local date and time."""
    return datetime.fromtimestamp(when, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
