"""Permission rules in files, those that a project can add, and those for a broken file."""

import pytest

from agent.config.permission_rules import (
    ConfigRule,
    ask_by_default,
    join_rules,
    may_overlap,
    parse_rules,
    parse_switches,
)


def rule(permission, pattern, action):
    return ConfigRule(permission, pattern, action, "a file")


def triples(rules):
    return [(r.permission, r.pattern, r.action) for r in rules]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("deny", [("*", "*", "deny")]),
        ({"edit": "allow"}, [("edit", "*", "allow")]),
        (
            {"bash": {"git *": "allow", "*": "ask"}, "webfetch": "deny"},
            [("bash", "git *", "allow"), ("bash", "*", "ask"), ("webfetch", "*", "deny")],
        ),
        ({}, []),
    ],
)
def test_order_and_both_forms_of_rules(setting, expected):
    parsed = parse_rules(setting, "a file")
    assert triples(parsed.rules) == expected
    assert not parsed.faults
    assert not parsed.unreadable


@pytest.mark.parametrize("wrong", ["alow", 1, None, True, ["allow"], "ALLOW"])
def test_an_invalid_action_asks(wrong):
    parsed = parse_rules({"bash": {"*": wrong}, "edit": wrong}, "a file")
    assert triples(parsed.rules) == [("bash", "*", "ask"), ("edit", "*", "ask")]
    assert [fault.path for fault in parsed.faults] == [("bash", "*"), ("edit",)]


@pytest.mark.parametrize("wrong", ["alow", 1, None, True, ["allow"]])
def test_an_invalid_setting_is_unreadable(wrong):
    assert parse_rules(wrong, "a file").unreadable


def test_older_tool_switches_become_rules():
    assert triples(parse_switches({"bash": False, "write": True, "x_*": False}, "f")) == [
        ("bash", "*", "deny"),
        ("edit", "*", "allow"),
        ("x_*", "*", "deny"),
    ]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("rm *", "*", True),
        ("rm *", "git *", False),
        ("rm *", "rm", True),
        ("a*c", "*b*", True),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("*.env", "src/*.py", False),
        ("*.env", "src/*", True),
        ("~/x", "/home/me/x", True),
        ("", "*", True),
        ("a", "", False),
        ("*a", "*b", False),
        ("a" * 5000, "b", True),
    ],
)
def test_patterns_that_can_overlap(one, other, expected):
    for first, second in ((one, other), (other, one)):
        assert may_overlap(rule("bash", first, "ask"), rule("*", second, "deny")) is expected
    assert not may_overlap(rule("bash", one, "ask"), rule("edit", other, "deny"))


def last_match(rules, permission, pattern):
    """Return the action of the last rule for exactly this text or everything."""
    return next(
        r.action
        for r in reversed(rules)
        if r.permission in {"*", permission} and r.pattern in {"*", pattern}
    )


def test_a_projects_ask_never_lifts_a_denial_of_the_user():
    own = (rule("bash", "*", "allow"), rule("bash", "rm x", "deny"), rule("bash", "ls", "allow"))
    joined = join_rules(own, (rule("bash", "*", "ask"),))
    assert last_match(joined, "bash", "rm x") == "deny"
    assert last_match(joined, "bash", "make") == "ask"


def test_a_projects_denial_always_counts_and_its_ask_tightens():
    own = (rule("bash", "rm x", "deny"), rule("edit", "*", "allow"), rule("bash", "*", "allow"))
    joined = join_rules(own, (rule("edit", "*", "ask"), rule("bash", "rm x", "deny")))
    assert last_match(joined, "edit", "a") == "ask"
    assert last_match(joined, "bash", "rm x") == "deny"
    assert last_match(joined, "bash", "ls") == "allow"


def test_many_hostile_rules_are_joined_safely():
    own = tuple(rule("bash", f"rm {n}", "deny") for n in range(200))
    joined = join_rules(own, tuple(rule("bash", f"x{n}*y*z", "ask") for n in range(20_000)))
    assert joined[-1] == own[-1]


def test_ask_by_default_keeps_denials():
    held = ask_by_default((rule("edit", "*", "allow"), rule("bash", "rm *", "deny")), "b.json")
    assert triples(held) == [("*", "*", "ask"), ("edit", "*", "ask"), ("bash", "rm *", "deny")]
    assert held[0].source == "b.json"
