"""Keys typed as a dialog opens by itself answer nothing, and end up in the prompt."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from textual import events
from textual.screen import Screen

from agent.records.requests import Question, QuestionOption
from app.screens.base.dialog import GracePeriod
from app.screens.base.small_dialogs import ErrorScreen
from app.screens.requests.permission import PermissionScreen
from app.screens.requests.question import QuestionScreen
from app.screens.requests.trust import TrustScreen
from tests.app.conftest import Running, Starter
from tests.app.screens.requests.examples import EXAMPLE, request

QUIET = 3600.0
"""So long that no test reaches it by waiting."""

MOMENT = time.monotonic() + 1800.0
"""When keys are pressed: every dialog of a test has been painted by then, but the keyboard was not
quiet."""

BEFORE, AFTER = 0.0, MOMENT + 2 * QUIET

ASKED = Question("que_1", "ses_1", "ses_1", "Storage", "Where?", (QuestionOption("SQLite"),))

DIALOGS: dict[str, Callable[[], TrustScreen | PermissionScreen | QuestionScreen | ErrorScreen]] = {
    "trust": lambda: TrustScreen(EXAMPLE, grace=QUIET),
    "permission": lambda: PermissionScreen(request(), grace=QUIET),
    "question": lambda: QuestionScreen(ASKED, grace=QUIET),
    "error": lambda: ErrorScreen("ValueError: a fault", "the log", grace=QUIET),
}
ANSWERS = {"trust": "n", "permission": "o", "question": "enter", "error": "enter"}


def test_a_dialog_takes_keys_once_the_keyboard_was_quiet() -> None:
    grace = GracePeriod(0.4)
    assert grace.ignores(99.0)  # before the dialog was on the screen
    grace.start(100.0)
    assert grace.ignores(99.9)  # pressed before, read after it opened
    assert [grace.ignores(100 + at) for at in (0.1, 0.3, 0.6)] == [True] * 3
    assert [grace.ignores(100 + at) for at in (1.1, 1.2)] == [False] * 2


def test_continued_typing_keeps_a_dialog_from_taking_keys() -> None:
    """However long the sentence is: the y of its last word must not trust a folder."""
    grace = GracePeriod(0.4)
    grace.start(0.0)
    assert all(grace.ignores(at / 10) for at in range(75))


def test_a_key_that_is_kept_down_is_never_accepted() -> None:
    grace = GracePeriod(0.4)
    grace.start(0.0)
    assert all(grace.ignores(at / 30) for at in range(150))


def test_without_a_grace_period_every_key_is_accepted() -> None:
    assert not GracePeriod(0.0).ignores(0.0)


async def open_over(running: Running, name: str) -> Screen[Any]:
    screen: Screen[Any] = DIALOGS[name]()
    running.app.push_screen(screen)
    await running.until(lambda: running.app.screen is screen and screen.is_mounted)
    return screen


def press(key: str, at: float = MOMENT) -> events.Key:
    """Return a press of *key* at a moment of the monotonic clock."""
    event = events.Key(key, key if len(key) == 1 else None)
    event.time = at
    return event


@pytest.mark.parametrize("name", DIALOGS)
async def test_text_being_typed_ends_up_in_the_prompt(start: Starter, name: str) -> None:
    async with start(grace=QUIET) as running:
        running.app.post_message(press("b"))
        screen = await open_over(running, name)
        for key in ("u", "y", "x", "backspace", "enter", "escape", "tab", "q"):
            running.app.post_message(press(key))
        pasted = events.Paste("r no")
        pasted.time = MOMENT
        running.app.post_message(pasted)
        await running.pilot.pause()
        assert running.app.screen is screen
        running.app.post_message(press(ANSWERS[name], AFTER))
        await running.until(lambda: running.app.screen is not screen)
        assert running.prompt == "buy\nqr no"


async def test_keys_before_the_dialog_was_visible_go_to_the_prompt(start: Starter) -> None:
    async with start(grace=QUIET) as running:
        screen = await open_over(running, "trust")
        running.app.post_message(press("y", BEFORE))
        await running.until(lambda: running.prompt == "y")
        assert running.app.screen is screen


async def test_a_hasty_answer_is_dropped(start: Starter) -> None:
    """A user who has sent a prompt and sees the dialog can press a key for it a moment too soon."""
    async with start(grace=QUIET) as running:
        for key in ("l", "i", "s", "t", "enter"):  # a request that the demo follows
            running.app.post_message(press(key))
        await running.pilot.pause()
        first = await open_over(running, "permission")
        running.app.post_message(press("o"))
        running.app.post_message(press("o", AFTER))
        await running.until(lambda: running.app.screen is not first)
        second = await open_over(running, "permission")
        running.app.post_message(press("o", BEFORE))
        await running.pilot.pause()
        assert running.app.screen is second
        assert running.prompt == ""


async def test_ctrl_c_works_at_once(start: Starter) -> None:
    async with start(grace=QUIET) as running:
        screen = await open_over(running, "trust")
        await running.pilot.press("ctrl+c")
        await running.until(lambda: running.app.screen is not screen)


async def test_a_visible_dialog_is_put_aside_even_while_the_user_types(start: Starter) -> None:
    async with start(grace=QUIET) as running:
        running.app.post_message(press("b"))
        screen = await open_over(running, "permission")
        running.app.post_message(press("u"))
        running.app.post_message(press("ctrl+l"))
        await running.until(lambda: running.app.screen is not screen)
        assert running.prompt == "bu"


async def test_a_dialog_that_was_not_visible_yet_is_not_put_aside(start: Starter) -> None:
    async with start(grace=QUIET) as running:
        screen = await open_over(running, "permission")
        running.app.post_message(press("ctrl+l", BEFORE))
        await running.pilot.pause()
        assert running.app.screen is screen
