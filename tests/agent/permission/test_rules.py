"""Rules: wildcards, order, sources."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.permission.rules import (
    ALWAYS,
    DEFAULT_RULES,
    PROJECT,
    STRENGTH,
    Rule,
    deciding_rule,
    evaluate,
    is_project_rule,
    matches,
)
from agent.records.requests import Action, PermissionNeed


def slow(text: str, pattern: str) -> bool:
    """Match in the simplest possible way."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(slow(text[i:], pattern[1:]) for i in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and slow(text[1:], pattern[1:])


@given(st.text("ab/\n*?[", max_size=8), st.text("ab/\n*?[", max_size=6))
def test_the_matcher_agrees_with_the_plainest_one(text: str, pattern: str) -> None:
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
        ("a-b-c", "a*b*c", True),
        ("a-c", "a*b*c", False),
        ("a-c-b-c", "a*b*c", True),
        ("acb", "a*b*c", False),
        ("abc", "a*b*c*d", False),
        ("ab", "ab*b", False),
        ("abb", "ab*b", True),
        ("git push -f x", "git * -f *", True),
        ("git push x -f", "git * -f *", True),
        ("git push x", "git * -f *", False),
        ("ab", "a?", True),
        ("ab", "a?**", True),
        ("ab", "a?*X", False),
        ("abX", "a?*X", True),
        ("a", "a?", False),
        ("aXbc", "a?b?", True),
        ("axxb", "a*?b", True),
        ("ab", "a*?b", False),
        ("", "*", True),
        ("", "?", False),
        ("x", "", False),
    ],
)
def test_wildcards(text: str, pattern: str, expected: bool) -> None:
    assert matches(text, pattern) is expected


def test_the_matcher_takes_linear_time() -> None:
    assert not matches("a" * 20_000, "*a" * 50 + "b")


def rule(
    action: Action, pattern: str = "*", source: str = "user", permission: str = "bash"
) -> Rule:
    return Rule(permission, pattern, action, source)


def action_of(*rules: Rule, text: str = "git push", **how: bool) -> Action | None:
    found = deciding_rule("bash", text, rules, **how)
    return found.action if found else None


def test_the_last_rule_that_matches_wins() -> None:
    assert action_of(rule("deny"), rule("allow", "git *")) == "allow"
    assert action_of(rule("allow", "git *"), rule("deny")) == "deny"
    assert action_of(rule("allow", "ls *")) is None


def test_always_never_beats_a_deny() -> None:
    assert action_of(rule("deny", "git *"), rule("allow", "git push", ALWAYS)) == "deny"
    assert action_of(rule("ask", "git *"), rule("allow", "git push", ALWAYS)) == "allow"


def test_a_project_tightens_at_once_and_loosens_only_when_trusted() -> None:
    assert action_of(rule("allow"), rule("deny", "git *", PROJECT)) == "deny"
    loosen = (rule("ask"), rule("allow", "git *", PROJECT))
    assert action_of(*loosen) == "ask"
    assert action_of(*loosen, trusted=True) == "allow"


def test_a_project_never_lifts_a_deny_of_the_users_own() -> None:
    rules = (rule("deny", "git *"), rule("allow", "git push", PROJECT))
    assert action_of(*rules, trusted=True) == "deny"
    assert (
        action_of(rule("deny", "git *"), rule("ask", "git push", PROJECT), trusted=True) == "deny"
    )


def test_deny_wins_ignores_the_order() -> None:
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
def test_the_default_rules(permission: str, expected: str) -> None:
    assert (
        evaluate(PermissionNeed(permission, "x", default_action="allow"), DEFAULT_RULES).action
        == expected
    )


def test_a_command_is_allowed_by_default_only_when_proven_read_only() -> None:
    assert (
        evaluate(PermissionNeed("bash", "ls", default_action="allow"), DEFAULT_RULES).action
        == "allow"
    )
    assert (
        evaluate(PermissionNeed("bash", "make", default_action="ask"), DEFAULT_RULES).action
        == "ask"
    )


