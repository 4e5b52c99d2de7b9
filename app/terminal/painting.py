"""Painting of what changed on the main screen, with less work than Textual's own way.

Textual renders every widget that touches the rectangle around all changes, whole, and paints at the
ticks of a timer. Here each changed region is painted from the widgets that are seen in it, row by
row, and a frame can be painted as soon as it is complete.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

FRAME_SECONDS = 1 / 60
"""Seconds between two frames at least."""


class RowsUpdate(ChopsUpdate):
    """Parts of rows, each with the column and row where it begins."""

    def __init__(self, rows: list[tuple[int, int, Strip]]) -> None:
        super().__init__(chops=[], spans=[], chop_ends=[])
        self.rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for x, y, strip in self.rows:
            yield Control.move_to(x, y).segment
            yield from strip

    def render_segments(self, console: Console) -> str:
        """Return the rows as they are written to the terminal."""
        return "".join(f"\x1b[{y + 1};{x + 1}H{strip.render(console)}" for x, y, strip in self.rows)


class RowsCompositor(Compositor):
    """Textual's compositor, which renders only the rows of an update."""

    def render_partial_update(self) -> RowsUpdate | None:
        dirty = {region.intersection(self.size.region) for region in self._dirty_regions}
        self._dirty_regions.clear()
        rows = [row for region in _outermost(dirty) for row in self._rows(region)]
        return RowsUpdate(rows) if rows else None

    def _rows(self, region: Region) -> Iterator[tuple[int, int, Strip]]:
        """Yield the rows of *region*: from the frontmost widgets to those that show behind them."""
        left = [region]
        for widget, (place, clip) in self.visible_widgets.items():
            visible = place.intersection(clip)
            if not any(part.overlaps(visible) for part in left):
                continue
            behind: list[Region] = []
            for part in left:
                seen = part.intersection(visible)
                if seen:
                    strips = widget.render_lines(seen.translate(-place.offset))
                    yield from (
                        (seen.x, y, s) for y, s in zip(seen.line_range, strips, strict=False)
                    )
                behind += _without(part, seen) if seen else (part,)
            left = behind
            if not left:
                return


def _outermost(regions: Iterable[Region]) -> list[Region]:
    """Return *regions* without those that are empty or inside another one."""
    found: list[Region] = []
    for region in sorted(regions, key=lambda each: each.area, reverse=True):
        if region and not any(other.contains_region(region) for other in found):
            found.append(region)
    return found


def _without(region: Region, part: Region) -> Iterator[Region]:
    """Yield what is left of *region* without *part* of it: above, below, left and right."""
    if above := part.y - region.y:
        yield Region(region.x, region.y, region.width, above)
    if below := region.bottom - part.bottom:
        yield Region(region.x, part.bottom, region.width, below)
    if left := part.x - region.x:
        yield Region(region.x, part.y, left, part.height)
    if right := region.right - part.right:
        yield Region(part.right, part.y, right, part.height)


class PaintedScreen(Screen[None]):
    """A screen that paints row by row, and at once when ``paint`` is called."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = RowsCompositor()
        self._painted = float("-inf")

    def _compositor_refresh(self) -> None:
        super()._compositor_refresh()
        self._painted = time.monotonic()

    def paint(self, pause: float = FRAME_SECONDS / 2) -> None:
        """Paint what was marked for it right after the current task, unless the last frame is less
        than *pause* seconds old: keys get their turn between drawing and painting. Without this,
        that waits for messages between widgets and for the next tick of Textual's timer."""
        for widget in self._compositor.visible_widgets:
            if widget._repaint_required and not widget._layout_required:
                widget._repaint_required = False
                self._dirty_widgets.add(widget)
        if self._dirty_widgets:
            asyncio.get_running_loop().call_soon(self._paint, pause)

    def _paint(self, pause: float) -> None:
        if not self.is_running:
            return
        if time.monotonic() - self._painted >= pause:
            self._on_timer_update()
        elif self._dirty_widgets:
            self.check_idle()  # which resumes the timer
