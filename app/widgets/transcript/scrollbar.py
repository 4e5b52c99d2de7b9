"""The scrollbar of the transcript, which is painted only when its thumb visibly moves."""

from functools import lru_cache
from typing import cast

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget

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