def test_a_secret_asks_though_reading_is_allowed() -> None:
    assert (
        evaluate(PermissionNeed("read", ".env", default_action="ask"), DEFAULT_RULES).action
        == "ask"
    )


def test_only_a_rule_that_allows_everything_allows_an_unknown_command() -> None:
    need = PermissionNeed("bash", "$X y", strict="unknown")
    narrow = (*DEFAULT_RULES, rule("allow", "$X *"))
    wide = (*DEFAULT_RULES, rule("allow"))
    spotted = (*wide, rule("deny", "rm *"))
    assert evaluate(need, narrow).action == "ask"
    assert evaluate(need, wide).action == "allow"
    assert evaluate(need, spotted).action == "ask"
    assert (
        evaluate(PermissionNeed("bash", "x", strict="unknown", aliases=("rm x",)), spotted).action
        == "deny"
    )


def test_a_verdict_names_its_rule() -> None:
    evaluated = evaluate(
        PermissionNeed("bash", "git push"), (*DEFAULT_RULES, rule("deny", "git push *", "~/c.json"))
    )
    assert "git push *" in evaluated.reason
    assert "~/c.json" in evaluated.reason


ACTIONS: st.SearchStrategy[Action] = st.sampled_from(("allow", "ask", "deny"))
PATTERNS = st.sampled_from(("*", "git *", "git push", "git push *", "ls *", "g?t push", "rm *"))
USER_RULES = st.lists(st.builds(rule, ACTIONS, PATTERNS), max_size=6)
FOREIGN = st.builds(
    rule, ACTIONS, PATTERNS, st.sampled_from((PROJECT, f"{PROJECT} a.json", ALWAYS))
)


@given(USER_RULES)
def test_among_the_users_rules_only_the_last_match_counts(rules: list[Rule]) -> None:
    matching = [each for each in rules if slow_covers("git push", each.pattern)]
    expected = matching[-1] if matching else None
    assert deciding_rule("bash", "git push", rules) == expected


@given(USER_RULES, st.lists(FOREIGN, max_size=5), st.booleans())
def test_no_project_rule_and_no_always_lifts_a_deny_of_the_users_own(
    own: list[Rule], foreign: list[Rule], trusted: bool
) -> None:
    ordered = sorted(foreign, key=lambda each: each.source == ALWAYS)
    before = action_of(*own)
    after = action_of(*own, *ordered, trusted=trusted)
    if before == "deny":
        assert after == "deny"


@given(USER_RULES, st.lists(FOREIGN.filter(lambda each: each.source != ALWAYS), max_size=5))
def test_an_untrusted_project_never_loosens(own: list[Rule], foreign: list[Rule]) -> None:
    base = (rule("ask"), *own)
    before, after = action_of(*base), action_of(*base, *foreign)
    assert before is not None
    assert after is not None
    assert STRENGTH[after] >= STRENGTH[before]


@given(USER_RULES, st.lists(FOREIGN, max_size=5))
def test_deny_wins_denies_whenever_any_deny_matches(own: list[Rule], more: list[Rule]) -> None:
    rules = (*own, *more)
    denied = any(r.action == "deny" and slow_covers("git push", r.pattern) for r in rules)
    assert (action_of(*rules, trusted=True, deny_wins=True) == "deny") is denied


def slow_covers(text: str, pattern: str) -> bool:
    return slow(text, pattern) or (pattern.endswith(" *") and slow(text, pattern[:-2]))


def test_always_never_beats_a_deny_of_the_project() -> None:
    rules = (rule("allow"), rule("deny", "git *", PROJECT), rule("allow", "git push", ALWAYS))
    assert action_of(*rules) == "deny"
    assert action_of(*rules, trusted=True) == "deny"


