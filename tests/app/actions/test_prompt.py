"""The prompt: searching the history, the stash, the user's own editor."""

import os
import sys
from pathlib import Path

import pytest

from app.screens.prompt_lists import prompt_row
from app.terminal.external_editor import EditorError, editor_command, file_arguments, run_editor
from app.text.file_links import FilePlace
from app.widgets.transcript.message_lines import user_text
from tests.app.conftest import Starter


async def test_ctrl_r_finds_a_prompt_by_any_of_its_words(start: Starter) -> None:
    async with start() as running:
        prompt = running.app.controller.main.prompt
        await running.until(lambda: running.app.controller.live.is_ready)
        prompt.set_history(["fix the parser\nand its tests", "read README.md", "list"])
        await running.type("draft")
        await running.pilot.press("ctrl+r")
        await running.until_shown("Earlier prompts")
        await running.type("tests", "enter")
        await running.until(lambda: running.prompt == "fix the parser\nand its tests")
        prompt.set_text("")
        await running.pilot.press("ctrl+s")
        await running.until(lambda: running.prompt == "draft")


@pytest.mark.parametrize("keys", [("ctrl+r", "enter"), ("up",)])
async def test_ctrl_u_clears_a_recalled_prompt_completely(
    start: Starter, keys: tuple[str, ...]
) -> None:
    """If lines of an older prompt stayed before what is typed next, a slash command after them
    would be sent to the model as text."""
    async with start() as running:
        prompt = running.app.controller.main.prompt
        prompt.set_history(["fix the parser\nand its tests"])
        await running.pilot.press(keys[0])
        if len(keys) > 1:
            await running.until_shown("Earlier prompts")
            await running.pilot.press(keys[1])
        await running.until(lambda: running.prompt == "fix the parser\nand its tests")
        await running.pilot.press("ctrl+u")
        assert running.prompt == ""
        await running.type("/later list", "enter")
        await running.until_idle()
        view = running.app.controller.live.view
        entry = view.entry(view.message_ids[0]) if view is not None else None
        assert entry is not None
        assert user_text(entry.parts) == "list"


async def test_ctrl_u_clears_one_line_of_a_recalled_prompt_that_was_changed(start: Starter) -> None:
    async with start() as running:
        running.app.controller.main.prompt.set_history(["one\ntwo"])
        await running.pilot.press("up", "down", "x", "ctrl+u")
        assert running.prompt == "one\n"


def test_a_prompt_of_several_lines_is_listed_by_its_first_line() -> None:
    row = prompt_row(3, "\n  one\ntwo\n\nthree\n")
    assert (row.key, row.title, row.note) == ("3", "one", "+2 lines")
    assert "three" in row.text


async def test_ctrl_s_stashes_prompts_and_restores_the_latest_first(start: Starter) -> None:
    async with start() as running:
        await running.type("one")
        await running.pilot.press("ctrl+s")
        assert running.prompt == ""
        await running.type("two")
        await running.pilot.press("ctrl+s", "ctrl+s")
        assert running.prompt == "two"
        await running.pilot.press("ctrl+u", "ctrl+s")
        assert running.prompt == "one"


def editor(folder: Path, body: str) -> list[str]:
    script = folder / "editor.py"
    script.write_text(f"import sys\npath = sys.argv[-1]\n{body}\n")
    return [sys.executable, str(script)]


async def test_the_editor_gets_the_text_and_gives_it_back(tmp_path: Path) -> None:
    body = "t = open(path).read()\nopen(path, 'w').write(t.upper() + ' é\\n')"
    assert await run_editor("hello", editor(tmp_path, body), os.environ) == "HELLO é"


async def test_a_failing_or_missing_editor_is_reported(tmp_path: Path) -> None:
    with pytest.raises(EditorError, match="ended with code 3"):
        await run_editor("hello", editor(tmp_path, "sys.exit(3)"), os.environ)
    with pytest.raises(EditorError, match="cannot be started: no such file"):
        await run_editor("hello", ["/nowhere/editor"], os.environ)


async def test_without_a_suspendable_screen_the_prompt_stays(start: Starter) -> None:
    async with start(env={"EDITOR": "true"}) as running:
        await running.type("hello")
        await running.pilot.press("ctrl+x", "e")
        await running.until_shown("Cannot open an editor")
        assert running.prompt == "hello"


def test_the_editor_is_chosen_from_the_environment(tmp_path: Path) -> None:
    assert editor_command({"VISUAL": "code --wait", "EDITOR": "vi"}) == ["code", "--wait"]
    assert editor_command({"EDITOR": "vi"}) == ["vi"]
    nano = tmp_path / "nano"
    nano.write_text("#!/bin/sh\n")
    nano.chmod(0o755)
    assert editor_command({"PATH": str(tmp_path)}) == [str(nano)]
    with pytest.raises(EditorError, match="set \\$EDITOR"):
        editor_command({"PATH": str(tmp_path / "empty")})
    with pytest.raises(EditorError, match="cannot be read"):
        editor_command({"EDITOR": "vi '"})


@pytest.mark.parametrize(
    ("editor", "arguments"),
    [
        ("/usr/bin/vim", ["+3", "/w/a.py"]),
        ("nano", ["+3", "/w/a.py"]),
        ("kak", ["+3", "/w/a.py"]),
        ("hx", ["/w/a.py:3"]),
        ("code", ["--goto", "/w/a.py:3"]),
        ("zed", ["/w/a.py:3"]),
        ("my-editor", ["/w/a.py"]),
    ],
)
def test_an_editor_gets_the_line_in_its_own_form(editor: str, arguments: list[str]) -> None:
    assert file_arguments(editor, FilePlace(Path("/w/a.py"), 3)) == arguments
    assert file_arguments(editor, FilePlace(Path("/w/a.py"))) == ["/w/a.py"]
