"""Regular expressions that are compiled when they are first used."""

import re

import pytest

from agent.records.patterns import lazy_pattern


def test_it_matches_as_a_compiled_one() -> None:
    pattern = lazy_pattern(r"(a+)b", re.IGNORECASE)
    for _ in range(2):  # the first use compiles it
        found = pattern.search("xAAb")
        assert found is not None
        assert found[1] == "AA"
        assert pattern.findall("ab aab") == ["a", "aa"]
        assert pattern.sub("-", "ab") == "-"
    assert (pattern.pattern, pattern.flags) == (r"(a+)b", re.IGNORECASE)


def test_a_wrong_one_fails_when_it_is_used() -> None:
    pattern = lazy_pattern("(")
    with pytest.raises(re.error):
        pattern.match("")
