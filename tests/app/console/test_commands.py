"""The commands of ``--plain`` next to those of the full screen."""

import pytest

from app.actions import actions
from app.console.commands import find_plain

IN_THE_LOOP = {"help", "new", "clear", "sessions", "resume", "continue", "exit", "quit", "q"}
"""Commands that the conversation itself handles."""

NEEDS_A_SCREEN = {
    "browse": "rows are unfolded on the screen; here all is printed",
    "copy": "text is copied from the terminal",
    "details": "folds rows of the screen",
    "diffs": "arranges diffs on the screen",
    "editor": "the prompt is a line; a file can be mentioned instead",
    "history": "a screen of its own; /export writes the same to a file",
    "later": "a prompt is typed when the turn is over",
    "mouse": "there is no mouse",
    "next": "one session is open at a time",
    "queue": "a prompt is typed when the turn is over",
    "select": "text is copied from the terminal",
    "sidebar": "a part of the screen",
    "stop": "ctrl+c stops the turn",
    "suspend": "ctrl+z is left to the terminal",
    "theme": "there are no colors",
    "thinking": "folds rows of the screen",
    "unsend": "a prompt is typed when the turn is over",
    "vim": "the line editor is the terminal's",
}


def test_every_command_exists_without_a_screen_or_has_a_reason_not_to() -> None:
    slashes = {one.slash[0]: one.slash for one in actions() if one.slash}
    missing = {
        name
        for first, names in slashes.items()
        if first not in NEEDS_A_SCREEN
        for name in names
        if name not in IN_THE_LOOP and find_plain(f"/{name}") is None
    }
    assert missing == set()
    assert set(slashes) >= set(NEEDS_A_SCREEN)


@pytest.mark.parametrize("text", ["cost", "/nosuch", "/", ""])
def test_what_is_no_command_is_not_found(text: str) -> None:
    assert find_plain(text) is None
