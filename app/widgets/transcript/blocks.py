"""One renderer for each kind of block that a tool can show (``agent.records.blocks``).

A renderer draws a block folded or unfolded. It knows kinds of block, never kinds of tool.
``RENDERERS`` must contain every kind; a test checks that.
"""

import re
import sys
from collections.abc import Callable, Iterable
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
from agent.records.frozen import frozen
from app.text.invisible_characters import reveal
from app.text.sanitize import AnsiStyle, sanitize, sanitize_ansi, sanitize_line, without_colors
from app.theme.themes import Palette, readable
from app.widgets.transcript.diff import diff_head
from app.widgets.transcript.highlight import highlight
from app.widgets.transcript.lines import Line, Page, add_links, fold, gutter, make_line, wrap
from app.widgets.transcript.markdown import MarkdownView
from app.widgets.transcript.tables import Table, table_rows

SHELL_LINES = 10
"""The last lines of output that a finished command keeps on the page."""
LIVE_LINES = 8
"""The last lines of output shown while a command runs."""
DIFF_LINES = 40
"""Rows of a diff before it folds."""
TEXT_LINES = 10
TABLE_ROWS = 12
MAX_OPEN_LINES = 2_000
"""Rows that an unfolded block shows at most: a transcript is for reading, not for storage."""

MAX_UNFOLDED = 200
"""Hidden lines that a click unfolds; more are opened in the pager."""

_BLANKS = re.compile(r"(?<=\S) {6,}|(?<=\S) +$", re.MULTILINE)
"""Runs of spaces too long to separate words or align columns, and trailing ones."""


@frozen
class BlockContext:
    """The context in which a block is drawn."""

    page: Page
    indent: int
    """The column where it begins."""
    open: bool = False
    """True if it is unfolded."""
    live: bool = False
    """True while its tool runs."""
    titled: bool = False
    """True if it is one of several, so that it needs a title."""
    uncut: bool = False
    """True if it is the subject of a permission request, which has to be shown in full."""
    destructive: frozenset[str] = frozenset()
    """The names of programs with which the command can destroy something."""

    @property
    def max_lines(self) -> int:
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
"""The lines of a block, and whether it can be folded."""


def draw_block(block: Block, context: BlockContext) -> DrawnBlock:
    """Draw *block* with the renderer of its kind."""
    return RENDERERS[type(block)](block, context)


def hidden_lines_row(context: BlockContext, count: int, what: str = "lines") -> Line:
    """Return the line for *count* hidden lines; a click unfolds or opens them."""
    word = what.removesuffix("s") if count == 1 else what
    return _more_row(f"{count:,} {word}", count, context, context.gutter)


def _more_row(text: str, count: int, context: BlockContext, prefix: tuple[Segment, ...]) -> Line:
    opens = context.open or count > MAX_UNFOLDED
    segment = Segment(f"… {text}", context.palette.style("faint"))
    return make_line([segment], prefix=prefix, toggles=True, opens=opens and not context.uncut)


def _first_lines(lines: list[Line], context: BlockContext, limit: int) -> DrawnBlock:
    """Return the first *limit* lines, or all of them when unfolded."""
    if len(lines) <= limit + 1:
        return lines, False
    if context.open:
        return _capped_lines(lines, context), True
    return [*lines[:limit], hidden_lines_row(context, len(lines) - limit, "more lines")], True


def _capped_lines(lines: list[Line], context: BlockContext) -> list[Line]:
    if len(lines) <= context.max_lines:
        return lines
    return [
        *lines[: context.max_lines],
        hidden_lines_row(context, len(lines) - context.max_lines, "lines omitted"),
    ]


def _draw_diff(block: DiffBlock, context: BlockContext) -> DrawnBlock:
    limit = context.max_lines if context.open else DIFF_LINES
    lines, left = diff_head(block, context.page, context.indent, limit, titled=context.titled)
    if left:
        return [
            *lines,
            hidden_lines_row(context, left, "lines omitted" if context.open else "more lines"),
        ], True
    return lines, context.open and len(lines) > DIFF_LINES + 1


