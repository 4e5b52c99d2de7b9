"""The list of background commands and the output of one."""

import asyncio
from pathlib import Path

import pytest

from agent.records.background import ShellInfo
from app.screens.background import ShellScreen, shell_rows, shell_status
from app.widgets.activity import ActivityLine
from tests.app.conftest import Starter
from tests.app.screens.background_commands import info, run_in_background
from tests.support.snapshots import assert_both_themes


def test_rows_show_the_status_of_each_command() -> None:
    shells = (
        info("make", state="exited", exit_code=2, ended=1_003.0),
        info("npm run dev\nsecond line"),
        info("sleep", state="killed", signal="SIGTERM", ended=1_001.0),
        info("crash", state="exited", signal="SIGSEGV", ended=1_001.0),
        info("long", state="timed out", ended=1_090.0),
    )
    rows = shell_rows(shells, 1_072.0)
    assert [row.group for row in rows] == ["Running"] + ["Ended"] * 4
    assert rows[0].title == "npm run dev"
    assert [shell_status(shell, 1_072.0) for shell in shells] == [
        "exit 2 after 3s",
        "running 1m 12s",
        "killed after 1s",
        "SIGSEGV after 1s",
        "timed out after 1m 30s",
    ]


WAIT = "while [ ! -f go ]; do sleep 0.02; done"


async def test_the_list_follows_and_the_output_is_live(start: Starter, work: Path) -> None:
    async with start() as running:
        await running.type("/shells", "enter")
        await running.until_shown("No background commands yet")
        first = await run_in_background(running, work, f"echo [/first]; {WAIT}; echo second")
        await running.type("/shells", "enter")
        await running.until_shown("Background commands")
        await running.until_shown("echo [/first]")
        second = await run_in_background(running, work, "echo other; sleep 300")
        await running.until_shown("echo other")
        await running.type("other", "enter")
        await running.until_shown("running")
        await running.until(lambda: isinstance(running.app.screen, ShellScreen))
        await running.pilot.press("ctrl+d")
        await running.until_shown("killed after")
        await running.pilot.press("escape")
        await running.until_shown("Ended")
        await running.type("first", "enter")
        await running.until_shown("[/first]")
        (work / "go").touch()
        await running.until_shown("second")
        await running.until_shown("exit 0 after")
        await running.pilot.press("escape")
        await running.until_shown("Background commands")
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)
        states = {shell.id: shell.state for shell in running.runtime.shells.snapshot()}
        assert states == {first: "exited", second: "killed"}


async def test_a_command_is_ended_from_the_list(start: Starter, work: Path) -> None:
    async with start() as running:
        await run_in_background(running, work, "sleep 300")
        await running.type("/shells", "enter")
        await running.until_shown("running")
        await running.pilot.press("ctrl+d")
        await running.until_shown("killed after")


async def test_ctrl_b_moves_the_cursor_while_no_command_runs(start: Starter) -> None:
    """It moves the cursor, in a text and without one, and shows no notice."""
    async with start() as running:
        await running.pilot.press("ctrl+b")
        await running.type("ac")
        await running.pilot.press("ctrl+b", "b")
        assert running.prompt == "abc"
        assert "command" not in running.text().replace("/ commands", "").replace(
            "key and command", ""
        )


async def test_ctrl_b_moves_a_command_to_the_background_only_from_an_empty_prompt(
    start: Starter, work: Path
) -> None:
    """The activity line offers it while the key does it; in a text it moves the cursor and the
    command stays."""
    async with start() as running:
        line = running.app.controller.main.query_one(ActivityLine)
        await running.type("!until [ -e go ]; do sleep 0.1; done; echo over", "enter")
        await running.until(lambda: line.activity.background_key == "ctrl+b")
        await running.type("ac")
        await running.until(lambda: line.activity.background_key == "")
        await running.pilot.press("ctrl+b", "b")
        assert running.prompt == "abc"
        assert running.runtime.shells.snapshot() == ()
        await running.pilot.press("ctrl+e", "ctrl+u", "ctrl+b")
        await running.until_shown("1 command moved to the background")
        await running.until(lambda: not running.app.controller.live.busy)
        assert [shell.state for shell in running.runtime.shells.snapshot()] == ["running"]
        (work / "go").touch()


class Printed:
    """A source with fixed output."""

    def __init__(self, text: str) -> None:
        self._text = text

    def find(self, shell_id: str) -> ShellInfo | None:
        return None

    def tail(self, shell_id: str) -> str:
        return self._text

    def listen(self, shell_id: str, listener: object):
        return lambda: None


@pytest.mark.parametrize("size", [(140, 45), (80, 24), (40, 16), (20, 8)])
async def test_snapshot_of_the_output(start: Starter, size: tuple[int, int]) -> None:
    lines = "\n".join(f"[{n:02}] GET /items/{n} 200\x1b]0;x\x07" for n in range(40))
    async with start(size=size) as running:
        screen = ShellScreen(
            info("npm run dev -- --port 8080"), Printed(lines), clock=lambda: 1_072.0, kill=str
        )
        running.app.controller.main.prompt.cursor_blink = False
        running.app.push_screen(screen)
        await running.until(lambda: running.app.screen is screen)
        await running.pilot.pause()
        await asyncio.sleep(0)
        await assert_both_themes(running.pilot, "screen-shell")
