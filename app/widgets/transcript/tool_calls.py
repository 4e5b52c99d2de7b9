"""A tool call as a sentence: one row with a state glyph, then its blocks.

The appearance depends on the call's state (pending, running, waiting, completed, failed, canceled)
and on its kinds of block, never on the name of the tool.
"""

import json
import re
from dataclasses import replace

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text

from agent.records.amounts import duration, tokens
from agent.records.blocks import (
    Block,
    DiffBlock,
    ShellBlock,
    SubtaskBlock,
    TextBlock,
    ToolLabel,
)
from agent.records.decisions import decision_label, explain_decision
from agent.records.errors import QUESTION_CLOSED, REJECTED, REJECTED_SAYING
from agent.records.frozen import frozen
from agent.records.labels import label_of
from agent.records.messages import Completed, Failed, Pending, Running, ToolPart
from app.text.sanitize import sanitize, sanitize_line, without_colors
from app.widgets.transcript.blocks import BlockContext, DrawnBlock, draw_block, hidden_lines_row
from app.widgets.transcript.lines import Line, Page, cut, fold, gutter, linked, make_line, wrap

FRAMES = "◐◓◑◒"
MIN_FACTS_WIDTH = 60
"""Columns from which the facts at the right are shown."""
REFUSED_LINES = 4
"""Refused lines up to which they are shown without unfolding."""

ERROR_LINES = 4
INVALID_INPUT = "Not run: invalid arguments."
INVALID_INPUT_MORE = "  … show the error sent to the model"
MIN_RAW_SHOWN = 200
"""Characters of streamed arguments from which their length is shown."""

# The most informative argument of a call while its JSON is still streamed.
_ARGUMENT = re.compile(r'"(?:[a-z_]*path|command|pattern|query|url|description|name)"\s*:\s*"')


@frozen
class Moment:
    """The time that running calls are drawn for."""

    now: float = 0.0
    frame: int = 0
    """The number of spinner steps."""


Fact = tuple[str, str]
"""A text for the right side and its tone."""


JUDGING: Fact = ("judging…", "accent")
"""The state of a call that the judge is asked about."""


def tool_lines(part: ToolPart, page: Page, moment: Moment, *, unfolded: bool) -> DrawnBlock:
    """Return the rows of a tool call, and whether it can be folded."""
    running = isinstance(part.state, Running)
    blocks = shown_blocks(part)
    several = sum(isinstance(block, DiffBlock) for block in blocks) > 1
    context = BlockContext(page, page.indent, open=unfolded, live=running, titled=several)
    lines = [tool_row(part, page, moment)]
    answers, foldable = _answer_lines(part, context)
    lines += answers
    for block in blocks:
        drawn, folds = draw_block(block, context)
        lines += drawn
        foldable = foldable or folds
    if isinstance(part.state, Failed):
        drawn, folds = _failure_lines(part.state, context)
        lines += drawn
        foldable = foldable or folds
    return lines, foldable


def _answer_lines(part: ToolPart, context: BlockContext) -> DrawnBlock:
    """Return the user's answers that say more than yes or no: a comment, what was refused; and the
    verdicts of a judge."""
    error = part.state.error if isinstance(part.state, Failed) else ""
    palette, lines, foldable = context.palette, list[Line](), False
    for one in part.decisions:
        judged = one.verdict is not None and one.verdict.model
        commented = one.refused or (one.comment and one.comment not in error)
        if not judged and (one.by != "person" or not commented):
            continue
        told = Text(sanitize_line(explain_decision(one)), style=palette.style("muted"))
        rows = wrap(told, context.page.prose(context.indent))
        lines += [make_line(row, prefix=context.gutter, join=join) for row, join in rows]
        refused = sanitize(one.refused).split("\n") if one.refused else []
        short = len(refused) <= REFUSED_LINES
        foldable = foldable or not short
        inner = (*context.gutter, Segment("✕ ", palette.style("err")))
        for line in refused if short or context.open else ():
            text = Text(line, style=palette.style("faint", attributes="strike"))
            rows = fold(text, max(1, context.width - 2))
            lines += [make_line(row, prefix=inner, join=join) for row, join in rows]
        if not short and not context.open:
            lines.append(hidden_lines_row(context, len(refused), "rejected lines"))
    return lines, foldable


