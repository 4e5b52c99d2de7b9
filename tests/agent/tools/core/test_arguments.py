"""Arguments of models: repaired, or refused with an instruction."""

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from agent.records.errors import InvalidArguments
from agent.records.json import JsonObject
from agent.tools.core.arguments import parse_arguments, validate
from agent.tools.core.tool_args import ToolArgs


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")
    content: str
    status: Literal["pending", "done"] = "pending"


class Args(ToolArgs):
    file_path: str = Field(min_length=1)
    limit: int | None = Field(default=None, ge=1)
    exact: bool = False
    items: list[Item] = Field(default_factory=list[Item])
    options: dict[str, str] = Field(default_factory=dict[str, str])


@pytest.mark.parametrize("raw", ["", " ", "\n", "null", " null ", '""', "{}"])
def test_no_arguments_are_an_empty_object(raw: str) -> None:
    assert parse_arguments(raw) == {}


@pytest.mark.parametrize(
    "raw", ['{"path": "a", "old": "x', '{"path":"a.txt","content":"he said "hi""}', "{", "nope"]
)
def test_broken_json_is_quoted(raw: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        parse_arguments(raw)
    text = str(caught.value)
    assert "not valid JSON" in text
    assert "Please rewrite the input" in text
    assert "at character" in text
    assert len(text) < 400


@pytest.mark.parametrize("raw", ["[1]", "3", "true", '"[1]"', "NaN", '{"a": Infinity}'])
def test_values_that_are_no_object_are_refused(raw: str) -> None:
    with pytest.raises(InvalidArguments):
        parse_arguments(raw)


def test_deep_nesting_is_an_error_and_no_crash() -> None:
    with pytest.raises(InvalidArguments):
        parse_arguments('{"a":' * 200_000)


def test_an_object_in_a_string_is_accepted() -> None:
    assert parse_arguments('"{\\"a\\": 1}"') == {"a": 1}


def test_lone_surrogates_never_get_in() -> None:
    values = parse_arguments('{"content": "a\\ud83d", "list": [{"\\udc00": "\\ud83d\\ude00"}]}')
    assert values == {"content": "a\ufffd", "list": [{"\ufffd": "😀"}]}


@pytest.mark.parametrize(
    ("values", "field", "wanted"),
    [
        ({"limit": "10"}, "limit", 10),
        ({"limit": 10.0}, "limit", 10),
        ({"limit": None}, "limit", None),
        ({"exact": None}, "exact", False),
        ({"exact": "true"}, "exact", True),
        ({"items": '[{"content": "x"}]'}, "items", [Item(content="x")]),
        ({"items": ['{"content": "x"}']}, "items", [Item(content="x")]),
        ({"items": [{"content": 3}]}, "items", [Item(content="3")]),
        ({"options": '{"a": "b"}'}, "options", {"a": "b"}),
        ({"unknown": None}, "limit", None),
        ({"file_path": 42}, "file_path", "42"),
    ],
)
def test_harmless_slips_are_corrected(values: JsonObject, field: str, wanted: object) -> None:
    args, repaired = validate(Args, {"file_path": "a", **values})
    assert getattr(args, field) == wanted
    assert set(repaired) <= set(Args.model_fields)


def test_another_spelling_of_a_name_is_corrected() -> None:
    args, repaired = validate(Args, {"filePath": "a"})
    assert args.file_path == "a"
    assert repaired == {"file_path": "a"}


def test_the_input_itself_is_not_changed() -> None:
    values: JsonObject = {"file_path": "a", "items": '[{"content": "x"}]', "limit": None}
    validate(Args, values)
    assert values == {"file_path": "a", "items": '[{"content": "x"}]', "limit": None}


def lesson(values: JsonObject) -> str:
    with pytest.raises(InvalidArguments) as caught:
        validate(Args, values)
    return str(caught.value)


def test_the_lesson_has_the_exact_text() -> None:
    assert lesson({"limit": "ten"}) == (
        "Please rewrite the input with valid arguments. Errors: file_path: field required; "
        'limit: expected integer, got "ten"'
    )


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"file_path": None}, "file_path: expected string, got null"),
        ({"file_path": ""}, "file_path: must not be empty"),
        ({"file_path": "a", "limit": 0}, "limit: must be at least 1, got 0"),
        ({"file_path": "a", "limit": 1.5}, "limit: expected integer, got 1.5"),
        ({"file_path": "a", "exact": "maybe"}, 'exact: expected true or false, got "maybe"'),
        ({"file_path": "a", "items": "x"}, 'items: expected list, got "x"'),
        (
            {"file_path": "a", "items": [{"content": "x", "status": "no"}]},
            "items.0.status: expected",
        ),
        ({"file_path": "a", "items": [{}]}, "items.0.content: field required"),
        (
            {"file_path": "a", "colour": 1},
            "colour: unknown field (known fields: file_path, limit",
        ),
    ],
)
def test_issues_are_short_and_plain(values: JsonObject, words: str) -> None:
    text = lesson(values)
    assert words in text
    assert "http" not in text
    assert "pydantic" not in text


def test_at_most_five_issues_each_cut() -> None:
    text = lesson({"file_path": "a", **{f"{'k' * 300}{n}": n for n in range(8)}})
    issues = text.split("Errors: ")[1].split("; ")
    assert len(issues) == 6
    assert all(len(issue) <= 240 for issue in issues)
    assert issues[-1] == "and 3 more"
