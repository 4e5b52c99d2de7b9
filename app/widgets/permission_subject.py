"""The subject of a permission request: its blocks in full, drawn like in the transcript.

A diff of several hunks can be accepted in part: each hunk has a line that says whether it is kept,
and one of them is the current one that keys act on.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget

from agent.records.blocks import Block, DiffBlock, Hunk
from app.terminal.app_of import app_of
from app.theme.appearance import appearance_of
from app.theme.themes import DARK_PALETTE, Palette, palette_of
from app.widgets.transcript.blocks import BlockContext, draw_block
from app.widgets.transcript.diff import diff_lines, title_line
from app.widgets.transcript.lines import Line, Page, blank, make_line


class HunkChoice:
    """The hunks of a request's diffs that are kept; there is a choice among two or more."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._indices = [h.index for b in blocks if isinstance(b, DiffBlock) for h in b.hunks]
        self.total = len(self._indices)
        self._refused: set[int] = set()
        self._current = 0

    @property
    def offered(self) -> bool:
        return self.total > 1

    @property
    def current(self) -> int:
        return self._indices[self._current]

    def place(self, index: int) -> int:
        """Return the position of hunk *index* among all, from 1."""
        return self._indices.index(index) + 1

    def keeps(self, index: int) -> bool:
        return index not in self._refused

    def move(self, step: int) -> None:
        self._current = min(max(0, self._current + step), self.total - 1)

    def toggle(self) -> None:
        self._refused ^= {self.current}

    def refuse(self, hunks: frozenset[int]) -> None:
        """Refuse exactly *hunks*."""
        self._refused = set(hunks)

    @property
    def accepted(self) -> frozenset[int] | None:
        return frozenset(self._indices) - self._refused if self._refused else None


class PermissionSubject(Widget):
    """Shows each block in full: not folded and not truncated."""

    DEFAULT_CSS = "PermissionSubject { height: auto; }"

    def __init__(
        self,
        blocks: Sequence[Block],
        *,
        destructive: frozenset[str] = frozenset(),
        id: str | None = None,  # Textual's parameter
    ) -> None:
        """*destructive* are the names of programs that can destroy something."""
        super().__init__(id=id)
        self._blocks = tuple(blocks)
        self._destructive = destructive
        self.choice = HunkChoice(self._blocks)
        self._page: Page | None = None
        self._lines: list[Line] = []
        self._tops: dict[int, int] = {}

    def on_mount(self) -> None:
        app_of(self).theme_changed_signal.subscribe(self, self._on_theme_changed)

    def _on_theme_changed(self, theme: Theme) -> None:
        self._draw(self._page.width if self._page else self.size.width)
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._draw(width)
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        if self._page is None or self._page.width != self.content_size.width:
            self._draw(self.content_size.width)
        width = self.content_size.width
        if y >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        return self._lines[y].strip.adjust_cell_length(width, self.rich_style)

    def show(self, blocks: Sequence[Block]) -> None:
        self._blocks = tuple(blocks)
        self.choice = HunkChoice(self._blocks)
        self.refresh(layout=True)

    def move(self, step: int) -> Region:
        """Go to another hunk and return the region to scroll to."""
        self.choice.move(step)
        return self._redraw()

    def toggle(self) -> Region:
        """Keep or refuse the current hunk and return its region."""
        self.choice.toggle()
        return self._redraw()

    def refuse(self, hunks: frozenset[int]) -> None:
        """Refuse exactly *hunks*."""
        self.choice.refuse(hunks)
        self._redraw()

    def _redraw(self) -> Region:
        self._draw(self.content_size.width)
        self.refresh()
        return Region(0, self._tops.get(self.choice.current, 0), 1, 4)

    def _draw(self, width: int) -> None:
        palette = palette_of(app_of(self).current_theme)
        looks = appearance_of(self)
        page = Page(max(1, width), palette, looks.diffs, looks.files)
        self._page = page
        self._lines, self._tops = [], {}
        for number, block in enumerate(self._blocks):
            if number:
                self._lines.append(blank(page))
            if isinstance(block, DiffBlock) and self.choice.offered:
                self._draw_hunks(block, page)
            else:
                self._lines += block_lines(block, page, titled=True, destructive=self._destructive)

    def _draw_hunks(self, block: DiffBlock, page: Page) -> None:
        self._lines.append(title_line(block, page, 0))
        for hunk in block.hunks:
            if hunk is not block.hunks[0]:
                self._lines.append(blank(page))
            self._tops[hunk.index] = len(self._lines)
            self._lines.append(self._hunk_heading(hunk, page))
            only = replace(block, hunks=(hunk,), omitted=0)
            lines = list(diff_lines(only, page, 0))
            if not self.choice.keeps(hunk.index):
                lines = [_rejected(line, page.palette) for line in lines]
            self._lines += lines
        if block.omitted:
            self._lines += diff_lines(replace(block, hunks=()), page, 0)

    def _hunk_heading(self, hunk: Hunk, page: Page) -> Line:
        palette: Palette = page.palette
        kept = self.choice.keeps(hunk.index)
        here = hunk.index == self.choice.current
        mark = Segment("✓ keep  " if kept else "✕ reject", palette.style("ok" if kept else "err"))
        place = f"  change {self.choice.place(hunk.index)} of {self.choice.total}"
        pointer = Segment("▸ " if here else "  ", palette.style("accent"))
        weight = "bold" if here else ""
        return make_line([pointer, mark, Segment(place, palette.style("muted", attributes=weight))])


def _rejected(line: Line, palette: Palette) -> Line:
    """Return a line of a rejected change: without the colors of the code, and easy to read."""
    muted = Style(color=palette.muted) if "#" in palette.muted else Style(dim=True)
    segments = [
        Segment(text, (style or Style()) + muted, control) for text, style, control in line.strip
    ]
    return replace(line, strip=Strip(segments, line.strip.cell_length))


def block_lines(
    block: Block,
    page: Page,
    *,
    titled: bool = False,
    destructive: frozenset[str] = frozenset(),
) -> list[Line]:
    context = BlockContext(page, 0, open=True, titled=titled, uncut=True, destructive=destructive)
    lines, _ = draw_block(block, context)
    return lines


PLAIN_WIDTH = 100
"""Columns of the subject as plain text."""


def plain_text(blocks: Sequence[Block]) -> Iterator[str]:
    """Yield the same as lines of text, for output without a terminal interface."""
    page = Page(PLAIN_WIDTH, DARK_PALETTE)
    for block in blocks:
        for line in block_lines(block, page, titled=True):
            yield line.strip.text.rstrip()
