"""One part of a review as text for the clipboard or as a file."""

import re
from collections.abc import Iterator
from pathlib import Path

from agent.records.blocks import DiffBlock
from agent.records.frozen import frozen
from agent.records.labels import label_of
from agent.records.messages import (
    CompactionPart,
    Part,
    Pending,
    ReasoningPart,
    ReportPart,
    TextPart,
    ToolPart,
)
from agent.session.review.timeline import decision_lines, result_text, user_text
from app.screens.review.timeline import LoadedSession, TimelineRow


@frozen
class ExtractedFile:
    """Text for a file and a suggested name."""

    name: str
    text: str


def text_to_copy(session: LoadedSession, row: TimelineRow) -> str:
    """Return what copying *row* gives: its text, or a call with its output or changes."""
    part = session.part(row.message_id, row.part_id)
    if isinstance(part, ToolPart):
        return "\n".join((_label_text(part), *decision_lines(part), _result_text(part))).strip()
    if isinstance(part, TextPart | ReasoningPart):
        return part.text
    if isinstance(part, CompactionPart | ReportPart):
        return _part_text(part)
    return _message_text(session, row)


def file_to_save(session: LoadedSession, row: TimelineRow) -> ExtractedFile:
    """Return *row* as a file: a turn as Markdown, a change as a patch, output in full."""
    if row.is_turn:
        from agent.transfer.markdown import turn_as_markdown  # only needed for this action

        turn = session.turns[row.place]
        return ExtractedFile(f"turn-{row.place + 1}.md", turn_as_markdown(turn))
    from agent.transfer.bundle import full_output  # only needed for this action

    part = session.part(row.message_id, row.part_id)
    match part:
        case ToolPart() if diffs := _diffs(part):
            name = Path(diffs[0].path).name or "changes"
            return ExtractedFile(f"{name}.diff", "\n".join(_patch(diffs)) + "\n")
        case ToolPart():
            return ExtractedFile(f"{_file_stem(part.tool)}.txt", full_output(part))
        case TextPart():
            return ExtractedFile("answer.md", part.text.strip() + "\n")
        case ReasoningPart():
            return ExtractedFile("thought.md", part.text.strip() + "\n")
        case CompactionPart():
            return ExtractedFile("summary.md", _part_text(part) + "\n")
        case ReportPart():
            return ExtractedFile("report.md", _part_text(part) + "\n")
        case _:
            return ExtractedFile("message.md", _message_text(session, row) + "\n")


def full_text(part: Part) -> ExtractedFile:
    """Return all of *part* with a title: its text, or a call's output or changes in full."""
    from agent.transfer.bundle import full_output  # only needed for this action

    match part:
        case ToolPart() if diffs := _diffs(part):
            return ExtractedFile(_label_text(part), "\n".join(_patch(diffs)))
        case ToolPart():
            return ExtractedFile(_label_text(part), full_output(part))
        case TextPart():
            return ExtractedFile("Answer", part.text)
        case ReasoningPart():
            return ExtractedFile("Reasoning", part.text)
        case CompactionPart():
            return ExtractedFile("Summary", _part_text(part))
        case ReportPart():
            return ExtractedFile(part.headline, _part_text(part))
        case _:
            return ExtractedFile("", "")


def _part_text(part: CompactionPart | ReportPart) -> str:
    if isinstance(part, CompactionPart):
        return part.summary.strip()
    return part.body.strip() or part.headline


def _message_text(session: LoadedSession, row: TimelineRow) -> str:
    """Return the text of a message, or the error that it ended with."""
    item = session.item(row.message_id)
    if item is None:
        return ""
    error = item.message.error if item.message.role == "assistant" else None
    return error.message if error is not None and row.part_id else user_text(item)


def _label_text(part: ToolPart) -> str:
    return f"{label_of(part).verb} {label_of(part).object}".strip()


def _result_text(part: ToolPart) -> str:
    """Return the changes of a call, or its output if it changed nothing."""
    diffs = _diffs(part)
    if part.tool == "question":
        return ""
    return "\n".join(_patch(diffs)) if diffs else result_text(part)


def _diffs(part: Part) -> list[DiffBlock]:
    if not isinstance(part, ToolPart) or isinstance(part.state, Pending):
        return []
    return [block for block in part.state.blocks if isinstance(block, DiffBlock)]


def _patch(diffs: list[DiffBlock]) -> Iterator[str]:
    from agent.transfer.bundle import diff_text  # only needed for this action

    for block in diffs:
        yield "--- /dev/null" if block.change == "create" else f"--- a/{_old_path(block)}"
        yield "+++ /dev/null" if block.change == "delete" else f"+++ b/{block.path}"
        yield from diff_text(block)


def _old_path(block: DiffBlock) -> str:
    return block.moved_from or block.path


def _file_stem(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name).strip("-") or "output"
