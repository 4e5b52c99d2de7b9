"""The reason for asking about a command of which nothing exact is known: what it could do."""

import pytest

from agent.permission.programs.possible_effects import (
    ANYTHING,
    CHANGES_FILES,
    CHANGES_REPOSITORY,
    PERHAPS_MORE,
    READS_ELSEWHERE,
    RUNS_ANOTHER,
    RUNS_CODE,
    RUNS_PROJECT,
    UNKNOWN_PROGRAM,
)
from agent.permission.rules import DEFAULT_RULES, Rule, evaluate
from agent.permission.shell.analysis import analyze
from agent.records.requests import PermissionNeed


def reasons(line: str, *rules: Rule) -> dict[str, str]:
    """Return the reason for each part of *line* that asks."""
    found = analyze(line, directory="/srv/shop", project="/srv/shop", home="/home/ann")
    judged = [evaluate(need, (*DEFAULT_RULES, *rules)) for need in found.needs]
    return {one.need.pattern: one.reason for one in judged if one.action == "ask"}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("shopctl sync --all", UNKNOWN_PROGRAM),
        ("make release", RUNS_PROJECT),
        ("npm run build", RUNS_PROJECT),
        ("pytest -q", RUNS_PROJECT),
        ("go test ./...", RUNS_PROJECT),
        ("python scripts/clean.py", RUNS_CODE),
        ("cp a.txt b.txt", CHANGES_FILES),
        ("touch a.txt", CHANGES_FILES),
        ("git commit -m done", CHANGES_REPOSITORY),
        ("tsc", ANYTHING),
        ("ls --unheard-of", PERHAPS_MORE),
    ],
)
def test_a_command_says_what_it_could_do(line: str, reason: str) -> None:
    assert reasons(line) == {line: reason}


def test_a_command_that_runs_another_one_says_so() -> None:
    assert reasons("npx tsc") == {"npx tsc": RUNS_ANOTHER, "tsc": ANYTHING}


def test_a_command_that_only_reads_elsewhere_does_not_seem_to_write() -> None:
    found = reasons("cd /opt && ls")
    assert found["ls"] == READS_ELSEWHERE


def test_an_exact_reason_is_not_replaced() -> None:
    assert reasons("npm install left-pad") == {"npm install left-pad": "uses the network"}
    assert "delete" in reasons("rm -rf dist")["rm -rf dist"]


def test_a_rule_that_asks_is_named() -> None:
    rule = Rule("bash", "make *", "ask", "user")
    assert reasons("make release", rule) == {"make release": "asked by bash `make *` (user)"}


@pytest.mark.parametrize(
    ("need", "reason"),
    [
        (PermissionNeed("edit", "src/a.py"), "writes this file"),
        (PermissionNeed("webfetch", "docs.python.org"), "uses the network"),
        (PermissionNeed("unheard_of", "x"), "could have any effect"),
    ],
)
def test_other_calls_say_what_they_do(need: PermissionNeed, reason: str) -> None:
    assert evaluate(need, DEFAULT_RULES).reason == reason


def test_no_reason_is_longer_than_two_lines_of_a_dialog() -> None:
    for reason in (UNKNOWN_PROGRAM, RUNS_PROJECT, RUNS_CODE, READS_ELSEWHERE, CHANGES_REPOSITORY):
        assert len(reason) <= 64
