"""The help: opened by a question mark, filtered, and closed."""

import pytest

from app.action_registry.registry import near_command
from app.actions import actions
from app.screens.help import HelpScreen, help_text
from tests.app.conftest import Starter


async def test_a_question_mark_on_an_empty_prompt_opens_the_help(start: Starter) -> None:
    async with start() as running:
        await running.pilot.press("question_mark")
        await running.until(lambda: isinstance(running.app.screen, HelpScreen))
        await running.until_shown("Prompt keys")
        await running.until_shown("esc close")
        await running.type("/compact")
        await running.until(lambda: "Prompt keys" not in running.text())
        await running.until_shown("/compact")
        await running.pilot.press("escape")
        await running.until(running.app.controller.on_main_screen)
        await running.type("why")
        await running.pilot.press("question_mark")
        assert running.prompt == "why?"


def test_the_filter_keeps_headings_and_drops_empty_groups() -> None:
    shown = help_text(actions(), lambda _: (), 90, "rename").plain.splitlines()
    assert shown[0] == "Session"
    assert any("/rename" in row for row in shown)
    assert not any("/compact" in row for row in shown)
    assert help_text(actions(), lambda _: (), 90, "xyzzy").plain == "No matching keys or commands."


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("modle", "Did you mean /model?"),
        ("sesions", "Did you mean /sessions?"),
        ("xyzzy", "Type / to see them all."),
    ],
)
def test_a_mistyped_command_is_answered_with_the_nearest(typed: str, sentence: str) -> None:
    assert near_command(typed) == sentence
