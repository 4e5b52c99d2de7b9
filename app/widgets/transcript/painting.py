"""Rows on their way to the screen, and the bar beside them: what only moved costs nothing.

A strip remembers how it was cut, filtered and written. Textual's own way puts border, padding
and ground around each row of each frame, which makes a new strip and forgets all of that; the
transcript has none of the three.
"""

from collections.abc import Iterable

from textual.geometry import Region
from textual.scrollbar import ScrollBar
from textual.strip import Strip
from textual.widget import Widget

THUMB_STEPS = 2
"""Parts of a cell by which the thumb has moved when it is painted again."""


def finished_strips(rows: Iterable[Strip], widget: Widget, crop: Region) -> list[Strip]:
    """*rows* as they leave *widget*: in the terminal's colours, and no wider than *crop*."""
    ground = widget.background_colors[1]
    strips = list(rows)
    for line_filter in widget.get_line_filters():
        strips = [strip.apply_filter(line_filter, ground) for strip in strips]
    first, last = crop.column_span
    if (first, last) == (0, widget.region.width):
        return strips
    return [strip.crop(first, last) for strip in strips]


def place_thumb(bar: ScrollBar, height: int, row: int) -> None:
    """Tell *bar* that the page is *height* rows and read from *row* on. It is painted only if
    that is to be seen: most rows that are added to a long page move it by next to nothing."""
    before = _thumb(bar)
    bar.set_reactive(ScrollBar.window_virtual_size, height)
    bar.set_reactive(ScrollBar.position, float(row))
    if _thumb(bar) != before:
        bar.refresh()


def _thumb(bar: ScrollBar) -> tuple[int, int, bool, bool]:
    """Where the thumb begins and how long it is, in parts of a cell, and whether it stands at
    the top and at the bottom; all nothing where there is none."""
    size, window, page = bar.size.height, bar.window_size, bar.window_virtual_size
    if not size or not 0 < window < page:
        return 0, 0, False, False
    length = max(1.0, window * size / page)
    start = (size - length) * bar.position / (page - window)
    at_end = bar.position + window >= page
    return int(start * THUMB_STEPS), int(length * THUMB_STEPS), bar.position <= 0, at_end
