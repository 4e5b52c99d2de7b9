"""Long output: opened in full from the transcript, searched, and shown in the user's pager."""

import stat
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from app.screens.pager import PagerScreen, PagerText
from app.terminal.external_editor import EditorError, read_text
from app.widgets.transcript.transcript import Transcript
from tests.app.conftest import Running, Starter
from tests.support.hosting import Host
from tests.support.model_server import ModelServer
from tests.support.script import Call, Text, answer
from tests.support.snapshots import screen_text

LINES = 3_000


def lines(count: int) -> str:
    return "".join(f"line {n} of the output\n" for n in range(1, count + 1))


def pager(text: str) -> PagerScreen:
    return PagerScreen("Ran make test", text, open_pager=lambda _: None, copy=lambda _: None)


async def test_a_text_is_searched_forward_and_backward() -> None:
    screen = pager(lines(LINES))
    host = Host(screen)
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("slash", *"LINE 29", "enter")
        await pilot.pause()
        text = screen.query_one(PagerText)
        assert text.hit == 28
        assert "› line 29 of the output" in screen_text(host)
        await pilot.press("n")
        assert text.hit == 289
        await pilot.press("N", "N")
        assert text.hit == 2998
        await pilot.press("slash", *"nowhere", "enter")
        await pilot.pause()
        assert "“nowhere” is not in this text" in screen_text(host)
        await pilot.press("g")
        await pilot.pause()
        assert text.first_line == 0
        await pilot.press("G")
        await pilot.pause()
        assert "line 3000 of" in screen_text(host)


async def test_a_search_in_one_read_with_its_slash_is_complete() -> None:
    screen = pager("a/b\n" + lines(LINES))
    host = Host(screen)
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for character in "/a/b":
            key = "slash" if character == "/" else character
            host.post_message(events.Key(key, character))
        await pilot.pause()
        assert screen.query_one(Input).value == "a/b"
        await pilot.press("enter")
        await pilot.pause()
        assert screen.query_one(PagerText).hit == 0


async def test_long_and_wide_lines_take_several_rows_and_colors_stay() -> None:
    text = "\x1b[31mred\x1b[0m\n" + "表" * 100 + "\n" + "x" * 200 + "\nthe\tend \x07"
    host = Host(pager(text))
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        shown = screen_text(host)
        assert shown.count("表") == 100
        assert shown.count("x") >= 200
        assert "the end ␇" in shown


async def with_output(running: Running, scripted: ModelServer) -> None:
    scripted.script(
        answer(Call("bash", {"command": f"seq 1 {LINES}"})),
        answer(Text("fine now")),
    )
    await running.type("go", "enter")
    await running.until_shown("fine now")
    await running.until_idle()


async def test_enter_opens_all_of_a_long_output(start: Starter, scripted: ModelServer) -> None:
    async with start() as running:
        await with_output(running, scripted)
        await running.pilot.press("ctrl+o")
        await running.until_shown("in full")
        await running.pilot.press("enter")
        await running.until(lambda: isinstance(running.app.screen, PagerScreen))
        await running.until_shown(f"{LINES} lines")
        await running.pilot.press("G")
        await running.until_shown(f"  {LINES}")
        await running.pilot.press("q")
        await running.until(running.app.controller.on_main_screen)
        await running.type("xy")
        assert running.prompt == "xy"
        assert "in full" not in running.text()


async def test_a_click_on_the_hidden_lines_opens_them(
    start: Starter, scripted: ModelServer
) -> None:
    async with start() as running:
        await with_output(running, scripted)
        row = next(n for n, row in enumerate(running.text().splitlines()) if "earlier lines" in row)
        transcript = running.app.screen.query_one(Transcript)
        await running.pilot.click(transcript, offset=(8, row - transcript.region.y))
        await running.until(lambda: isinstance(running.app.screen, PagerScreen))


async def test_a_row_unfolds_by_key_and_escape_returns_to_the_prompt(
    start: Starter, scripted: ModelServer, work: Path
) -> None:
    scripted.script(answer(Call("read", {"file_path": "README.md"})), answer(Text("fine now")))
    async with start() as running:
        await running.type("go", "enter")
        await running.until_shown("fine now")
        await running.until_idle()
        await running.pilot.press("ctrl+o", "space")
        await running.until_shown("It sells things.")
        await running.pilot.press("escape")
        await running.until(lambda: running.app.controller.main.prompt.has_focus)
        await running.type("on")
        assert running.prompt == "on"


async def test_the_users_pager_gets_the_whole_text(start: Starter, tmp_path: Path) -> None:
    tool, got = tmp_path / "pager", tmp_path / "got"
    tool.write_text(f'#!/bin/sh\ncat "$2" > {got}\n')
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    async with start() as running:
        env = {"PATH": "/usr/bin:/bin", "PAGER": f"{tool} -R"}
        with pytest.raises(EditorError, match="Cannot open a pager"):  # there is no terminal here
            await read_text(running.app, "all of it", env)
        with pytest.raises(EditorError, match=r"no pager: set \$PAGER"):
            await read_text(running.app, "all of it", {"PATH": str(tmp_path / "none")})
