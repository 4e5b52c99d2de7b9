"""Keys that a config file sets twice."""

import itertools

import pytest

from agent.config.repeated_keys import notices, parse_strictly

ACTIONS = ("allow", "ask", "deny")


@pytest.mark.parametrize(("one", "other"), itertools.product(ACTIONS, ACTIONS))
@pytest.mark.parametrize(
    "text",
    [
        '{"permission": {"bash": {"git push *": "%s", "git push *": "%s"}}}',
        '{"permission": {"bash": {"git push *": "%s"}, "bash": {"git push *": "%s"}}}',
        """{"permission": {"bash": {"git push *": "%s"}},
        "permission": {"bash": {"git push *": "%s"}}}""",
    ],
)
def test_of_a_rule_that_is_set_twice_the_stricter_one_counts(
    text: str, one: str, other: str
) -> None:
    stricter = max(one, other, key=ACTIONS.index)
    found = parse_strictly(text % (one, other))
    assert found == {"permission": {"bash": {"git push *": stricter}}}


def test_the_rules_of_both_are_kept_with_denials_last() -> None:
    text = '{"permission": {"bash": {"git push *": "deny"}, "bash": {"git *": "allow"}}}'
    (bash,) = parse_strictly(text).values()
    assert bash == {"bash": {"git *": "allow", "git push *": "deny"}}
    assert isinstance(bash, dict)
    assert list(bash["bash"]) == ["git *", "git push *"]  # pyright: ignore[reportArgumentType]
    whole = parse_strictly('{"permission": {"edit": "deny", "edit": {"docs/*": "allow"}}}')
    assert whole == {"permission": {"edit": {"docs/*": "allow", "*": "deny"}}}


def test_rules_of_agents_and_switches_count_too() -> None:
    text = (
        '{"agent": {"a": {"permission": {"edit": "deny"}, "model": "x"}},\n'
        ' "agent": {"a": {"permission": {"edit": "allow"}, "model": "y"}}}'
    )
    assert parse_strictly(text) == {"agent": {"a": {"permission": {"edit": "deny"}, "model": "y"}}}
    assert parse_strictly('{"tools": {"write": false, "write": true}}') == {
        "tools": {"write": False}
    }


def test_of_other_settings_the_last_value_counts() -> None:
    text = '{"model": "a", "limits": {"steps": 1}, "model": "b", "model": "c", "limits": {}}'
    assert parse_strictly(text) == {"model": "c", "limits": {}}


def test_the_notice_names_the_file_and_the_line() -> None:
    text = (
        '{\n  "model": "a",\n  "permission": {"bash": {"x": "deny",\n "x": "allow"}},\n"model": 1}'
    )
    assert list(notices(text, "c.json")) == [
        "c.json:4: permission.bash.x is set again (first on line 3); the stricter value is used.",
        "c.json:5: model is set again (first on line 2); the last value is used.",
    ]
    assert list(notices('{"a": [{"b": 1}, {"b": 2}]}', "config.json")) == []