def shown_blocks(part: ToolPart) -> tuple[Block, ...]:
    """Return the blocks of a call, without text that its row shows; the live output of a running
    call is in a block of its own."""
    state = part.state
    if isinstance(state, Pending):
        return ()
    row = TextBlock(label_of(part).object)
    blocks = tuple(block for block in state.blocks if block != row)
    if not isinstance(state, Running | Failed) or not state.output:
        return blocks
    if not any(isinstance(block, ShellBlock | SubtaskBlock) for block in blocks):
        live = ShellBlock("", state.output) if isinstance(state, Running) else None
        return (*blocks, live) if live else blocks
    return tuple(_with_output(block, state.output) for block in blocks)


def _with_output(block: Block, output: str) -> Block:
    match block:
        case ShellBlock(output=""):
            return replace(block, output=output)
        case SubtaskBlock(text=""):
            return replace(block, activity=output)
        case _:
            return block


def tool_row(part: ToolPart, page: Page, moment: Moment) -> Line:
    """Return the row that says what a call does and its state."""
    palette = page.palette
    glyph, tone = _glyph(part, moment)
    label = _label(part)
    facts = _facts(part, moment) if page.width >= MIN_FACTS_WIDTH else _state_facts(part)
    width = page.columns(page.left + 2)
    right = "  ".join(text for text, _ in facts)
    if cell_len(right) > width // 2:
        facts = facts[-1:]
        right = cut(facts[0][0], width // 2)
        facts = [(right, facts[0][1])]
    free = width - (cell_len(right) + 2 if right else 0)
    sentence = _sentence(label, free, pending=isinstance(part.state, Pending))
    segments = [
        segment
        for text, name, bold in sentence
        for segment in linked(text, palette.style(name, attributes=bold), page.files)
    ]
    used = sum(segment.cell_length for segment in segments)
    if facts:
        segments.append(Segment(" " * (width - cell_len(right) - used), palette.style()))
        for index, (text, name) in enumerate(facts):
            segments.append(Segment(f"  {text}" if index else text, palette.style(name)))
    prefix = (*gutter(page, page.left), Segment(f"{glyph} ", palette.style(tone)))
    return make_line(segments, prefix=prefix, toggles=True)


def _glyph(part: ToolPart, moment: Moment) -> tuple[str, str]:
    match part.state:
        case Pending():
            return "○", "faint"
        case Running(waiting=waiting):
            return ("◆", "warn") if waiting else (FRAMES[moment.frame % len(FRAMES)], "accent")
        case Completed(exit_code=code):
            return ("✕", "err") if code else ("●", "ok")
        case Failed(kind="aborted" | "interrupted"):
            return "⊘", "faint"
        case Failed():
            return "✕", "err"


def _label(part: ToolPart) -> ToolLabel:
    """Return the label of a call; while its input is incomplete, with what is known of it."""
    state, label = part.state, label_of(part)
    if isinstance(state, Pending) or (isinstance(state, Failed) and not label.object):
        return replace(label, object=_streamed_argument(state.raw))
    return label


def _streamed_argument(raw: str) -> str:
    """Return the most informative argument in incomplete JSON, or its beginning."""
    found = _ARGUMENT.search(raw[:4000])
    if found is None:
        return ""
    text = raw[found.end() : found.end() + 400]
    end = re.search(r'(?<!\\)(?:\\\\)*"', text)
    text = text[: end.end() - 1] if end else text
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


def _sentence(label: ToolLabel, width: int, *, pending: bool) -> list[tuple[str, str, str]]:
    """Return verb, object and note within *room* cells, each with its tone and attributes."""
    verb = cut(sanitize_line(label.verb), width)
    parts = [(verb, "muted" if pending else "text", "bold")]
    left = width - cell_len(verb)
    note = sanitize_line(label.note)
    if label.object and left > 2:
        wanted = sanitize_line(label.object)
        keep = cell_len(note) + 2 if note and left - cell_len(note) - 2 >= 12 else 0
        context = cut(wanted, left - 1 - keep)
        parts.append((f" {context}", "faint" if pending else "text", ""))
        left -= cell_len(context) + 1
    if note and left > 4:
        parts.append((f"  {cut(note, left - 2)}", "muted", ""))
    return parts


def _facts(part: ToolPart, moment: Moment) -> list[Fact]:
    match part.state:
        case Pending(raw=raw):
            return [(f"{tokens(len(raw))} characters", "faint")] if len(raw) > MIN_RAW_SHOWN else []
        case Running(waiting=str()):
            return [("needs you", "warn")]
        case Running(judging=True):
            return [JUDGING]
        case Running(started=started, blocks=blocks):
            seconds = moment.now - started
            left = any(isinstance(block, SubtaskBlock) and block.background for block in blocks)
            facts = [("background", "faint")] if left else []
            facts += [(precise_duration(seconds), "accent")] if seconds >= 1 else []
            if any(isinstance(block, ShellBlock) for block in blocks):
                facts.append(("esc to stop", "accent"))
            return facts
        case Completed(facts=words, started=started, ended=ended):
            how = _state_facts(part)
            known = [word for word in words if all(word != text for text, _ in how)]
            facts = [(sanitize_line(word), "faint") for word in (*known, *_user_decision(part))]
            took = (
                [(precise_duration(ended - started), "faint")] if started else []
            )  # imported: unknown
            return [*facts, *how, *took]
        case Failed():
            return _state_facts(part)


def _state_facts(part: ToolPart) -> list[Fact]:
    """Return the facts that stay on narrow pages: how a call failed, what it waits for."""
    match part.state:
        case Completed(exit_code=int(code)) if code:
            return [(f"exit {code}", "err")]
        case Running(waiting=str()):
            return [("waiting", "warn")]
        case Running(judging=True):
            return [JUDGING]
        case Failed(kind="denied", error=error) if error == QUESTION_CLOSED:
            return [("closed", "faint")]
        case Failed(kind="denied", error=error) if _user_decision(part) or _addressed(error):
            return [("rejected", "err")]
        case Failed(kind=kind):
            return [_FAILURE_FACTS[kind]]
        case _:
            return []


def _user_decision(part: ToolPart) -> list[str]:
    """Return the user's last decision on a call; decisions of rules and modes are not shown."""
    segments = [decision_label(one) for one in part.decisions if one.by == "person"]
    return segments[-1:]


_FAILURE_FACTS: dict[str, Fact] = {
    "error": ("failed", "err"),
    "invalid": ("invalid arguments", "err"),
    "denied": ("denied", "err"),
    "aborted": ("canceled", "faint"),
    "interrupted": ("interrupted", "faint"),
}


def _failure_lines(state: Failed, context: BlockContext) -> DrawnBlock:
    """Return why a call failed. A canceled call needs no reason."""
    if state.kind in {"aborted", "interrupted"} and not context.open:
        return [], bool(state.error)
    if state.kind == "invalid" and not context.open:
        return [_invalid_input_row(context)], True
    style = context.palette.style("err" if state.kind in {"error", "invalid"} else "muted")
    lines: list[Line] = []
    error = _addressed(state.error) or state.error
    for line in without_colors(error).strip("\n").split("\n"):
        rows = wrap(Text(line, style=style), context.page.prose(context.indent))
        lines += [make_line(row, prefix=context.gutter, join=join) for row, join in rows]
    if len(lines) <= ERROR_LINES + 1:
        return lines, state.kind in {"aborted", "interrupted", "invalid"}
    if context.open:
        return lines, True
    return [
        *lines[:ERROR_LINES],
        hidden_lines_row(context, len(lines) - ERROR_LINES, "more lines"),
    ], True


def _addressed(error: str) -> str:
    """Return an *error* that tells the model of the user as the user reads it, "" for another."""
    if error.startswith(REJECTED_SAYING):
        return f"You rejected this call: {error.removeprefix(REJECTED_SAYING)}"
    return _ADDRESSED.get(error, "")


_ADDRESSED = {
    REJECTED: "You rejected this call.",
    QUESTION_CLOSED: "You closed the question without an answer.",
}


def _invalid_input_row(context: BlockContext) -> Line:
    """Return the row for invalid input; the error message in full is for the model."""
    palette, width = context.palette, context.page.columns(context.indent)
    segments = [Segment(cut(INVALID_INPUT, width), palette.style("muted"))]
    if cell_len(INVALID_INPUT + INVALID_INPUT_MORE) <= width:
        segments.append(Segment(INVALID_INPUT_MORE, palette.style("faint")))
    return make_line(segments, prefix=context.gutter, toggles=True)


def precise_duration(seconds: float) -> str:
    """Return a duration, in milliseconds (``12ms``) below one second."""
    return duration(seconds) if seconds >= 1 else f"{max(0, round(seconds * 1000))}ms"
