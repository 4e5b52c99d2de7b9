"""One thing out of a review: as text for the clipboard, or as a file of its own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.records.blocks import DiffBlock
from agent.records.labels import label_of
from agent.records.messages import (
    CompactionPart,
    Completed,
    Part,
    Pending,
    ReasoningPart,
    ReportPart,
    TextPart,
    ToolPart,
)
from agent.session.review.timeline import answers_of, result_of, words_of
from app.screens.review.timeline import LoadedSession, TimelineRow


@dataclass(frozen=True, slots=True)
class ExtractedFile:
    """*text* for a file; *name* is what it may be called."""

    name: str
    text: str


def text_to_copy(reviewed: LoadedSession, mark: TimelineRow) -> str:
    """What a copy of *mark* takes: the words, or a call with what it gave or changed."""
    part = reviewed.part(mark.message_id, mark.part_id)
    if isinstance(part, ToolPart):
        return "\n".join((_sentence(part), *answers_of(part), _given(part))).strip()
    if isinstance(part, TextPart | ReasoningPart):
        return part.text
    if isinstance(part, CompactionPart | ReportPart):
        return _told(part)
    return _message(reviewed, mark)


def file_to_save(reviewed: LoadedSession, mark: TimelineRow) -> ExtractedFile:
    """What *mark* is as a file: a turn as Markdown, a change as a patch, output whole."""
    if mark.is_turn:
        from agent.transfer.markdown import turn_as_markdown  # when it is asked for

        turn = reviewed.turns[mark.place]
        return ExtractedFile(f"turn-{mark.place + 1}.md", turn_as_markdown(turn))
    part = reviewed.part(mark.message_id, mark.part_id)
    match part:
        case ToolPart() if diffs := _diffs(part):
            name = Path(diffs[0].path).name or "changes"
            return ExtractedFile(f"{name}.diff", "\n".join(_patch(diffs)) + "\n")
        case ToolPart():
            return ExtractedFile(f"{_word(part.tool)}.txt", _whole(part))
        case TextPart():
            return ExtractedFile("answer.md", part.text.strip() + "\n")
        case ReasoningPart():
            return ExtractedFile("thought.md", part.text.strip() + "\n")
        case CompactionPart():
            return ExtractedFile("summary.md", _told(part) + "\n")
        case ReportPart():
            return ExtractedFile("report.md", _told(part) + "\n")
        case _:
            return ExtractedFile("message.md", _message(reviewed, mark) + "\n")


def _told(part: CompactionPart | ReportPart) -> str:
    if isinstance(part, CompactionPart):
        return part.summary.strip()
    return part.body.strip() or part.headline


def _message(reviewed: LoadedSession, mark: TimelineRow) -> str:
    """The words of a message, or the error that it ended with."""
    item = reviewed.item(mark.message_id)
    if item is None:
        return ""
    error = item.message.error if item.message.role == "assistant" else None
    return error.message if error is not None and mark.part_id else words_of(item)


def _sentence(part: ToolPart) -> str:
    return f"{label_of(part).verb} {label_of(part).object}".strip()


def _given(part: ToolPart) -> str:
    """What it changed; of what changed nothing, what it gave."""
    diffs = _diffs(part)
    if part.tool == "question":
        return ""
    return "\n".join(_patch(diffs)) if diffs else result_of(part)


def _diffs(part: Part) -> list[DiffBlock]:
    if not isinstance(part, ToolPart) or isinstance(part.state, Pending):
        return []
    return [block for block in part.state.blocks if isinstance(block, DiffBlock)]


def _patch(diffs: list[DiffBlock]) -> Iterator[str]:
    from agent.transfer.document import diff_text  # when it is asked for

    for block in diffs:
        yield "--- /dev/null" if block.change == "create" else f"--- a/{_old(block)}"
        yield "+++ /dev/null" if block.change == "delete" else f"+++ b/{block.path}"
        yield from diff_text(block)


def _old(block: DiffBlock) -> str:
    return block.moved_from or block.path


def _whole(part: ToolPart) -> str:
    """The output; the whole of it where what the model read was cut and the file is there."""
    state = part.state
    if isinstance(state, Completed) and state.spill is not None:
        try:
            return Path(state.spill).read_text("utf-8", "replace")
        except OSError:
            return result_of(part)  # it is kept for some days only
    return result_of(part)


def _word(name: str) -> str:
    return re.sub(r"[^\w-]+", "-", name).strip("-") or "output"
