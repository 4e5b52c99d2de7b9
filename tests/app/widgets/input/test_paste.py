"""Pastes and dropped files in the prompt."""

import shlex
from pathlib import Path

import pytest
from textual import events

from app.terminal.clipboard import PNG, reader_commands, save_clipboard_image
from app.widgets.input.prompt import MAX_CHARACTERS, MAX_LINES, PastedTexts, mentions_of_dropped
from tests.app.conftest import Running, Starter
from tests.support.model_server import ModelServer
from tests.support.script import Text, answer

LONG = "".join(f"line {number}\n" for number in range(40))


def test_short_text_stays_and_long_text_folds() -> None:
    pasted = PastedTexts()
    short = "\n".join("x" * MAX_LINES)
    assert pasted.fold(short) == short
    assert pasted.fold(short + "\nx") == f"[Pasted 1: {MAX_LINES + 1} lines]"
    assert pasted.fold("y" * (MAX_CHARACTERS + 1)) == "[Pasted 2: 1,001 characters]"


def test_a_label_is_replaced_by_its_text_anywhere() -> None:
    pasted = PastedTexts()
    first, second = pasted.fold(LONG), pasted.fold(LONG + "more")
    assert first != second
    assert pasted.fold(LONG) == first
    assert pasted.unfold(f"a {second} b {first}") == f"a {LONG}more b {LONG}"
    assert pasted.label_before(f"a {first}") == first
    assert pasted.label_before(f"{first} a") == ""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in ("shot.png", "two words.png", "notes.txt", "doc.pdf", "it's.png"):
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def test_paths_of_images_become_mentions_in_every_spelling(files: Path) -> None:
    elsewhere = Path("/nowhere")
    shot, spaced, odd = files / "shot.png", files / "two words.png", files / "it's.png"
    for spelling in (str(shot), f"'{shot}'", f'"{shot}"', f"file://{shot}", f" {shot}\n"):
        assert mentions_of_dropped(spelling, elsewhere) == f"@{shot} ", spelling
    for spelling in (
        str(spaced),
        f"'{spaced}'",
        str(spaced).replace(" ", "\\ "),
        "file://" + str(spaced).replace(" ", "%20"),
    ):
        assert mentions_of_dropped(spelling, elsewhere) == f'@"{spaced}" ', spelling
    assert mentions_of_dropped(shlex.quote(str(odd)), elsewhere) == f"@{odd} "
    assert mentions_of_dropped(f"{shot} {files / 'doc.pdf'}", files) == "@shot.png @doc.pdf "


def test_other_files_become_mentions_only_in_the_forms_of_a_drop(files: Path) -> None:
    notes = files / "notes.txt"
    assert mentions_of_dropped(str(notes), files) is None
    assert mentions_of_dropped(f"'{notes}'", files) == "@notes.txt "
    for text in ("", "hello", f"see {notes}", "/nowhere/at/all.png", "'unclosed", "x" * 9000, "\0"):
        assert mentions_of_dropped(text, files) is None, text


async def pasting(running: Running, text: str) -> None:
    running.app.controller.main.prompt.post_message(events.Paste(text))
    await running.pilot.pause()


async def test_a_long_paste_is_a_label_and_is_sent_whole(
    start: Starter, scripted: ModelServer
) -> None:
    """The prompt stays small and the model gets every line."""
    scripted.script(answer(Text("read it")))
    async with start() as running:
        await running.type("sum up ")
        await pasting(running, LONG)
        assert running.prompt == "sum up [Pasted 1: 40 lines]"
        await running.pilot.press("enter")
        await running.until_idle()
        assert LONG in scripted.requests[0].body["messages"][-1]["content"]
        await running.pilot.press("up")
        assert running.prompt == "sum up [Pasted 1: 40 lines]"


async def test_backspace_deletes_a_whole_label(start: Starter) -> None:
    async with start() as running:
        await running.type("a ")
        await pasting(running, LONG)
        await running.pilot.press("backspace")
        assert running.prompt == "a "


async def test_a_dropped_image_is_named_from_the_folder(start: Starter, work: Path) -> None:
    (work / "a shot.png").write_bytes(PNG)
    async with start() as running:
        await pasting(running, f"'{work}/a shot.png'")
        assert running.prompt == '@"a shot.png" '


def test_the_desktop_decides_which_clipboard_tools_are_used() -> None:
    assert reader_commands({}, "linux") == []
    both = reader_commands({"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, "linux")
    assert [command[0] for command in both] == ["wl-paste", "xclip"]
    assert [command[0] for command in reader_commands({}, "darwin")] == ["pngpaste"]


def clipboard_tool(folder: Path, body: str) -> dict[str, str]:
    tool = folder / "wl-paste"
    tool.write_text(f"#!/bin/sh\n{body}\n")
    tool.chmod(0o755)
    return {"WAYLAND_DISPLAY": "w", "PATH": f"{folder}:/usr/bin:/bin"}


async def test_an_image_on_the_clipboard_is_kept_in_a_file(tmp_path: Path) -> None:
    env = clipboard_tool(tmp_path, r"printf '\211PNG\r\n\032\nrest'")
    found = await save_clipboard_image(env, tmp_path / "kept")
    assert found is not None
    assert found.read_bytes() == PNG + b"rest"
    assert found.parent == tmp_path / "kept"


@pytest.mark.parametrize("body", ["exit 1", "echo text", "printf ''"])
async def test_without_an_image_there_is_none(tmp_path: Path, body: str) -> None:
    assert await save_clipboard_image(clipboard_tool(tmp_path, body), tmp_path / "kept") is None
    assert not (tmp_path / "kept").exists()


async def test_ctrl_v_attaches_the_clipboards_image(start: Starter, tmp_path: Path) -> None:
    env = clipboard_tool(tmp_path, r"printf '\211PNG\r\n\032\nrest'")
    async with start(env=env) as running:
        await running.pilot.press("ctrl+v")
        await running.until(lambda: running.prompt.endswith(".png "))
        kept = Path(running.prompt.strip()[1:])
    assert kept.read_bytes() == PNG + b"rest"  # noqa: ASYNC240 - a small file of a test
