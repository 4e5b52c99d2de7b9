"""Rules: wildcards, order, sources (spec 4, M1–M4a)."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.permission.rules import ALWAYS, DEFAULT_RULES, PROJECT, Rule, decide, judge, matches
from agent.questions import Action, Need


def slow(text: str, pattern: str) -> bool:
    """The plainest possible matcher."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(slow(text[i:], pattern[1:]) for i in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and slow(text[1:], pattern[1:])


@given(st.text("ab/\n*?[", max_size=8), st.text("ab/\n*?[", max_size=6))
def test_m2_the_matcher_agrees_with_the_plainest_one(text: str, pattern: str) -> None:
    expected = slow(text, pattern) or (pattern.endswith(" *") and slow(text, pattern[:-2]))
    assert matches(text, pattern) is expected


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("git status", "git status *", True),
        ("git status -s", "git status *", True),
        ("git statusx", "git status *", False),
        ("a\nb/c", "a*c", True),
        ("a.b", "a?b", True),
        ("axb", "a.b", False),
        ("(a)", "(a)", True),
        ("xgit", "git*", False),
        (f"{Path.home()}/x", "~/*", True),
        (f"{Path.home()}/x", "$HOME/*", True),
        ("~x", "~x", True),
    ],
)
def test_m2_wildcards(text: str, pattern: str, expected: bool) -> None:
    assert matches(text, pattern) is expected


def test_m2_the_matcher_takes_linear_time() -> None:
    assert not matches("a" * 20_000, "*a" * 50 + "b")


def rule(
    action: Action, pattern: str = "*", source: str = "user", permission: str = "bash"
) -> Rule:
    return Rule(permission, pattern, action, source)


def action_of(*rules: Rule, text: str = "git push", **how: bool) -> str | None:
    found = decide("bash", text, rules, **how)
    return found.action if found else None


def test_m1_the_last_rule_that_matches_wins() -> None:
    assert action_of(rule("deny"), rule("allow", "git *")) == "allow"
    assert action_of(rule("allow", "git *"), rule("deny")) == "deny"
    assert action_of(rule("allow", "ls *")) is None


def test_m1_always_never_beats_a_deny() -> None:
    assert action_of(rule("deny", "git *"), rule("allow", "git push", ALWAYS)) == "deny"
    assert action_of(rule("ask", "git *"), rule("allow", "git push", ALWAYS)) == "allow"


def test_m1_a_project_tightens_at_once_and_loosens_only_when_trusted() -> None:
    assert action_of(rule("allow"), rule("deny", "git *", PROJECT)) == "deny"
    loosen = (rule("ask"), rule("allow", "git *", PROJECT))
    assert action_of(*loosen) == "ask"
    assert action_of(*loosen, trusted=True) == "allow"


def test_m1_a_project_never_lifts_a_deny_of_the_users_own() -> None:
    rules = (rule("deny", "git *"), rule("allow", "git push", PROJECT))
    assert action_of(*rules, trusted=True) == "deny"
    assert (
        action_of(rule("deny", "git *"), rule("ask", "git push", PROJECT), trusted=True) == "deny"
    )


def test_m3_deny_wins_looks_at_no_order() -> None:
    rules = (rule("deny", "git *"), rule("allow"))
    assert action_of(*rules) == "allow"
    assert action_of(*rules, deny_wins=True) == "deny"


@pytest.mark.parametrize(
    ("permission", "expected"),
    [
        *((name, "allow") for name in ("read", "list", "glob", "grep", "todowrite", "skill")),
        *((name, "ask") for name in ("edit", "webfetch", "external_directory", "doom_loop")),
        ("some_plugin_tool", "ask"),
    ],
)
def test_m4a_defaults(permission: str, expected: str) -> None:
    assert judge(Need(permission, "x", floor="allow"), DEFAULT_RULES).action == expected


def test_m4a_a_command_is_allowed_by_default_only_when_proven_read_only() -> None:
    assert judge(Need("bash", "ls", floor="allow"), DEFAULT_RULES).action == "allow"
    assert judge(Need("bash", "make", floor="ask"), DEFAULT_RULES).action == "ask"


def test_m4a_a_secret_asks_though_reading_is_allowed() -> None:
    assert judge(Need("read", ".env", floor="ask"), DEFAULT_RULES).action == "ask"


def test_b3_what_cannot_be_known_is_allowed_by_nothing_narrower_than_everything() -> None:
    need = Need("bash", "$X y", strict="unknown")
    narrow = (*DEFAULT_RULES, rule("allow", "$X *"))
    wide = (*DEFAULT_RULES, rule("allow"))
    spotted = (*wide, rule("deny", "rm *"))
    assert judge(need, narrow).action == "ask"
    assert judge(need, wide).action == "allow"
    assert judge(need, spotted).action == "ask"
    assert judge(Need("bash", "x", strict="unknown", aliases=("rm x",)), spotted).action == "deny"


def test_a_verdict_names_its_rule() -> None:
    judged = judge(
        Need("bash", "git push"), (*DEFAULT_RULES, rule("deny", "git push *", "~/c.json"))
    )
    assert "git push *" in judged.reason
    assert "~/c.json" in judged.reason