def test_a_project_can_undo_only_its_own_tightening() -> None:
    rules = (rule("ask"), rule("deny", "git *", PROJECT), rule("allow", "git push", PROJECT))
    assert action_of(*rules) == "deny"
    assert action_of(*rules, trusted=True) == "allow"
    softened = (rule("ask"), rule("deny", "git *", PROJECT), rule("ask", "git push", PROJECT))
    assert action_of(*softened) == "ask"


def test_a_word_that_only_starts_like_project_is_no_project_source() -> None:
    assert is_project_rule(rule("allow", source="project"))
    assert is_project_rule(rule("allow", source="project opencode.json"))
    assert not is_project_rule(rule("allow", source="projects"))


def test_a_permission_can_contain_wildcards() -> None:
    rules = (rule("allow", permission="db_*"), rule("deny", "drop*", permission="*"))
    assert [deciding_rule("db_query", text, rules) for text in ("select", "drop x")] == list(rules)
    assert deciding_rule("web", "select", rules) is None


@pytest.mark.parametrize("permission", ["bash", "edit", "read"])
@pytest.mark.parametrize("default_action", ["allow", "ask", "deny"])
def test_an_explicit_rule_overrides_the_default_action(
    permission: str, default_action: Action
) -> None:
    need = PermissionNeed(permission, "x", default_action=default_action)
    for action in ("allow", "ask", "deny"):
        rules = (*DEFAULT_RULES, rule(action, permission=permission))
        assert evaluate(need, rules).action == action


def test_without_any_rule_the_default_action_decides() -> None:
    assert evaluate(PermissionNeed("bash", "ls", default_action="allow"), ()).action == "allow"
    assert evaluate(PermissionNeed("bash", "make"), ()).action == "ask"
    assert (
        evaluate(PermissionNeed("bash", "ls", default_action="allow", strict="unknown"), ()).action
        == "ask"
    )


def test_a_need_that_asks_by_default_asks_under_a_default_rule_that_allows() -> None:
    assert (
        evaluate(PermissionNeed("task", "x", default_action="ask"), DEFAULT_RULES).action == "ask"
    )
    assert (
        evaluate(PermissionNeed("task", "x", default_action="allow"), DEFAULT_RULES).action
        == "allow"
    )


def test_guarded_needs_are_allowed_by_no_rule() -> None:
    need = PermissionNeed("edit", ".git/config", strict="guarded")
    for source in ("user", ALWAYS, PROJECT):
        rules = (*DEFAULT_RULES, rule("allow", source=source, permission="edit"))
        assert evaluate(need, rules, trusted=True).action == "ask"
    assert evaluate(need, (rule("deny", ".git/*", permission="edit"),)).action == "deny"


@pytest.mark.parametrize("source", [ALWAYS, PROJECT, f"{PROJECT} a.json"])
def test_neither_always_nor_a_project_allows_an_unknown_command(source: str) -> None:
    need = PermissionNeed("bash", "$X", strict="unknown")
    assert (
        evaluate(need, (*DEFAULT_RULES, rule("allow", source=source)), trusted=True).action == "ask"
    )


def test_allow_everything_after_the_last_restriction_covers_the_unknown() -> None:
    need = PermissionNeed("bash", "$X", strict="unknown")
    after = (rule("deny", "rm *"), rule("allow"))
    assert evaluate(need, after).action == "allow"
    assert evaluate(need, after, deny_wins=True).action == "ask"


@pytest.mark.parametrize("action", ["allow", "ask"])
def test_aliases_count_for_deny_only(action: Action) -> None:
    need = PermissionNeed("bash", "/bin/rm x", aliases=("rm x",))
    assert evaluate(need, (rule("ask"), rule("deny", "rm *"))).action == "deny"
    assert evaluate(need, (rule("ask"), rule("allow", "rm *"))).action == "ask"
    assert evaluate(need, (rule("deny"), rule(action, "rm *"))).action == "deny"
