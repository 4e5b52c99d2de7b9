"""One renderer for each kind of block that a tool may show (``agent.records.blocks``).

A renderer takes a block and says what is shown of it folded and unfolded. It knows kinds of
block, never kinds of tool. ``RENDERERS`` must name every kind; a test holds the two equal.
"""

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from agent.records.blocks import (
    Block,
    CodeBlock,
    DiffBlock,
    ImageBlock,
    ListingBlock,
    ShellBlock,
    SubtaskBlock,
    TableBlock,
    TextBlock,
    TodoBlock,
)
from app.text.sanitize import AnsiStyle, sanitize, sanitize_ansi, sanitize_line
from app.theme.themes import Palette, readable
from app.widgets.transcript.diff import diff_head
from app.widgets.transcript.highlight import highlight
from app.widgets.transcript.lines import Line, Page, fold, gutter, make_line, wrap
from app.widgets.transcript.markdown import MarkdownView
from app.widgets.transcript.tables import Table, table_rows

SHELL_LINES = 10
"""Last lines of output that a finished command keeps on the page (spec 8, U2)."""
LIVE_LINES = 8
"""Last lines of output shown while a command runs."""
DIFF_LINES = 40
"""Rows of a diff before it folds."""
TEXT_LINES = 10
TABLE_ROWS = 12
MAX_OPEN_LINES = 2_000
"""Rows that an unfolded block shows at most: a transcript is for reading, not for storage."""

_BLANKS = re.compile(r"(?<=\S) {6,}|(?<=\S) +$", re.MULTILINE)
"""Blanks within a line, more than separate words or line up columns, and those at its end."""


@dataclass(frozen=True, slots=True)
class BlockContext:
    """Where and how a block is drawn. *open*: unfolded. *live*: its tool still runs. *titled*:
    it is one of several, so that it says what it is of. *asked*: it is what a question is about,
    and must be seen whole."""

    page: Page
    indent: int
    open: bool = False
    live: bool = False
    titled: bool = False
    uncut: bool = False

    @property
    def max_lines(self) -> int:
        """Rows that are shown at most."""
        return sys.maxsize if self.uncut else MAX_OPEN_LINES

    @property
    def palette(self) -> Palette:
        return self.page.palette

    @property
    def gutter(self) -> tuple[Segment, ...]:
        return gutter(self.page, self.indent)

    @property
    def width(self) -> int:
        return self.page.columns(self.indent)


DrawnBlock = tuple[list[Line], bool]
"""The lines of a block, and whether folding makes a difference to it."""


def draw_block(block: Block, shown: BlockContext) -> DrawnBlock:
    """Draw *block* by the renderer of its kind."""
    return RENDERERS[type(block)](block, shown)


def hidden_lines_row(shown: BlockContext, count: int, what: str = "lines") -> Line:
    """The line that stands for *count* hidden ones; a click unfolds."""
    word = what.removesuffix("s") if count == 1 else what
    text = Segment(f"… {count} {word}", shown.palette.style("faint"))
    return make_line([text], prefix=shown.gutter, toggles=True)


def _head(lines: list[Line], shown: BlockContext, limit: int) -> DrawnBlock:
    """The first *limit* lines, all of them when unfolded."""
    if len(lines) <= limit + 1:
        return lines, False
    if shown.open:
        return _capped(lines, shown), True
    return [*lines[:limit], hidden_lines_row(shown, len(lines) - limit, "more lines")], True


def _capped(lines: list[Line], shown: BlockContext) -> list[Line]:
    if len(lines) <= shown.max_lines:
        return lines
    return [
        *lines[: shown.max_lines],
        hidden_lines_row(shown, len(lines) - shown.max_lines, "lines left out"),
    ]


def _diff(block: DiffBlock, shown: BlockContext) -> DrawnBlock:
    limit = shown.max_lines if shown.open else DIFF_LINES
    lines, left = diff_head(block, shown.page, shown.indent, limit, titled=shown.titled)
    if left:
        return [
            *lines,
            hidden_lines_row(shown, left, "lines left out" if shown.open else "more lines"),
        ], True
    return lines, shown.open and len(lines) > DIFF_LINES + 1