def _draw_shell(block: ShellBlock, context: BlockContext) -> DrawnBlock:
    """Draw the command if its row cannot show all of it, then the end of its output."""
    lines: list[Line] = []
    command = sanitize(show_blanks(block.command) if context.uncut else block.command).strip("\n")
    if context.uncut and block.description:
        said = Text(f"“{sanitize_line(block.description)}”", style=context.palette.style("muted"))
        lines += _wrapped_lines(said, context, context.gutter)
    long = context.uncut or "\n" in command or len(command) > context.width - 8
    if long and (context.open or "\n" in command):
        code = highlight(command, context.palette, language="bash")
        limit = context.max_lines if context.open else 6
        for text in code[:limit]:
            _mark_programs(text, context)
            lines += _folded_lines(text, context, context.gutter)
        if len(code) > limit:
            lines.append(hidden_lines_row(context, len(code) - limit, "more lines"))
    raw = block.output.rstrip("\n").split("\n") if block.output.strip() else []
    limit = MAX_OPEN_LINES if context.open else LIVE_LINES if context.live else SHELL_LINES
    hidden = len(raw) - limit if len(raw) > limit + (not context.live) else 0
    prefix = _ruled_prefix(context)
    if hidden or block.earlier:
        lines.append(_earlier_lines_row(hidden + block.earlier, context, prefix))
    for spans in sanitize_ansi("\n".join(raw[hidden:])) if raw else []:
        lines += _folded_lines(ansi_text(spans, context.palette), context, prefix)
    if block.note:
        note = Text(sanitize_line(block.note), style=context.palette.style("warn"))
        lines += _wrapped_lines(note, context, prefix)
    return lines, long or len(raw) > SHELL_LINES + 1


_BEFORE_PROGRAM = re.compile(r"(^|[;&|({!`]|\b(sudo|xargs|exec|time|then|do|else))\s*$")


def _mark_programs(text: Text, context: BlockContext) -> None:
    """Show the names of programs that can destroy something in the color of errors."""
    for name in context.destructive:
        for found in re.finditer(rf"(?<![\w./-]){re.escape(name)}(?![\w./-])", text.plain):
            if _BEFORE_PROGRAM.search(text.plain[: found.start()]):
                text.stylize(context.palette.style("err"), *found.span())


def _earlier_lines_row(count: int, context: BlockContext, prefix: tuple[Segment, ...]) -> Line:
    """Return the line for *count* lines before those shown. A running command reports only the end
    of its output, so that the number is unknown."""
    number = "" if context.live else f"{count:,} "
    word = "line" if count == 1 and number else "lines"
    return _more_row(f"{number}earlier {word}", count, context, prefix)


def show_blanks(command: str) -> str:
    """Return *command* with tabs, long runs of spaces and characters without a shape made visible,
    so that text after them is not overlooked."""
    dotted = _BLANKS.sub(lambda run: "·" * len(run.group()), reveal(command))
    return dotted.replace("\t", "→\t")


def _ruled_prefix(context: BlockContext) -> tuple[Segment, ...]:
    """Return a prefix with a thin rule in the column of the state glyphs."""
    left = context.page.left
    space = max(1, context.indent - left - 1)
    rule = Segment("│" + " " * space, context.palette.style("rule"))
    return (*gutter(context.page, left), rule)


def ansi_text(spans: Iterable[tuple[str, AnsiStyle]], palette: Palette) -> Text:
    """Return command output in the colors of *palette* that can be read on the page."""
    text = Text(style=palette.style("muted"))
    for piece, style in spans:
        text.append(piece, _ansi_style(style, palette))
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


def _ansi_style(style: AnsiStyle, palette: Palette) -> Style:
    base = "faint" if style.dim else "text" if style.bold else "muted"
    color = getattr(palette, base)
    if style.color is not None:
        tone = _ANSI_TONES.get(style.color.removeprefix("bright_"))
        named = getattr(palette, tone) if tone else style.color
        color = readable(named, palette.ground, getattr(palette, base))
    return Style(
        color=color,
        bgcolor=palette.ground,
        bold=style.bold,
        italic=style.italic,
        underline=style.underline,
        strike=style.strike,
    )


def _folded_lines(text: Text, context: BlockContext, prefix: tuple[Segment, ...]) -> list[Line]:
    rows = fold(add_links(text, context.page.files), context.width)
    return [make_line(row, prefix=prefix, join=join) for row, join in rows]


def _wrapped_lines(text: Text, context: BlockContext, prefix: tuple[Segment, ...]) -> list[Line]:
    rows = wrap(add_links(text, context.page.files), context.page.prose(context.indent))
    return [make_line(row, prefix=prefix, join=join) for row, join in rows]


def _draw_code(block: CodeBlock, context: BlockContext) -> DrawnBlock:
    """Draw code only when unfolded: the row of the tool says what was read."""
    code = sanitize(block.text).removesuffix("\n")
    if not context.open or not code:
        return [], bool(code)
    rows = highlight(code, context.palette, language=block.language, path=block.path)
    digits = max(4, len(str(block.first_line + len(rows))))
    narrow = BlockContext(context.page, context.indent + digits + 2)
    lines: list[Line] = []
    for number, text in enumerate(rows[: context.max_lines], block.first_line):
        mark = Segment(f"{number:>{digits}}  ", context.palette.style("faint"))
        space = Segment(" " * (digits + 2), context.palette.style())
        for row, join in fold(text, narrow.width):
            prefix = (*context.gutter, mark if join == "\n" else space)
            lines.append(make_line(row, prefix=prefix, join=join))
    if len(rows) > context.max_lines:
        lines.append(hidden_lines_row(context, len(rows) - context.max_lines, "lines omitted"))
    return lines, True


