"""A diff of one file to go through line by line, with comments between the lines and the hunks that
are kept or not."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.theme import Theme
from textual.widget import Widget

from agent.records.blocks import DiffBlock, DiffLine, Hunk
from agent.records.frozen import frozen
from app.terminal.app_of import app_of
from app.text.sanitize import sanitize_line
from app.theme.appearance import DiffStyle, appearance_of
from app.theme.themes import palette_of
from app.widgets.transcript.diff import diff_rows
from app.widgets.transcript.lines import Line, Page, blank, gutter, make_line, wrap

EDGE = 2
"""Cells at the left for the cursor and the selection."""

REVERTED_STYLE = Style(dim=True)


@frozen
class PlacedComment:
    """A comment below a line: *line* is its number on the side that *removed* names, 0 for the top
    of the file."""

    line: int
    removed: bool
    text: str
    reply: str = ""
    sent: bool = False
    place: str = ""
    """The lines that it is about, "" for the one above."""


@frozen
class HunkLabels:
    """The words for the two states of a hunk (``kept``, ``reverted``), and for the key ``r`` that
    changes it; "" where there is no choice."""

    kept: str = ""
    reverted: str = ""
    revert: str = ""


@frozen
class SelectedLines:
    """The lines that a comment is about; the numbers are of the old side if *removed*."""

    first: int
    last: int
    removed: bool
    quoted: tuple[str, ...]


@frozen
class _PaneRow:
    line: Line
    hunk: int | None = None
    shown: DiffLine | None = None
    """The line of the diff that begins here; None for other rows."""


class DiffPane(Widget):
    """Draws one file, all of it. The cursor stands on a line of the diff."""

    DEFAULT_CSS = "DiffPane { height: auto; }"

    def __init__(self, labels: HunkLabels, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._labels = labels
        self._block = DiffBlock("", (), 0, 0)
        self._reverted: frozenset[int] = frozenset()
        self._comments: Sequence[PlacedComment] = ()
        self._rows: list[_PaneRow] = []
        self._stops: list[int] = []
        self._width = 0
        self._cursor = 0
        self._anchor: int | None = None
        self._fresh = False
        self.style: DiffStyle | None = None
        """The layout of diffs, None for the user's choice."""

    def on_mount(self) -> None:
        app_of(self).theme_changed_signal.subscribe(self, self._on_theme_changed)

    def _on_theme_changed(self, theme: Theme) -> None:
        self.redraw()

    def show(
        self, block: DiffBlock, reverted: frozenset[int], comments: Sequence[PlacedComment]
    ) -> None:
        """Draw *block*; the cursor stays where it was if that is the same file."""
        self._fresh = block.path != self._block.path
        self._block, self._reverted, self._comments = block, reverted, comments
        self._anchor = None
        self.redraw()

    def redraw(self) -> None:
        self._width = 0
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._draw(width)
        return len(self._rows)

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        self._draw(width)
        if y >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        strip = self._rows[y].line.strip
        mark = self._mark(y)
        if mark is not None:
            strip = Strip.join([Strip([mark]), strip.crop(EDGE)])
        return strip.adjust_cell_length(width, self.rich_style)

    def _mark(self, y: int) -> Segment | None:
        palette = palette_of(app_of(self).current_theme)
        if self._stops and y == self._stops[self._cursor]:
            return Segment("▸ ", palette.style("accent"))
        if self._anchor is not None and self._rows[y].shown is not None:
            first, last = sorted((self._anchor, self._cursor))
            if self._stops[first] <= y <= self._stops[last]:
                return Segment("┃ ", palette.style("accent"))
        return None

    # --- the cursor ---

    def move(self, step: int) -> bool:
        """Move the cursor by lines. Return False where there is none in that direction."""
        target = min(max(0, self._cursor + step), len(self._stops) - 1)
        if target == self._cursor or not self._stops:
            return False
        self._cursor = target
        self.refresh()
        return True

    def move_to_hunk(self, step: int) -> bool:
        """Move to the first line of another hunk. Return False where there is none."""
        hunks = list(dict.fromkeys(self._rows[y].hunk for y in self._stops))
        if not hunks:
            return False
        target = hunks.index(self.hunk) + step
        if not 0 <= target < len(hunks):
            return False
        changed = (
            place
            for place, y in enumerate(self._stops)
            if self._rows[y].hunk == hunks[target] and self._is_changed(y)
        )
        self._cursor = next(changed)
        self.refresh()
        return True

    def _is_changed(self, y: int) -> bool:
        shown = self._rows[y].shown
        return shown is not None and shown.kind != "context"

    @property
    def hunk(self) -> int | None:
        """The index of the hunk at the cursor."""
        return self._rows[self._stops[self._cursor]].hunk if self._stops else None

    @property
    def region_of_cursor(self) -> Region:
        y = self._stops[self._cursor] if self._stops else 0
        return Region(0, max(0, y - 2), 1, 5)

    def toggle_selection(self) -> None:
        """Begin to select lines at the cursor, or end it."""
        self._anchor = None if self._anchor is not None else self._cursor
        self.refresh()

    @property
    def selecting(self) -> bool:
        return self._anchor is not None

    def selected(self) -> SelectedLines | None:
        """Return the selected lines, or the one at the cursor: those of the new side, if any."""
        if not self._stops:
            return None
        other = self._cursor if self._anchor is None else self._anchor
        first, last = sorted((other, self._cursor))
        shown = [self._rows[y].shown for y in self._stops[first : last + 1]]
        lines = [line for line in shown if line is not None]
        new = [line for line in lines if line.new is not None]
        side = new or lines
        numbers = [line.new if new else line.old for line in side]
        texts = tuple(sanitize_line(line.text) for line in side)
        return SelectedLines(numbers[0] or 0, numbers[-1] or 0, not new, texts)

    # --- drawing ---

    def _draw(self, width: int) -> None:
        if width == self._width:
            return
        self._width = width
        looks = appearance_of(self)
        palette = palette_of(app_of(self).current_theme)
        page = Page(max(1, width), palette, self.style or looks.diffs, looks.files)
        self._rows = list(self._all_rows(page))
        self._stops = [y for y, row in enumerate(self._rows) if row.shown is not None]
        if self._fresh:  # begin with the first change
            changed = (place for place, y in enumerate(self._stops) if self._is_changed(y))
            self._cursor, self._fresh = next(changed, 0), False
        self._cursor = min(self._cursor, max(0, len(self._stops) - 1))

    def _all_rows(self, page: Page) -> Iterator[_PaneRow]:
        for comment in self._comments:
            if not comment.line:
                yield from self._comment_rows(comment, page)
        for place, hunk in enumerate(self._block.hunks):
            if place:
                yield _PaneRow(blank(page))
            if self._labels.kept:
                yield _PaneRow(self._heading(hunk, place, page), hunk.index)
            yield from self._hunk_rows(hunk, page)
        if self._block.omitted:
            text = f"{self._block.omitted} more lines are not shown"
            yield _PaneRow(self._muted(text, page))
        elif not self._block.hunks:
            yield _PaneRow(self._muted("No text changed.", page))

    def _hunk_rows(self, hunk: Hunk, page: Page) -> Iterator[_PaneRow]:
        """Yield the rows of a hunk, each comment below the last row of its line."""
        only = replace(self._block, hunks=(hunk,), omitted=0, moved_from=None)
        before: DiffLine | None = None
        for row in diff_rows(only, page, EDGE):
            begins = row.shown is not None and row.shown is not before
            if begins and before is not None:
                yield from self._comments_at(before, page)
            before = row.shown
            line = row.line
            if hunk.index in self._reverted:
                line = replace(line, strip=line.strip.apply_style(REVERTED_STYLE))
            yield _PaneRow(line, hunk.index, row.shown if begins else None)
        if before is not None:
            yield from self._comments_at(before, page)

    def _comments_at(self, line: DiffLine, page: Page) -> Iterator[_PaneRow]:
        for comment in self._comments:
            number = line.old if comment.removed else line.new
            if not comment.line or comment.line != number:
                continue
            if not comment.removed or line.kind == "remove":
                yield from self._comment_rows(comment, page)

    def _comment_rows(self, comment: PlacedComment, page: Page) -> Iterator[_PaneRow]:
        who = ", ".join(filter(None, ("You", "sent" if comment.sent else "", comment.place)))
        parts = [(who, comment.text, "blue")]
        if comment.reply:
            parts.append(("Agent", comment.reply, "accent"))
        for name, words, tone in parts:
            bar = (*gutter(page, EDGE), Segment("▎ ", page.palette.style(tone, "panel")))
            text = Text(style=page.palette.style("text", "panel"))
            text.append(f"{name}  ", page.palette.style(tone, "panel", attributes="bold"))
            text.append(sanitize_line(" ".join(words.split())))
            for row, join in wrap(text, max(8, page.columns(EDGE + 2))):
                fill = (page.right, page.palette.style("text", "panel"))
                yield _PaneRow(make_line(row, prefix=bar, fill=fill, join=join))

    def _heading(self, hunk: Hunk, place: int, page: Page) -> Line:
        palette = page.palette
        reverted = hunk.index in self._reverted
        word = f"✕ {self._labels.reverted}" if reverted else f"✓ {self._labels.kept}"
        total = len(self._block.hunks)
        mark = Segment(word, palette.style("err" if reverted else "ok"))
        note = Segment(f"  change {place + 1} of {total}", palette.style("muted"))
        return make_line([mark, note], prefix=gutter(page, EDGE))

    def _muted(self, text: str, page: Page) -> Line:
        return make_line([Segment(text, page.palette.style("muted"))], prefix=gutter(page, EDGE))
