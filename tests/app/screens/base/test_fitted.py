"""The height of dialogs: what scrolls gives up the rows that do not fit, and no hint is cut."""

import pytest
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from app.screens.base.dialog import Dialog
from app.screens.base.fitted import Fitted, shares
from app.screens.base.hints import KeyHints
from tests.support.hosting import Host


@pytest.mark.parametrize(
    ("wanted", "height", "given"),
    [
        ([5], 9, [5]),
        ([20], 9, [9]),
        ([2, 20], 9, [2, 7]),
        ([20, 20], 9, [4, 5]),
        ([4, 4], 1, [1, 1]),
    ],
)
def test_rows_are_shared_equally_and_none_are_wasted(
    wanted: list[int], height: int, given: list[int]
) -> None:
    assert shares(wanted, height) == given


class Long(Dialog[None]):
    def compose(self) -> ComposeResult:
        with Fitted(id="box"):
            yield Static("title")
            for name in ("one", "two"):
                with VerticalScroll(id=name):
                    yield Static("\n".join("abcdefghijkl"))
            yield Static(KeyHints(("enter", "choose"), ("esc", "close")), id="keys")


@pytest.mark.parametrize("rows", [30, 16, 9])
async def test_the_last_line_of_a_box_stays_visible(rows: int) -> None:
    host = Host(Long)
    host.CSS = "#box, #box VerticalScroll { height: auto; } #box { max-height: 100%; }"
    async with host.run_test(size=(40, rows)) as pilot:
        await pilot.pause()
        one, two = (host.screen.query_one(name).region.height for name in ("#one", "#two"))
        assert host.screen.query_one("#keys").region.bottom == min(rows, 26)
        assert one + two == min(rows, 26) - 2
        assert abs(one - two) <= 1


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (30, ["enter choose   esc close"]),
        (23, ["enter choose", "esc close"]),
        (5, ["enter choose", "esc close"]),
    ],
)
def test_key_hints_break_only_between_hints(width: int, shown: list[str]) -> None:
    hints = KeyHints(("enter", "choose"), ("esc", "close"))
    assert hints.lines(width).plain.split("\n") == shown
    assert hints.get_height({}, width) == len(shown)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (50, "Copy   y copy   v select   ↑↓ line   esc back"),
        (35, "Copy   y copy   v select   esc back"),
        (24, "Copy   y copy   esc back"),
        (5, "esc back"),
    ],
)
def test_the_least_important_hints_are_dropped_where_lines_are_limited(
    width: int, shown: str
) -> None:
    keys = (("y", "copy"), ("v", "select"), ("↑↓", "line"), ("esc", "back"))
    hints = KeyHints(*keys, note=Content("Copy"), most_lines=1)
    assert hints.lines(width).plain == shown
