"""Vim's keys in the prompt."""

import json
from pathlib import Path

import pytest

from app.widgets.input.vim import Vim
from tests.app.conftest import Starter

CASES = json.loads((Path(__file__).parents[3] / "data" / "vim_keys.json").read_text())
"""Text, line and column, keys; then text, line and column as Vim 9 left them."""


def offset(text: str, line: int, column: int) -> int:
    return sum(len(one) + 1 for one in text.split("\n")[: line - 1]) + column - 1


def pressed(text: str, at: int, keys: str) -> tuple[str, int, Vim]:
    vim = Vim(mode="normal")
    for key in keys:
        change = vim.press(key, key, text, at) if vim.mode == "normal" else None
        if change is not None:
            text = text[: change.start] + change.insert + text[change.end :]
            at = change.cursor
    return text, at, vim


@pytest.mark.parametrize(
    ("text", "line", "column", "keys", "left", "to_line", "to_column"),
    CASES,
    ids=[f"{case[3]}-{number}" for number, case in enumerate(CASES)],
)
def test_keys_work_as_in_vim(
    text: str, line: int, column: int, keys: str, left: str, to_line: int, to_column: int
) -> None:
    done, at, vim = pressed(text, offset(text, line, column), keys)
    if vim.mode == "insert":
        change = vim.press("escape", None, done, at)
        assert change is not None
        at = change.cursor
    assert done == left
    assert at == offset(left, to_line, to_column)


def test_esc_discards_an_incomplete_command() -> None:
    vim = Vim(mode="normal")
    vim.press("d", "d", "abc", 1)
    assert vim.waiting
    assert vim.press("escape", None, "abc", 1) is not None
    assert not vim.waiting
    assert vim.press("escape", None, "abc", 1) is None, "the screen's own Esc"


def test_keys_without_text_are_left_to_the_editor() -> None:
    for mode in ("insert", "normal"):
        for key in ("enter", "up", "left", "ctrl+p", "backspace", "tab"):
            assert Vim(mode=mode).press(key, None, "abc", 1) is None


async def test_the_settings_enable_it_and_the_status_line_shows_the_mode(
    start: Starter, folders: dict[str, str]
) -> None:
    folder = Path(folders["XDG_CONFIG_HOME"]) / "opencode-py"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"ui": {"vim": True}}))
    async with start() as running:
        await running.type("one two three")
        await running.pilot.press("escape")
        await running.until_shown("NORMAL")
        await running.type("0dw")
        assert running.prompt == "two three"
        await running.type("u")
        assert running.prompt == "one two three"
        await running.type("A four")
        await running.until(lambda: "NORMAL" not in running.text())
        assert running.prompt == "one two three four"


async def test_it_is_switched_by_a_command_and_enter_sends_in_both_modes(start: Starter) -> None:
    async with start() as running:
        await running.type("/vim", "enter")
        await running.until_shown("Vim keys are on")
        await running.type("list")
        await running.pilot.press("escape", "enter")
        await running.until_idle()
        await running.until_shown("List .")
        assert running.prompt == ""
