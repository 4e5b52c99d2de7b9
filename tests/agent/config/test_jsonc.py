"""JSON with comments: comments, trailing commas and exact positions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.jsonc import DEPTH_LIMIT, JsoncError, key_lines, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("  \n// only a remark\n", {}),
        ("\ufeff{}", {}),
        ('{"a": 1, // one\n "b": [1, 2,], /* two\n */ }', {"a": 1, "b": [1, 2]}),
        ('{\r\n  "a": "x", // y\r\n}\r\n', {"a": "x"}),
        (
            '{"url": "http://x//y", "c": "/* no */", "d": ",}"}',
            {"url": "http://x//y", "c": "/* no */", "d": ",}"},
        ),
        ('{"q": "a\\"// b"}', {"q": 'a"// b'}),
        ('{"a": 1} // the end', {"a": 1}),
    ],
)
def test_comments_and_trailing_commas_are_read(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        ("{", 1, 2, "expected a key"),
        ('// c\n/* d\n\n*/\n{\n  "a": 1,\n  "b" 2\n}', 7, 7, "expected : after the key"),
        ('{"a": 1\n "b": 2}', 2, 2, "expected a comma"),
        ('{"a": }', 1, 7, "expected a value"),
        ('{"a": "x\n}', 1, 9, "on the same line"),
        ("[1]", 1, 1, "an object in braces"),
        ('{"a": 1}\n{"b": 2}', 2, 1, "nothing more"),
        ('{"a":\n NaN}', 2, 1, "not NaN"),
        ('{"a": [1,,]}', 1, 10, "expected a value"),
        ('{"a": /* never closed', 1, 0, "expected a value"),
    ],
)
def test_an_error_has_the_position_and_the_expected_token(text, line, column, expected):
    with pytest.raises(JsoncError) as caught:
        parse(text)
    assert expected in caught.value.expected
    assert caught.value.line == line
    assert column in (0, caught.value.column)


def test_a_repeated_key_counts_at_its_last_position():
    assert list(parse('{"b": 1, "a": 2, "b": 3}').items()) == [("a", 2), ("b", 3)]


def test_deep_nesting_is_an_error_and_no_crash():
    deep = '{"a":' + "[" * 100_000
    with pytest.raises(JsoncError, match=f"at most {DEPTH_LIMIT}"):
        parse(deep)


@pytest.mark.parametrize("unit", ["/* ", '"\\', ",", "//", '"', "\\", "/"])
def test_hostile_text_needs_linear_time(unit):
    # Quadratic parsing of this text would exceed the suite's time limit.
    with pytest.raises(JsoncError):
        parse("{" + unit * 300_000)


def test_the_lines_of_keys():
    text = '\ufeff{ // c\n "a": {"x": 1,\n  "y": [\n {"z": "}"},\n {"z": 2}]},\n "b": ":"\n}'
    assert key_lines(text) == {
        ("a",): 2,
        ("a", "x"): 2,
        ("a", "y"): 3,
        ("a", "y", 0, "z"): 4,
        ("a", "y", 1, "z"): 5,
        ("b",): 6,
    }


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), values, max_size=5))
def test_plain_json_is_read_as_the_standard_library_reads_it(value):
    text = json.dumps(value, indent=1, ensure_ascii=False)
    assert parse(text) == value
    assert {path[0] for path in key_lines(text)} == set(value)
