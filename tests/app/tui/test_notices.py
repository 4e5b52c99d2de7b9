"""Notices above the prompt: one line, which covers nothing, and the list in /status."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.app.conftest import Running, Starter


def write_settings(folders: Mapping[str, str], text: str) -> None:
    folder = Path(folders["XDG_CONFIG_HOME"]) / "opencode-py"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(text)


BROKEN = '{\n  "colour": 1,\n  "limits": {"steps": "many"},\n  "theme2": 3\n}'


def regions_overlap(running: Running) -> bool:
    screen = running.app.screen
    line = screen.query_one("#notices").region
    others = (screen.query_one(f"#{name}").region for name in ("prompt-box", "session-body"))
    return any(line.overlaps(other) for other in others if other)


@pytest.mark.parametrize("size", [(40, 16), (80, 24), (50, 14)])
async def test_a_notice_covers_neither_the_prompt_nor_the_answer(
    start: Starter, size: tuple[int, int]
) -> None:
    async with start(size=size) as running:
        await running.type("/redo", "enter")
        await running.until_shown("Nothing to redo.")
        assert not running.app.screen.query("Toast")
        assert "@ files" in running.text()
        assert not regions_overlap(running)


async def test_faults_of_the_settings_are_counted_and_stay_on_the_home_page(
    start: Starter, folders: Mapping[str, str]
) -> None:
    write_settings(folders, BROKEN)
    async with start(size=(100, 40)) as running:
        await running.until_shown("1 notice, /status")
        await running.until_shown("config.json:2")
        await running.type("/status", "enter")
        await running.until_shown("Notices")
        for place in ("config.json:2", "line 3", "line 4"):
            await running.until_shown(place)
        await running.pilot.press("escape")
        await running.until(lambda: "1 notice, /status" not in running.text())
        await running.until_shown("config.json:2")
    write_settings(folders, "{}")
    async with start() as running:
        await running.until_shown("no model is connected")
        assert "config.json" not in running.text()


async def test_an_error_is_shown_and_listed_once(start: Starter) -> None:
    async with start(size=(100, 40)) as running:
        for _ in range(3):
            await running.type("/model nothing/here", "enter")
            await running.until_shown("There is no provider nothing.")
        assert "1 notice" not in running.text()
        await running.type("/status", "enter")
        await running.until_shown("(3 times)")


@pytest.mark.parametrize("size", [(40, 16), (80, 24)])
async def test_a_notice_in_a_dialog_moves_to_the_line_when_that_closes(
    start: Starter, size: tuple[int, int]
) -> None:
    async with start(size=size) as running:
        await running.type("/permissions", "enter")
        await running.until_shown("doom_loop")
        await running.pilot.press("ctrl+d")
        await running.until(lambda: bool(running.app.screen.query("Toast")))
        (toast,) = running.app.screen.query("Toast")
        assert toast.region.width == size[0]
        assert toast.region.bottom <= 3
        await running.pilot.press("escape")
        await running.until(lambda: not running.app.screen.query("Toast"))
        await running.until_shown("can be revoked here.")
        assert "@ files" in running.text()
        assert not regions_overlap(running)
