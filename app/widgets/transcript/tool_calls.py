"""A tool call as a sentence: one row with a state glyph, then the blocks it shows.

The look follows the call's state (pending, running, waiting, completed, failed, cancelled)
and its kinds of block, never the name of the tool.
"""

import json
import re
from dataclasses import dataclass, replace

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text

from agent.records.blocks import Block, DiffBlock, ShellBlock, SubtaskBlock, ToolLabel
from agent.records.decisions import decision_label
from agent.records.labels import label_of
from agent.records.messages import Completed, Failed, Pending, Running, ToolPart
from app.text.sanitize import sanitize, sanitize_line
from app.text.units import tokens
from app.widgets.transcript.blocks import BlockContext, DrawnBlock, draw_block, hidden_lines_row
from app.widgets.transcript.lines import Line, Page, cut, gutter, make_line, wrap

FRAMES = "◐◓◑◒"
MIN_FACTS_WIDTH = 60
"""Columns from which the facts at the right are shown."""
ERROR_LINES = 4
INVALID_INPUT = "Not run: the input did not fit the tool."
INVALID_INPUT_MORE = "  … what the model was told"
MIN_RAW_SHOWN = 200
"""Characters of streaming arguments before their length is told."""

# The argument that best says what a call is about, while its JSON still streams in.
_ARGUMENT = re.compile(r'"(?:[a-z_]*path|command|pattern|query|url|description|name)"\s*:\s*"')


@dataclass(frozen=True, slots=True)
class Moment:
    """The time that running calls are drawn for. *frame* counts spinner steps."""

    now: float = 0.0
    frame: int = 0


Fact = tuple[str, str]
"""A word for the right side and its tone."""


def tool_lines(part: ToolPart, page: Page, moment: Moment, *, unfolded: bool) -> DrawnBlock:
    """The rows of a tool call, and whether folding makes a difference to it."""
    running = isinstance(part.state, Running)
    blocks = shown_blocks(part)
    several = sum(isinstance(block, DiffBlock) for block in blocks) > 1
    shown = BlockContext(page, page.indent(), open=unfolded, live=running, titled=several)
    lines = [tool_row(part, page, moment)]
    foldable = False
    for block in blocks:
        drawn, folds = draw_block(block, shown)
        lines += drawn
        foldable = foldable or folds
    if isinstance(part.state, Failed):
        drawn, folds = _reason(part.state, shown)
        lines += drawn
        foldable = foldable or folds
    return lines, foldable


def shown_blocks(part: ToolPart) -> tuple[Block, ...]:
    """The blocks of a call; the live output of a running one stands in its own block."""
    state = part.state
    if isinstance(state, Pending):
        return ()
    if not isinstance(state, Running | Failed) or not state.output:
        return state.blocks
    if not any(isinstance(block, ShellBlock | SubtaskBlock) for block in state.blocks):
        live = ShellBlock("", state.output) if isinstance(state, Running) else None
        return (*state.blocks, live) if live else state.blocks
    return tuple(_live(block, state.output) for block in state.blocks)


def _live(block: Block, output: str) -> Block:
    """*block* with what its call has told so far."""
    match block:
        case ShellBlock(output=""):
            return replace(block, output=output)
        case SubtaskBlock(text=""):
            return replace(block, activity=output)
        case _:
            return block