def _shell(block: ShellBlock, shown: BlockContext) -> DrawnBlock:
    """The command where its row cannot hold it, then the end of its output."""
    lines: list[Line] = []
    command = sanitize(show_blanks(block.command) if shown.uncut else block.command).strip("\n")
    long = shown.uncut or "\n" in command or len(command) > shown.width - 8
    if long and (shown.open or "\n" in command):
        code = highlight(command, shown.palette, language="bash")
        limit = shown.max_lines if shown.open else 6
        for text in code[:limit]:
            lines += _folded(text, shown, shown.gutter)
        if len(code) > limit:
            lines.append(hidden_lines_row(shown, len(code) - limit, "more lines"))
    raw = block.output.rstrip("\n").split("\n") if block.output.strip() else []
    limit = MAX_OPEN_LINES if shown.open else LIVE_LINES if shown.live else SHELL_LINES
    hidden = len(raw) - limit if len(raw) > limit + (not shown.live) else 0
    prefix = _ruled(shown)
    if hidden or block.earlier:
        lines.append(_earlier(hidden + block.earlier, shown, prefix))
    for spans in sanitize_ansi("\n".join(raw[hidden:])) if raw else []:
        lines += _folded(ansi_text(spans, shown.palette), shown, prefix)
    if block.note:
        note = Text(sanitize_line(block.note), style=shown.palette.style("warn"))
        lines += _wrapped(note, shown, prefix)
    return lines, long or len(raw) > SHELL_LINES + 1


def _earlier(count: int, shown: BlockContext, prefix: tuple[Segment, ...]) -> Line:
    """The line for *count* lines before those shown. Of what still runs only the end is told, so
    that nobody knows how many there were."""
    number = "" if shown.live else f"{count} "
    word = "line" if count == 1 and number else "lines"
    text = Segment(f"… {number}earlier {word}", shown.palette.style("faint"))
    return make_line([text], prefix=prefix, toggles=True)


def show_blanks(command: str) -> str:
    """*command* with tabs and long runs of blanks made visible: what stands behind them must
    not be overlooked (spec 4, M6)."""
    dotted = _BLANKS.sub(lambda run: "·" * len(run.group()), command)
    return dotted.replace("\t", "→\t")


def _ruled(shown: BlockContext) -> tuple[Segment, ...]:
    """A thin rule in the column of the state glyphs, then the indent."""
    left = shown.page.left
    space = max(1, shown.indent - left - 1)
    rule = Segment("│" + " " * space, shown.palette.style("rule"))
    return (*gutter(shown.page, left), rule)


def ansi_text(spans: Iterable[tuple[str, AnsiStyle]], tones: Palette) -> Text:
    """Command output with its colours in our tones; what can't be read on our page is not kept."""
    text = Text(style=tones.style("muted"))
    for piece, style in spans:
        text.append(piece, _ansi_style(style, tones))
    return text


_ANSI_TONES = {
    "red": "err",
    "green": "ok",
    "yellow": "warn",
    "blue": "blue",
    "magenta": "plan",
    "cyan": "accent",
    "white": "text",
    "black": "faint",
}


def _ansi_style(style: AnsiStyle, tones: Palette) -> Style:
    base = "faint" if style.dim else "text" if style.bold else "muted"
    color = getattr(tones, base)
    if style.color is not None:
        tone = _ANSI_TONES.get(style.color.removeprefix("bright_"))
        named = getattr(tones, tone) if tone else style.color
        color = readable(named, tones.ground, getattr(tones, base))
    return Style(
        color=color,
        bgcolor=tones.ground,
        bold=style.bold,
        italic=style.italic,
        underline=style.underline,
        strike=style.strike,
    )


def _folded(text: Text, shown: BlockContext, prefix: tuple[Segment, ...]) -> list[Line]:
    rows = fold(text, shown.width)
    return [make_line(row, prefix=prefix, join=join) for row, join in rows]


def _wrapped(text: Text, shown: BlockContext, prefix: tuple[Segment, ...]) -> list[Line]:
    rows = wrap(text, shown.page.prose(shown.indent))
    return [make_line(row, prefix=prefix, join=join) for row, join in rows]


def _code(block: CodeBlock, shown: BlockContext) -> DrawnBlock:
    """Nothing while folded: the row of the tool says what was read."""
    code = sanitize(block.text).removesuffix("\n")
    if not shown.open or not code:
        return [], bool(code)
    rows = highlight(code, shown.palette, language=block.language, path=block.path)
    digits = max(4, len(str(block.first_line + len(rows))))
    narrow = BlockContext(shown.page, shown.indent + digits + 2)
    lines: list[Line] = []
    for number, text in enumerate(rows[: shown.max_lines], block.first_line):
        mark = Segment(f"{number:>{digits}}  ", shown.palette.style("faint"))
        space = Segment(" " * (digits + 2), shown.palette.style())
        for row, join in fold(text, narrow.width):
            prefix = (*shown.gutter, mark if join == "\n" else space)
            lines.append(make_line(row, prefix=prefix, join=join))
    if len(rows) > shown.max_lines:
        lines.append(hidden_lines_row(shown, len(rows) - shown.max_lines, "lines left out"))
    return lines, True


