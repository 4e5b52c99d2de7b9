"""What is painted row by row is what the whole screen shows."""

import random

import pytest
from rich.cells import cell_len
from textual.geometry import Region

from app.terminal.painting import RowsUpdate
from tests.app.conftest import Running, Starter
from tests.app.screens.sample_session import show_session

WIDTH, HEIGHT = 100, 30


def whole_screen(running: Running) -> list[list[object]]:
    """Return the letter and style of each cell; a wide letter has both of its cells."""
    rows: list[list[object]] = []
    for strip in running.app.screen._compositor.render_strips():
        row: list[object] = []
        for text, style, _ in strip:
            for letter in text:
                row += [(letter, str(style))] * cell_len(letter)
        rows.append(row)
    return rows


def paint(rows: list[list[object]], update: RowsUpdate) -> None:
    """Write *update* into *rows* as a terminal does."""
    for first, y, strip in update.rows:
        x = first
        for text, style, _ in strip:
            for letter in text:
                for _ in range(cell_len(letter)):
                    rows[y][x] = (letter, str(style))
                    x += 1


@pytest.mark.parametrize("seed", range(4))
async def test_regions_are_painted_as_the_whole_screen_is(start: Starter, seed: int) -> None:
    chosen = random.Random(seed)
    async with start(size=(WIDTH, HEIGHT)) as running:
        await show_session(running)
        await running.pilot.pause()
        compositor = running.app.screen._compositor
        shown = whole_screen(running)
        for _ in range(20):
            regions = [
                Region(
                    x := chosen.randrange(WIDTH),
                    y := chosen.randrange(HEIGHT),
                    chosen.randint(1, WIDTH - x),
                    chosen.randint(1, HEIGHT - y),
                )
                for _ in range(chosen.randint(1, 3))
            ]
            compositor._dirty_regions = set(regions)
            update = compositor.render_partial_update()
            assert isinstance(update, RowsUpdate)
            rows: list[list[object]] = [[None] * WIDTH for _ in range(HEIGHT)]
            paint(rows, update)
            for y, row in enumerate(rows):
                for x, cell in enumerate(row):
                    inside = any(region.contains(x, y) for region in regions)
                    assert cell == (shown[y][x] if inside else None)
            assert not compositor._dirty_regions
