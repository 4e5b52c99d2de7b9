"""What fills the window: ``/compact`` and its marker (spec 2, C5, C7)."""

import pytest

from tests.support.model_server import ModelServer
from tests.support.script import Hold, Reason, Text, Tokens, answer
from tests.support.snapshots import assert_snapshot
from tests.ui.conftest import Starter

THOUGHTS = "The reader takes the first line for granted, and an empty file has none. " * 1_600
SUMMARY = """\
## Goal
Import CSV files that are empty.

## Accomplished
- `reader.py` returns no rows for an empty file.
- The test `test_empty` passes.
"""


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_c7_the_marker_shows_where_it_happened_and_the_summary_folded(
    scripted: ModelServer, start: Starter, size: tuple[int, int]
) -> None:
    scripted.script(
        answer(Reason(THOUGHTS), Text("It fails on the first line."), Tokens(4_000, 26_000)),
        answer(Text("Fixed, and tested."), Tokens(30_000, 30)),
        answer(Text(SUMMARY), Tokens(30_000, 60)),
    )
    async with start(size=size) as running:
        for text, said in (("Why does it fail?", "first line"), ("Fix it", "Fixed, and")):
            await running.type(text, "enter")
            await running.until_shown(said)
            await running.until_idle()
        await running.type("/compact the test", "enter")
        await running.until_shown("◇ Earlier messages were summarised · 30.0k")
        await running.until_idle()
        assert "Why does it fail?" in running.text(), "what was said stays in sight (C7)"
        assert "reader.py returns" not in running.text()
        assert "▰▰" not in running.text(), "the bar tells of what is left"
        assert_snapshot(running.app, f"screen-compacted-{size[0]}")
    assert "the test" in str(scripted.requests[-1].body)


async def test_u10_the_line_says_that_it_sums_up_and_esc_stops_it(
    scripted: ModelServer, start: Starter
) -> None:
    hold = Hold()
    scripted.script(answer(Text("yes")), answer(Text("## Goal"), hold))
    async with start() as running:
        await running.type("Well?", "enter")
        await running.until_idle()
        await running.type("/compact", "enter")
        await running.until_shown("Summing up the session")
        await running.pilot.press("escape")
        await running.until_idle()
        assert "summarised" not in running.text()
        hold.gate.set()


async def test_c5_without_anything_to_sum_up_it_says_so(start: Starter) -> None:
    async with start() as running:
        await running.type("/compact", "enter")
        await running.until_shown("No session is open yet")
