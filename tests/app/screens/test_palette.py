"""The command palette."""

import pytest

from app.action_registry.keymap import build
from app.action_registry.registry import GROUPS
from app.actions import actions
from app.screens.base.picker import Row
from app.screens.help import PaletteScreen, action_row, rank
from tests.app.conftest import Running, Starter
from tests.support.hosting import Host
from tests.support.snapshots import assert_both_themes


async def opened(running: Running) -> PaletteScreen:
    await running.pilot.press("ctrl+p")
    await running.until_shown("Commands")
    screen = running.app.screen
    assert isinstance(screen, PaletteScreen)
    return screen


def listed() -> list[Row]:
    keys = build(actions())
    return [action_row(known, keys.keys_of(known.id)) for known in actions() if known.palette]


def test_every_action_with_a_title_is_listed_with_name_and_key() -> None:
    rows = {row.key: row for row in listed()}
    assert rows.keys() == {known.id for known in actions()} - {"app.palette"}
    assert (rows["session.new"].note, rows["session.new"].right) == ("/new", "ctrl+x n")
    assert "/clear" in rows["session.new"].text
    groups = [row.group for row in rows.values()]
    assert sorted(groups, key=[*GROUPS].index) == groups


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("/theme", "view.theme"),
        ("quit", "app.exit"),
        ("themes", "view.theme"),
        ("fork", "session.fork"),
        ("reasons", "model.effort"),
        ("mdl", "model.list"),
        ("ctrl+r", "prompt.history"),
    ],
)
async def test_typing_filters_the_actions(start: Starter, typed: str, first: str) -> None:
    async with start() as running:
        screen = await opened(running)
        await running.type(typed)
        await running.until(lambda: screen.highlighted_key == first)


async def test_it_runs_an_action_or_types_a_command_that_needs_arguments(start: Starter) -> None:
    async with start() as running:
        await opened(running)
        await running.type("help", "enter")
        await running.until_shown("Prompt keys")
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)
        await opened(running)
        await running.type("btw", "enter")
        await running.until(lambda: running.prompt == "/btw ")


async def test_its_key_moves_up_while_it_is_open(start: Starter) -> None:
    async with start() as running:
        screen = await opened(running)
        first = screen.highlighted_key
        await running.pilot.press("down", "ctrl+p")
        await running.pilot.pause()
        assert running.app.screen is screen
        assert screen.highlighted_key == first


def test_exact_names_rank_before_beginnings_and_words() -> None:
    row = Row("id", "Choose the theme", "/theme", hidden="/themes")
    assert [rank(row, typed) for typed in ("themes", "them", "the", "hoo")] == [0, 1, 1, 3]


@pytest.mark.parametrize("size", [(80, 24), (140, 45), (40, 16)])
async def test_snapshots_of_the_palette(size: tuple[int, int]) -> None:
    """Only some actions are shown, so that new actions do not change the snapshot."""
    named = ("session.new", "session.fork", "session.undo", "model.list", "view.theme", "app.help")
    host = Host(PaletteScreen([a for a in actions() if a.id in named], build(actions()).keys_of))
    async with host.run_test(size=size) as pilot:
        await pilot.pause()
        await assert_both_themes(pilot, "screen-palette")


@pytest.mark.parametrize("size", [(80, 24), (40, 16)])
async def test_nothing_moves_while_the_user_types(size: tuple[int, int]) -> None:
    host = Host(PaletteScreen(actions(), build(actions()).keys_of))
    async with host.run_test(size=size) as pilot:
        await pilot.pause()
        box = host.screen.query_one("#picker")
        before = box.region
        for key in ("f", "o", "r", "k", "ctrl+u", *"qqqqzzzz"):
            await pilot.press(key)
            await pilot.pause()
            assert box.region == before
        await pilot.resize_terminal(size[0], size[1] - 4)
        await pilot.pause()
        await pilot.pause()
        assert box.region.height <= size[1] - 4
        assert host.screen.query_one("#picker-filter").region.bottom <= size[1] - 4
