"""The visible part of a transcript, which keeps what is read in place."""

from functools import lru_cache
from typing import cast

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget

from app.widgets.transcript.layout import Layout

MAX_RELATIVE_PAGES = 3
"""Pages beyond which scrolling is a jump and not relative to what was read."""


class Viewport:
    """The position on the page. While *following*, it is the bottom; else an anchor holds it: an
    item and a row counted from its first."""

    def __init__(self) -> None:
        self.following = True
        self.going_home = False
        """True while the first message is the target and is not loaded yet."""
        self.shift = 0
        """Rows that the anchor moved down in the last ``settle``."""
        self._anchor_key = ""
        self._anchor_row = 0
        self._anchor_top = 0
        self._requested_at = 0

    def forget_request(self) -> None:
        """Forget the last request for earlier messages: the session was read or shown again."""
        self._requested_at = 0

    def anchor_to(self, layout: Layout, key: str) -> None:
        """Keep the item *key* at the top, with one row above it."""
        self.following = self.going_home = False
        index = layout.index_of(key)
        self._anchor_key, self._anchor_row = key, -1
        self._anchor_top = layout.top(index) if index is not None else 0

    def needs_earlier(self, layout: Layout, older: int, height: int, *, again: bool) -> bool:
        """Return whether the page before the loaded messages is needed, with *older* messages
        before them: once when it comes near, and *again* when the user keeps scrolling."""
        near = self._anchor_top + self._anchor_row < layout.lead + height
        wanted = near and older > 0 and (again or older != self._requested_at)
        self._requested_at = older if wanted else self._requested_at
        return wanted

    def settle(self, layout: Layout, height: int, row: int, step: int | None) -> int:
        """Lay out *height* rows and return the first one.

        While following, those are the last rows, else the rows *step* below the anchor (None: at
        the anchor). *row* is the current first row.
        """
        self.going_home = self.going_home and step is None
        if self.going_home:
            self._anchor_key, row = "", 0
        if self.following and step is None and not self.going_home:
            self._lay_out_end(layout, height)
            first = layout.height - height
        else:
            first = self._lay_out_around(layout, height, row, step or 0)
        first = max(0, min(first, layout.height - height))
        self.following = first >= layout.height - height and not self.going_home
        self.going_home = self.going_home and layout.lead > 0
        anchor = layout.index_of(self._anchor_key) if self._anchor_key else None
        self.shift = layout.top(anchor) - self._anchor_top if anchor is not None else 0
        index = layout.find(first)
        if index >= 0:
            self._anchor_top = layout.top(index)
            self._anchor_key, self._anchor_row = layout.items[index].key, first - layout.top(index)
            layout.trim(index, layout.find(first + height))
        return first

    @staticmethod
    def _lay_out_end(layout: Layout, height: int) -> None:
        rows, index = 0, len(layout.items)
        while index and rows < height:
            index -= 1
            layout.lay_out(index)
            rows = layout.height - layout.top(index)

    def _lay_out_around(self, layout: Layout, height: int, row: int, step: int) -> int:
        """Lay out the rows *step* below the anchor. Items can turn out higher or lower than
        estimated; the anchor stays in place."""
        index, anchor_row = layout.index_of(self._anchor_key), self._anchor_row
        if index is None or abs(step) > MAX_RELATIVE_PAGES * height:
            index = layout.find(row)
            if index < 0:
                return 0
            anchor_row = min(row - layout.top(index), layout.items[index].height)
            step = 0
        moved = True
        while moved:
            moved = False
            first = layout.top(index) + min(anchor_row, layout.items[index].height) + step
            first = max(0, min(first, layout.height - height))
            for near in range(max(0, layout.find(first)), len(layout.items)):
                if layout.top(near) > first + height:
                    break
                moved = layout.lay_out(near) or moved
        return layout.top(index) + min(anchor_row, layout.items[index].height) + step


# The scrollbar of the transcript, which is painted only when its thumb visibly moves.

THUMB_STEPS = 2
"""Fractions of a cell by which the thumb has to move to be painted again."""


class RowScrollBar(ScrollBar):
    """A vertical scrollbar of one column, without Textual's way through a console and borders."""

    def render_lines(self, crop: Region) -> list[Strip]:
        bar = cast("ScrollBarRender", self.render())
        style = cast("Style", bar.style)
        cells = bar.render_bar(
            size=self.size.height,
            virtual_size=bar.virtual_size,
            window_size=bar.window_size,
            position=bar.position,
            vertical=True,
            back_color=style.bgcolor or Color.default(),
            bar_color=style.color or Color.default(),
        )
        (first, last), base = crop.line_span, self.rich_style
        rows = [_cell(cell).apply_style(base) for cell in cells.segments[first:last]]
        return finished_strips(rows, self, crop)

    def show(self, height: int, row: int) -> None:
        """Show the place in a page of *height* rows that is read from *row* on."""
        before = self._thumb()
        self.set_reactive(ScrollBar.window_virtual_size, height)
        self.set_reactive(ScrollBar.position, float(row))
        if self._thumb() != before:
            self.refresh()

    def _thumb(self) -> tuple[int, int, bool, bool]:
        """Return the start and length of the thumb in fractions of a cell, and whether it is at the
        top and at the bottom; zeros without a thumb."""
        size, window, page = self.size.height, self.window_size, self.window_virtual_size
        if not size or not 0 < window < page:
            return 0, 0, False, False
        length = max(1.0, window * size / page)
        start = (size - length) * self.position / (page - window)
        at_end = self.position + window >= page
        return int(start * THUMB_STEPS), int(length * THUMB_STEPS), self.position <= 0, at_end


@lru_cache(64)
def _cell(cell: Segment) -> Strip:
    return Strip([cell], 1)


def finished_strips(strips: list[Strip], widget: Widget, crop: Region) -> list[Strip]:
    """Return *strips* as they leave *widget*: in the terminal's colors and no wider than *crop*.

    Textual's own way adds border, padding and background to each row in each frame. That creates
    new strips, which lose their cached crops and renderings; *widget* has none of the three.
    """
    ground = widget.background_colors[1]
    for line_filter in widget.get_line_filters():
        strips = [strip.apply_filter(line_filter, ground) for strip in strips]
    first, last = crop.column_span
    return [
        strip if first == 0 and strip.cell_length <= last else strip.crop(first, last)
        for strip in strips
    ]