def _draw_listing(block: ListingBlock, context: BlockContext) -> DrawnBlock:
    if not context.open or not block.items:
        return [], bool(block.items)
    lines: list[Line] = []
    for item in block.items[:MAX_OPEN_LINES]:
        lines += _folded_lines(
            Text(sanitize_line(item), style=context.palette.style("muted")), context, context.gutter
        )
    left = max(block.total, len(block.items)) - min(len(block.items), MAX_OPEN_LINES)
    return [*lines, hidden_lines_row(context, left, "more")] if left > 0 else lines, True


_TODO_STYLES = {
    "pending": ("☐", "faint", "muted", ""),
    "in_progress": ("▸", "accent", "text", "bold"),
    "completed": ("☑", "ok", "faint", ""),
    "cancelled": ("⊘", "faint", "faint", "strike"),
}


def _draw_todo(block: TodoBlock, context: BlockContext) -> DrawnBlock:
    lines: list[Line] = []
    inner = BlockContext(context.page, context.indent + 2)
    for item in block.items:
        glyph, mark, tone, attributes = _TODO_STYLES[item.status]
        text = Text(
            sanitize_line(item.content), style=context.palette.style(tone, attributes=attributes)
        )
        bullet = (*context.gutter, Segment(f"{glyph} ", context.palette.style(mark)))
        rows = wrap(text, inner.page.prose(inner.indent))
        for index, (row, join) in enumerate(rows):
            prefix = inner.gutter if index else bullet
            lines.append(make_line(row, prefix=prefix, join=join))
    return lines, False


def _draw_table(block: TableBlock, context: BlockContext) -> DrawnBlock:
    head, body = context.palette.style(attributes="bold"), context.palette.style("muted")
    rows = block.rows if context.open else block.rows[:TABLE_ROWS]
    table = Table(
        tuple(Text(sanitize_line(name), style=head) for name in block.columns),
        tuple(
            tuple(
                add_links(Text(sanitize_line(cell), style=body), context.page.files) for cell in row
            )
            for row in rows
        ),
    )
    if not table.header:
        return [], False
    drawn = table_rows(table, context.page, context.width)
    lines = [make_line(row, prefix=context.gutter) for row in drawn]
    hidden = len(block.rows) - len(rows)
    return [*lines, hidden_lines_row(context, hidden, "more rows")] if hidden else lines, (
        len(block.rows) > TABLE_ROWS
    )


def _draw_image(block: ImageBlock, context: BlockContext) -> DrawnBlock:
    facts = [sanitize_line(block.mime)]
    if block.width and block.height:
        facts.append(f"{block.width}×{block.height}")
    if block.size:
        facts.append(f"{block.size / 1024:.0f} KB" if block.size >= 1024 else f"{block.size} B")
    text = Text(sanitize_line(block.path), style=context.palette.style("muted"))
    text.append("  " + "  ".join(facts), context.palette.style("faint"))
    return _wrapped_lines(text, context, context.gutter), False


def _draw_text(block: TextBlock, context: BlockContext) -> DrawnBlock:
    if block.markdown:
        view = MarkdownView(context.page, tone="muted", indent=context.indent)
        view.update(block.text.strip("\n"), final=True)
        return _first_lines(view.lines, context, TEXT_LINES)
    return _first_lines(_plain_lines(block.text, context), context, TEXT_LINES)


def _plain_lines(text: str, context: BlockContext) -> list[Line]:
    lines: list[Line] = []
    printed = (sanitize(text) if context.uncut else without_colors(text)).strip("\n")
    for line in printed.split("\n") if printed.strip() else []:
        lines += _folded_lines(
            Text(line, style=context.palette.style("muted")), context, context.gutter
        )
    return lines


def _draw_subtask(block: SubtaskBlock, context: BlockContext) -> DrawnBlock:
    """Draw what a sub-agent does at the moment, or its report."""
    if context.uncut:
        return _capped_lines(_plain_lines(block.prompt, context), context), True
    if not block.text:
        if not block.activity:
            return [], False
        text = Text(sanitize_line(block.activity), style=context.palette.style("muted"))
        return _folded_lines(text, context, context.gutter)[:1], False
    view = MarkdownView(context.page, tone="muted", indent=context.indent)
    view.update(block.text.strip("\n"), final=True)
    return _first_lines(view.lines, context, TEXT_LINES)


# Each renderer takes only the class of its key, which the type of a dict cannot express.
RENDERERS: dict[type[Block], Callable[[Any, BlockContext], DrawnBlock]] = {
    DiffBlock: _draw_diff,
    ShellBlock: _draw_shell,
    CodeBlock: _draw_code,
    ListingBlock: _draw_listing,
    TodoBlock: _draw_todo,
    TableBlock: _draw_table,
    ImageBlock: _draw_image,
    SubtaskBlock: _draw_subtask,
    TextBlock: _draw_text,
}
