"""Snapshots of diffs, dark and light, unified and side by side, and the preference between the
two."""

import pytest

from app.session_state.view import SessionView
from app.theme.appearance import appearance_of
from tests.app.conftest import Starter
from tests.app.screens.sample_session import show_session
from tests.support.records import completed, diff, open_assistant, snapshot, tool
from tests.support.snapshots import assert_both_themes
from tests.support.transcripts import TranscriptApp

PYTHON = diff(
    "src/imports/reader.py",
    " @dataclass",
    " class Reader:",
    '     """Rows of a file: 表の行を読む."""',
    " ",
    "     def read_rows(self, path: Path) -> Iterator[Row]:",
    "-        header = next(rows)  # the first row names the columns",
    "-        return [Row(1, cells) for cells in rows]",
    "+        header = next(rows, None)  # the first row names the columns",
    "+        if header is None:",
    "+            return []",
    "+        return [Row(number, cells) for number, cells in enumerate(rows, start=2)]",
    " ",
    "-        漢字 = '古い行'",
    "+        漢字 = '新しい行は列の幅を正しく数える'",
    first=31,
)
STYLE = diff(
    "web/app.ts",
    "-export const limit = 20;",
    "+export const limit: number = 50;",
    " function clamp(value: number): number { return Math.min(value, limit); }",
    "+// Longer than one side: "
    + "rows are cut at the edge of their own side and go on below it. " * 2,
    first=8,
)


def view() -> SessionView:
    calls = (
        completed("Edit", "src/imports/reader.py", PYTHON, note="+5 −3", seconds=0.03),
        completed("Edit", "web/app.ts", STYLE, note="+2 −1", seconds=0.01),
        completed("Write", "notes.md", diff("notes.md", "+# Notes", "+", "+- `one`"), note="+3"),
    )
    parts = [tool(f"prt_{n}", "msg_1", state, name="edit") for n, state in enumerate(calls)]
    return SessionView(snapshot(open_assistant("msg_1", *parts)))


@pytest.mark.parametrize("width", [80, 140])
async def test_snapshots_of_diffs(width: int) -> None:
    async with TranscriptApp(view()).run_test(size=(width, 36)) as pilot:
        await pilot.pause()
        await assert_both_themes(pilot, "diff")


async def test_the_user_chooses_how_diffs_are_shown(start: Starter) -> None:
    async with start(size=(140, 45)) as running:
        await show_session(running)
        beside = "header = next(rows)"
        rows = [row for row in running.text().splitlines() if beside in row]
        assert [row.count("header = next") for row in rows] == [2]
        await running.type("/diffs unified", "enter")
        await running.until(lambda: appearance_of(running.app).diffs == "unified")
        rows = [row for row in running.text().splitlines() if beside in row]
        assert [row.count("header = next") for row in rows] == [1]
        await running.type("/diffs sideways", "enter")
        await running.until_shown("Use auto, unified or split.")
