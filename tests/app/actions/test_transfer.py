"""Export, import and statistics in the program."""

import json
from dataclasses import replace
from pathlib import Path

from agent.records.messages import Usage
from agent.store.stats import UsageRow
from app.screens.usage import stats_bar, stats_text
from tests.app.conftest import Starter
from tests.support import records


async def test_export_asks_for_a_name_and_import_reads_it(start: Starter, work: Path) -> None:
    async with start(size=(80, 24)) as running:
        await running.type("list", "enter")
        await running.until_idle()
        await running.type("/export", "enter")
        await running.until_shown("Export to which file?")
        await running.pilot.press("enter")
        await running.until_shown("Exported to")
        assert (work / "list.html").read_text().startswith("<!doctype html>")
        await running.type("/export it.json", "enter")
        await running.until((work / "it.json").exists)
        first = running.app.controller.live.session
        assert first is not None
        await running.type("/import it.json", "enter")
        await running.until(
            lambda: getattr(running.app.controller.live.session, "id", "") not in {"", first.id}
        )
        await running.until_shown("List .")
        assert json.loads((work / "it.json").read_text())["session"]["id"] == first.id


async def test_the_review_exports(start: Starter, work: Path) -> None:
    async with start(size=(80, 24)) as running:
        await running.type("list", "enter")
        await running.until_idle()
        await running.type("/history", "enter")
        await running.until_shown("1 turn")
        await running.pilot.press("x")
        await running.until_shown("Export to which file?")
        await running.pilot.press("enter")
        await running.until((work / "list.html").exists)
        await running.until_shown("History  /")


async def test_stats_are_bars(start: Starter) -> None:
    async with start(size=(80, 24)) as running:
        session = replace(records.session(), directory=str(running.runtime.directory))
        step = records.assistant("msg_b")
        used = replace(step.message, usage=Usage(input=2000, output=100), created=2e9, cost=0.5)
        await running.runtime.store.save(session, used)
        await running.type("/stats 7", "enter")
        await running.until_shown("Tokens of the last 7 days")
        await running.until_shown("By model")
        assert "$0.50" in running.text()
        assert "█" in running.text()


def test_bars_are_in_proportion_and_never_empty() -> None:
    assert stats_bar(1.0, 8) == "█" * 8
    assert stats_bar(0.0, 8) == " " * 8
    assert stats_bar(0.0001, 8) == "▏" + " " * 7
    assert stats_bar(0.5, 8) == "████    "


def test_a_page_fits_its_width() -> None:
    rows = [
        UsageRow("2026-01-01", "demo/" + "x" * 80, "/home/表の幅", 3, 1, Usage(input=5000), None),
        UsageRow("2026-01-02", "demo/b", "/", 1, 1, Usage(output=7), 0.25),
    ]
    for width in (40, 80):
        lines = stats_text(rows, width).split("\n")[1:]  # the first is wrapped
        assert max(line.cell_length for line in lines) <= width
    assert stats_text([], 80).plain == "No usage in this time."
