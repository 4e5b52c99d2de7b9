"""Setting one value in a settings file; the rest of the file stays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.jsonc import JsoncError, parse
from agent.config.jsonc_edit import set_value

PATH = ("permission", "bash", "git push *")

REMARKS = """{
  // mine
  "theme": "nord" // dark
}
"""
REMARKS_AFTER = """{
  // mine
  "theme": "nord", // dark
  "permission": {
    "bash": {
      "git push *": "allow"
    }
  }
}
"""
COMMAS = """{
    "permission": {
        "bash": {
            "ls *": "allow",
        },
    },
}"""
COMMAS_AFTER = """{
    "permission": {
        "bash": {
            "ls *": "allow",
            "git push *": "allow",
        },
    },
}"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '{\n  "permission": {\n    "bash": {\n      "git push *": "allow"\n    }\n  }\n}\n'),
        (REMARKS, REMARKS_AFTER),
        (COMMAS, COMMAS_AFTER),
        (
            '{"permission": {"bash": {"ls *": "allow"}}}',
            '{"permission": {"bash": {"ls *": "allow", "git push *": "allow"}}}',
        ),
        (
            '{"permission": {"bash": "ask", "edit": "ask"}}',
            '{"permission": {"bash": {\n  "*": "ask",\n  "git push *": "allow"\n}, "edit": "ask"}}',
        ),
        (
            '{"permission": {"bash": {"git push *": "ask", "x": "deny"}}}',
            '{"permission": {"bash": {"git push *": "allow", "x": "deny"}}}',
        ),
    ],
)
def test_the_entry_is_inserted_where_a_user_would_put_it(text: str, expected: str) -> None:
    changed = set_value(text, PATH, "allow")
    assert changed == expected
    assert set_value(changed, PATH, "allow") == changed


def test_line_ends_and_byte_order_marks_stay() -> None:
    text = '\ufeff{\r\n  "a": 1\r\n}\r\n'
    changed = set_value(text, PATH, "allow")
    assert changed.startswith("\ufeff{\r\n")
    assert "\n" not in changed.replace("\r\n", "")


def test_a_plain_permission_becomes_its_star_entry() -> None:
    changed = parse(set_value('{"permission": "ask"}', PATH, "allow"))
    assert changed == {"permission": {"*": "ask", "bash": {"git push *": "allow"}}}


@pytest.mark.parametrize("text", ['{"a": ', "[1]", '{"a": 1}}'])
def test_an_unreadable_file_is_not_changed(text: str) -> None:
    with pytest.raises(JsoncError):
        set_value(text, PATH, "allow")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["permission", "bash", "git push *", "a/*"]), inner)
    ),
    max_leaves=12,
)
TOPS = st.dictionaries(st.sampled_from(["permission", "bash", "x"]), VALUES)


@given(document=TOPS, indent=st.sampled_from([None, 0, 2, 4]), remark=st.booleans())
def test_any_document_keeps_its_meaning_and_gets_the_new_value(
    document: dict, indent: int | None, remark: bool
) -> None:
    text = json.dumps(document, indent=indent)
    if remark:
        text = text.replace("{", "{ /* a, } */") + " // the end"
    changed = parse(set_value(text, PATH, "allow"))
    at = changed
    for key in PATH[:-1]:
        at = at[key]
    assert at.pop(PATH[-1]) == "allow"
    for key, value in parse(text).items():
        assert key == "permission" or changed[key] == value