def tool_row(part: ToolPart, page: Page, moment: Moment) -> Line:
    """The one row that says what a call does and how it stands."""
    tones = page.palette
    glyph, tone = _glyph(part, moment)
    label = _label(part)
    facts = _facts(part, moment) if page.width >= MIN_FACTS_WIDTH else _short(part)
    room = page.columns(page.left + 2)
    right = "  ".join(text for text, _ in facts)
    if cell_len(right) > room // 2:
        facts = facts[-1:]
        right = cut(facts[0][0], room // 2)
        facts = [(right, facts[0][1])]
    free = room - (cell_len(right) + 2 if right else 0)
    sentence = _sentence(label, free, pending=isinstance(part.state, Pending))
    segments = [Segment(text, tones.style(name, attributes=bold)) for text, name, bold in sentence]
    used = sum(segment.cell_length for segment in segments)
    if facts:
        segments.append(Segment(" " * (room - cell_len(right) - used), tones.style()))
        for index, (text, name) in enumerate(facts):
            segments.append(Segment(f"  {text}" if index else text, tones.style(name)))
    prefix = (*gutter(page, page.left), Segment(f"{glyph} ", tones.style(tone)))
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
    """The sentence of a call; before its input is complete, what can be told of it."""
    state, label = part.state, label_of(part)
    if isinstance(state, Pending) or (isinstance(state, Failed) and not label.object):
        return replace(label, object=_streaming(state.raw))
    return label


def _streaming(raw: str) -> str:
    """The telling argument in JSON that is not complete, or its beginning."""
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


def _sentence(label: ToolLabel, room: int, *, pending: bool) -> list[tuple[str, str, str]]:
    """Verb, object and note within *room* cells, each with its tone and attributes."""
    verb = cut(sanitize_line(label.verb), room)
    parts = [(verb, "muted" if pending else "text", "bold")]
    left = room - cell_len(verb)
    note = sanitize_line(label.note)
    if label.object and left > 2:
        wanted = sanitize_line(label.object)
        keep = cell_len(note) + 2 if note and left - cell_len(note) - 2 >= 12 else 0
        shown = cut(wanted, left - 1 - keep)
        parts.append((f" {shown}", "faint" if pending else "text", ""))
        left -= cell_len(shown) + 1
    if note and left > 4:
        parts.append((f"  {cut(note, left - 2)}", "muted", ""))
    return parts


def _facts(part: ToolPart, moment: Moment) -> list[Fact]:
    match part.state:
        case Pending(raw=raw):
            return [(f"{tokens(len(raw))} characters", "faint")] if len(raw) > MIN_RAW_SHOWN else []
        case Running(waiting=str()):
            return [("waits for you", "warn")]
        case Running(started=started, blocks=blocks):
            seconds = moment.now - started
            left = any(isinstance(block, SubtaskBlock) and block.background for block in blocks)
            facts = [("background", "faint")] if left else []
            facts += [(duration(seconds), "accent")] if seconds >= 1 else []
            if any(isinstance(block, ShellBlock) for block in blocks):
                facts.append(("esc to stop", "accent"))
            return facts
        case Completed(facts=words, started=started, ended=ended):
            facts = [(sanitize_line(word), "faint") for word in (*words, *_by_person(part))]
            took = [(duration(ended - started), "faint")] if started else []  # imported: unknown
            return [*facts, *_short(part), *took]
        case Failed():
            return _short(part)


def _short(part: ToolPart) -> list[Fact]:
    """The facts that stay when there is little room: how a call ended badly, who waits."""
    match part.state:
        case Completed(exit_code=int(code)) if code:
            return [(f"exit {code}", "err")]
        case Running(waiting=str()):
            return [("waits", "warn")]
        case Failed(kind="denied") if _by_person(part):
            return [("rejected", "err")]
        case Failed(kind=kind):
            return [_KINDS[kind]]
        case _:
            return []


def _by_person(part: ToolPart) -> list[str]:
    """What a person said last of a call; what rules and modes settle is not worth a word here."""
    said = [decision_label(one) for one in part.decisions if one.by == "person"]
    return said[-1:]


_KINDS: dict[str, Fact] = {
    "error": ("failed", "err"),
    "invalid": ("invalid input", "err"),
    "denied": ("denied", "err"),
    "aborted": ("cancelled", "faint"),
    "interrupted": ("interrupted", "faint"),
}


def _reason(state: Failed, shown: BlockContext) -> DrawnBlock:
    """Why a call failed. What was cancelled needs no reason."""
    if state.kind in {"aborted", "interrupted"} and not shown.open:
        return [], bool(state.error)
    if state.kind == "invalid" and not shown.open:
        return [_corrected(shown)], True
    style = shown.palette.style("err" if state.kind in {"error", "invalid"} else "muted")
    lines: list[Line] = []
    for line in sanitize(state.error).strip("\n").split("\n"):
        rows = wrap(Text(line, style=style), shown.page.prose(shown.indent))
        lines += [make_line(row, prefix=shown.gutter, join=join) for row, join in rows]
    if len(lines) <= ERROR_LINES + 1:
        return lines, state.kind in {"aborted", "interrupted", "invalid"}
    if shown.open:
        return lines, True
    return [
        *lines[:ERROR_LINES],
        hidden_lines_row(shown, len(lines) - ERROR_LINES, "more lines"),
    ], True


def _corrected(shown: BlockContext) -> Line:
    """What stands for the lesson that the model got on its input: that is the model's to read."""
    tones, room = shown.palette, shown.page.columns(shown.indent)
    said = [Segment(cut(INVALID_INPUT, room), tones.style("muted"))]
    if cell_len(INVALID_INPUT + INVALID_INPUT_MORE) <= room:
        said.append(Segment(INVALID_INPUT_MORE, tones.style("faint")))
    return make_line(said, prefix=shown.gutter, toggles=True)


def duration(seconds: float) -> str:
    """A time as people read it: 12ms, 4s, 1m 12s, 2h 5m."""
    if seconds < 1:
        return f"{max(0, round(seconds * 1000))}ms"
    minutes, whole = divmod(int(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60}h {minutes % 60}m"
    return f"{minutes}m {whole}s" if minutes else f"{whole}s"
