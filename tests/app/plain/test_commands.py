"""The commands of ``--plain`` next to those of the full screen."""

import pytest

from app.actions import actions
from app.plain.commands import SCREEN_ONLY, find_plain
from app.plain.console import help_text

IN_THE_LOOP = {"help", "resume", "continue", "exit", "quit", "q"}
"""Commands that the conversation itself handles."""


def test_every_action_exists_without_a_screen_or_the_help_says_why_not() -> None:
    reasons = {action_id: each for each in SCREEN_ONLY for action_id in each.actions}
    known = {one.id: one for one in actions()}
    missing: set[str] = set()
    for action_id, one in known.items():
        here = {name for name in one.slash if name in IN_THE_LOOP or find_plain(f"/{name}")}
        if reason := reasons.get(action_id):
            assert not here
            assert f"{reason.names}: {reason.reason}." in help_text()
            assert not one.slash or f"/{one.slash[0]}" in reason.names
        elif not here or here != set(one.slash):
            missing.add(action_id)
    assert missing == set()
    assert set(reasons) <= set(known)


@pytest.mark.parametrize("text", ["cost", "/nosuch", "/", ""])
def test_what_is_no_command_is_not_found(text: str) -> None:
    assert find_plain(text) is None