def _listing(block: ListingBlock, shown: BlockContext) -> DrawnBlock:
    if not shown.open or not block.items:
        return [], bool(block.items)
    lines: list[Line] = []
    for item in block.items[:MAX_OPEN_LINES]:
        lines += _folded(
            Text(sanitize_line(item), style=shown.palette.style("muted")), shown, shown.gutter
        )
    left = max(block.total, len(block.items)) - min(len(block.items), MAX_OPEN_LINES)
    return [*lines, hidden_lines_row(shown, left, "more")] if left > 0 else lines, True


_TODO = {
    "pending": ("☐", "faint", "muted", ""),
    "in_progress": ("▸", "accent", "text", "bold"),
    "completed": ("☑", "ok", "faint", ""),
    "cancelled": ("⊘", "faint", "faint", "strike"),
}


def _todo(block: TodoBlock, shown: BlockContext) -> DrawnBlock:
    lines: list[Line] = []
    inner = BlockContext(shown.page, shown.indent + 2)
    for item in block.items:
        glyph, mark, tone, attributes = _TODO[item.status]
        text = Text(
            sanitize_line(item.content), style=shown.palette.style(tone, attributes=attributes)
        )
        bullet = (*shown.gutter, Segment(f"{glyph} ", shown.palette.style(mark)))
        rows = wrap(text, inner.page.prose(inner.indent))
        for index, (row, join) in enumerate(rows):
            prefix = inner.gutter if index else bullet
            lines.append(make_line(row, prefix=prefix, join=join))
    return lines, False


def _table(block: TableBlock, shown: BlockContext) -> DrawnBlock:
    head, body = shown.palette.style(attributes="bold"), shown.palette.style("muted")
    rows = block.rows if shown.open else block.rows[:TABLE_ROWS]
    table = Table(
        tuple(Text(sanitize_line(name), style=head) for name in block.columns),
        tuple(tuple(Text(sanitize_line(cell), style=body) for cell in row) for row in rows),
    )
    if not table.header:
        return [], False
    drawn = table_rows(table, shown.page, shown.width)
    lines = [make_line(row, prefix=shown.gutter) for row in drawn]
    hidden = len(block.rows) - len(rows)
    return [*lines, hidden_lines_row(shown, hidden, "more rows")] if hidden else lines, (
        len(block.rows) > TABLE_ROWS
    )


def _image(block: ImageBlock, shown: BlockContext) -> DrawnBlock:
    facts = [sanitize_line(block.mime)]
    if block.width and block.height:
        facts.append(f"{block.width}×{block.height}")
    if block.size:
        facts.append(f"{block.size / 1024:.0f} KB" if block.size >= 1024 else f"{block.size} B")
    text = Text(sanitize_line(block.path), style=shown.palette.style("muted"))
    text.append("  " + "  ".join(facts), shown.palette.style("faint"))
    return _wrapped(text, shown, shown.gutter), False


def _text(block: TextBlock, shown: BlockContext) -> DrawnBlock:
    if block.markdown:
        view = MarkdownView(shown.page, tone="muted", indent=shown.indent)
        view.update(block.text.strip("\n"), final=True)
        return _head(view.lines, shown, TEXT_LINES)
    return _head(_plain(block.text, shown), shown, TEXT_LINES)


def _plain(text: str, shown: BlockContext) -> list[Line]:
    lines: list[Line] = []
    printed = sanitize(text, overwriting=not shown.uncut).strip("\n")
    for line in printed.split("\n") if printed.strip() else []:
        lines += _folded(Text(line, style=shown.palette.style("muted")), shown, shown.gutter)
    return lines


def _subtask(block: SubtaskBlock, shown: BlockContext) -> DrawnBlock:
    """What a sub-agent does at the moment, or the report that it gave."""
    if shown.uncut:
        return _capped(_plain(block.prompt, shown), shown), True
    if not block.text:
        if not block.activity:
            return [], False
        text = Text(sanitize_line(block.activity), style=shown.palette.style("muted"))
        return _folded(text, shown, shown.gutter)[:1], False
    view = MarkdownView(shown.page, tone="muted", indent=shown.indent)
    view.update(block.text.strip("\n"), final=True)
    return _head(view.lines, shown, TEXT_LINES)


# The renderers take the one class they are filed under, which a dict cannot say.
RENDERERS: dict[type[Block], Callable[[Any, BlockContext], DrawnBlock]] = {
    DiffBlock: _diff,
    ShellBlock: _shell,
    CodeBlock: _code,
    ListingBlock: _listing,
    TodoBlock: _todo,
    TableBlock: _table,
    ImageBlock: _image,
    SubtaskBlock: _subtask,
    TextBlock: _text,
}
