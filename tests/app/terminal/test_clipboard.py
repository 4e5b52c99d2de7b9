"""Text is marked and copied by key, through the terminal and the available tools, and the notice
says what really happened."""

import base64
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from app.screens.copy_mode import CopyModeScreen, CopyTranscript
from app.terminal.clipboard import MAX_OSC52_BYTES, clipboard_commands, osc52
from tests.app.conftest import Running, Starter
from tests.app.screens.sample_session import opened, show_session
from tests.support import records
from tests.support.snapshots import SIZES, assert_both_themes

CJK = "漢字かな👩‍👩‍👧é" * 12


def decoded(sequence: str) -> list[str]:
    return [
        base64.b64decode(data).decode()
        for data in re.findall(r"\]52;c;([A-Za-z0-9+/=]*)", sequence)
    ]


def test_the_osc_52_sequence_decodes_to_the_text() -> None:
    assert osc52(CJK, tmux=False).startswith("\x1b]52;c;")
    assert decoded(osc52(CJK, tmux=False)) == [CJK]


def test_inside_tmux_the_sequence_is_sent_to_tmux_and_through_it() -> None:
    sequence = osc52(CJK, tmux=True)
    assert "\x1bPtmux;\x1b\x1b]52;c;" in sequence
    assert sequence.endswith("\x1b\\")
    assert decoded(sequence) == [CJK, CJK]


@pytest.mark.parametrize(
    ("env", "platform", "first"),
    [
        ({}, "linux", []),
        ({}, "darwin", ["pbcopy"]),
        ({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "linux", ["wl-copy"]),
        ({"DISPLAY": ":0"}, "linux", ["xclip", "-selection", "clipboard", "-in"]),
        ({"WSL_DISTRO_NAME": "Ubuntu"}, "linux", ["clip.exe"]),
        ({"TMUX": "/tmp/tmux-0/default,1,0"}, "linux", ["tmux", "load-buffer", "-w", "-"]),
    ],
)
def test_the_clipboard_tools_depend_on_the_environment(
    env: Mapping[str, str], platform: str, first: list[str]
) -> None:
    assert next(iter(clipboard_commands(env, platform)), []) == first


async def reading(running: Running) -> CopyTranscript:
    await show_session(running)
    await running.pilot.press("ctrl+x", "v")
    await running.until(lambda: isinstance(running.app.screen, CopyModeScreen))
    await running.until_shown("the new test covers")
    return running.app.screen.query_one(CopyTranscript)


@pytest.mark.parametrize("size", SIZES)
async def test_picture_of_copy_mode(start: Starter, tmp_path: Path, size: tuple[int, int]) -> None:
    async with opened(start, tmp_path, size) as running:
        await reading(running)
        await running.pilot.press("left_curly_bracket", "v", "down", "down")
        await running.pilot.pause()
        await assert_both_themes(running.pilot, "screen-copy")


def tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


async def test_a_block_and_rows_are_copied_by_the_desktops_tool(
    start: Starter, tmp_path: Path
) -> None:
    tool(tmp_path, "wl-copy", f'cat > "{tmp_path}/taken"')
    env = {"WAYLAND_DISPLAY": "x", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    async with start(env=env) as running:
        await reading(running)
        await running.pilot.press("y")
        await running.until_shown("Copied")
        taken = tmp_path / "taken"
        await running.until(lambda: taken.exists() and "0 bytes" in taken.read_text())
        assert taken.read_text() == (
            "An empty file has no header row, so next(rows) raised StopIteration.\n\n"
            "• read_rows now yields nothing for it\n• the new test covers a file of 0 bytes"
        )
        taken.unlink()
        await running.pilot.press("ctrl+x", "v")
        await running.until(lambda: isinstance(running.app.screen, CopyModeScreen))
        await running.pilot.press("g", "j", "j", "v", "y")
        await running.until(taken.exists)
        await running.until(lambda: taken.read_text().startswith("Why does the import"))


async def test_esc_first_marks_nothing_then_leaves(start: Starter) -> None:
    async with start() as running:
        transcript = await reading(running)
        await running.pilot.press("v", "up")
        assert transcript.marking
        await running.pilot.press("escape")
        assert not transcript.marking
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)


async def test_copy_mode_opens_at_the_scroll_position_and_covers_the_whole_session(
    start: Starter,
) -> None:
    async with start(size=(60, 12)) as running:
        await show_session(running)
        await running.pilot.press("ctrl+home")
        await running.until_shown("Why does the import")
        await running.pilot.press("ctrl+x", "v")
        await running.until(lambda: isinstance(running.app.screen, CopyModeScreen))
        await running.until_shown("Why does the import")
        transcript = running.app.screen.query_one(CopyTranscript)
        rows = [transcript.row]
        for _ in range(40):
            await running.pilot.press("down")
            rows.append(transcript.row)
        assert rows == sorted(rows)
        assert "0 bytes" in running.text()
        await running.pilot.press("g")
        assert transcript.row == 0


async def test_copy_mode_without_messages_is_refused_in_a_sentence(start: Starter) -> None:
    async with start() as running:
        await running.type("/select", "enter")
        await running.until_shown("Nothing to copy yet.")


async def answer_of(running: Running, text: str) -> None:
    session = replace(records.session(), directory=str(running.runtime.directory))
    message = records.assistant("msg_b", records.text_part("prt_b", "msg_b", text))
    question = records.user("msg_a", "say it")
    for item in (question, message):
        await running.runtime.store.save(session, item.message, *item.parts)
    await running.app.controller.live.open(session.id)
    await running.until(lambda: running.app.controller.main.transcript.display)


@pytest.mark.parametrize(
    ("size", "notice"),
    [
        (10, "Sent 10 characters to the terminal"),
        (MAX_OSC52_BYTES, "Sent 74994 characters"),
        (200_000, "Not copied"),
    ],
)
async def test_the_notice_reports_the_result_of_the_copy(
    start: Starter, size: int, notice: str
) -> None:
    async with start(env={"PATH": "/nowhere"}) as running:
        await answer_of(running, "x" * size)
        await running.type("/copy", "enter")
        await running.until_shown(notice)


async def test_a_tool_that_fails_or_is_missing_copies_nothing(
    start: Starter, tmp_path: Path
) -> None:
    tool(tmp_path, "wl-copy", "exit 1")
    env = {"WAYLAND_DISPLAY": "x", "DISPLAY": ":9", "PATH": f"{tmp_path}:/bin"}
    async with start(env=env) as running:
        await answer_of(running, "two\nlines")
        await running.type("/copy", "enter")
        await running.until_shown("Sent 2 lines to the terminal")
