"""Forms of servers: fields, values of answers, faults."""

import pytest

from agent.mcp.forms import form_problems, form_values, hint_of, read_form
from agent.records.json import Json, JsonObject
from agent.records.requests import FormField

STATES = [{"const": "open", "title": "Open"}, {"const": "done", "title": "Closed\u202e"}]


def field(spec: JsonObject, *, required: bool = False) -> FormField:
    names: list[Json] = ["it"] if required else []
    (made,) = read_form({"properties": {"it": spec}, "required": names})
    return made


@pytest.mark.parametrize(
    ("spec", "labels", "default"),
    [
        ({"type": "boolean", "default": True}, ["Yes", "No"], ("Yes",)),
        ({"type": "boolean", "default": False}, ["Yes", "No"], ("No",)),
        ({"type": "string", "enum": ["a", "b"], "default": "b"}, ["a", "b"], ("b",)),
        ({"enum": ["a", "b"], "enumNames": ["A", "B"], "default": "a"}, ["A", "B"], ("A",)),
        ({"oneOf": STATES, "default": "done"}, ["Open", "Closed"], ("Closed",)),
        ({"anyOf": STATES}, ["Open", "Closed"], ()),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "default": ["b"]}, ["a", "b"], ("b",)),
        ({"type": "array", "items": {"anyOf": STATES}}, ["Open", "Closed"], ()),
        ({"enum": [1, "1", True, ""]}, ["1", "1 (1)", "True", "(empty)"], ()),
        ({"oneOf": [{"const": "x", "title": "Same"}, {"const": "y", "title": "Same"}]},
         ["Same", "Same (y)"], ()),
        ({"type": "string", "default": "Bob"}, [], ("Bob",)),
        ({"type": "integer", "default": 0}, [], ("0",)),
        ({"type": "number", "default": 1.5}, [], ("1.5",)),
    ],
)  # fmt: skip
def test_choices_and_defaults(
    spec: JsonObject, labels: list[str], default: tuple[str, ...]
) -> None:
    made = field(spec)
    assert (list(made.choices), made.default) == (labels, default)
    given = {} if "default" not in spec else {"it": spec["default"]}
    assert form_values([(made, made.default)]) == given
    assert form_problems([made], given) == {}


@pytest.mark.parametrize(
    ("spec", "given", "value", "problem"),
    [
        ({"type": "string"}, " Ann ", "Ann", ""),
        ({"type": "integer"}, "4", 4, ""),
        ({"type": "integer"}, "four", "four", "enter a whole number"),
        ({"type": "integer"}, "4.5", "4.5", "enter a whole number"),
        ({"type": "integer", "minimum": 3}, "2", 2, "at least 3"),
        ({"type": "integer", "maximum": 3}, "4", 4, "at most 3"),
        ({"type": "number"}, "-4.5", -4.5, ""),
        ({"type": "number"}, "nan", "nan", "enter a number"),
        ({"type": "number"}, "inf", "inf", "enter a number"),
        ({"type": "number", "exclusiveMinimum": 0}, "0", 0.0, "more than 0"),
        ({"type": "string", "minLength": 3}, "ab", "ab", "at least 3 characters"),
        ({"type": "string", "maxLength": 3}, "abcd", "abcd", "at most 3 characters"),
        ({"type": "string", "format": "email"}, "x@y.test", "x@y.test", ""),
        ({"type": "string", "format": "email"}, "x", "x", "enter it as name@example.com"),
        ({"type": "string", "format": "uri"}, "x", "x", "enter it as https://example.com"),
        ({"type": "string", "format": "date"}, "2026-02-28", "2026-02-28", ""),
        ({"type": "string", "format": "date"}, "2026-02-30", "2026-02-30",
         "enter it as 2026-01-31"),
        ({"type": "string", "format": "date-time"}, "2026-02-28T10:00:00Z",
         "2026-02-28T10:00:00Z", ""),
        ({"type": "string", "format": "date-time"}, "2026-02-28", "2026-02-28",
         "enter it as 2026-01-31T12:00:00Z"),
        ({"type": "boolean"}, "No", False, ""),
        ({"type": "boolean"}, "perhaps", "perhaps", "choose from Yes, No"),
        ({"oneOf": STATES}, "Closed", "done", ""),
        ({"oneOf": STATES}, "gone", "gone", "choose from Open, Closed"),
        ({"type": "string", "pattern": "(a|aa)+$"}, "a" * 60 + "!", "a" * 60 + "!", ""),
        ({"type": "string", "pattern": "^[A-Z]{3}-\\d+$"}, "ABC-12", "ABC-12", ""),
        ({"type": "string", "pattern": "^[A-Z]{3}-\\d+$"}, "abc", "abc",
         "enter text that matches ^[A-Z]{3}-\\d+$"),
        ({"type": "string", "pattern": "^\\p{L}+$"}, "Zoë", "Zoë", ""),
        ({"type": "string", "pattern": "^\\p{L}+$"}, "7", "7", "enter text that matches ^\\p{L}+$"),
        ({"type": "string", "pattern": "[a-"}, "x", "x", ""),
        ({"type": "nothing-known"}, "x", "x", ""),
    ],
)  # fmt: skip
def test_a_single_answer(spec: JsonObject, given: str, value: Json, problem: str) -> None:
    made = field(spec)
    values = form_values([(made, (given,))])
    assert values == {"it": value}
    assert type(values["it"]) is type(value)
    assert form_problems([made], values).get("it", "") == problem


@pytest.mark.parametrize(
    ("given", "values", "problem"),
    [
        (("Saw", "Glue"), {"it": ["saw", "glue"]}, ""),
        (("Hammer",), {"it": ["Hammer"]}, "choose from Saw, Glue, Nail"),
        (("Saw", "Glue", "Nail"), {"it": ["saw", "glue", "nail"]}, "at most 2 of them"),
        ((), {}, ""),
    ],
)
def test_several_choices(given: tuple[str, ...], values: JsonObject, problem: str) -> None:
    tools: list[Json] = [
        {"const": "saw", "title": "Saw"},
        {"const": "glue", "title": "Glue"},
        {"const": "nail", "title": "Nail"},
    ]
    made = field({"type": "array", "items": {"anyOf": tools}, "minItems": 1, "maxItems": 2})
    assert form_values([(made, given)]) == values
    assert form_problems([made], values).get("it", "") == problem


def test_each_of_several_texts_matches_the_pattern() -> None:
    made = field({"type": "array", "items": {"type": "string", "pattern": "^v"}})
    assert form_problems([made], {"it": ["v1", "v2"]}) == {}
    assert form_problems([made], {"it": ["v1", "2"]}) == {"it": "enter text that matches ^v"}


def test_a_required_field_cannot_be_left_out() -> None:
    text, several = (
        field(spec, required=True)
        for spec in ({"type": "string"}, {"type": "array", "items": {"enum": ["a"]}})
    )
    assert form_values([(text, (" ",))]) == {}
    assert form_problems([text], {}) == {"it": "required"}
    assert form_values([(several, ())]) == {"it": []}


def test_what_a_field_of_text_expects() -> None:
    assert hint_of(field({"type": "integer", "minimum": 3})) == "a whole number, at least 3"
    assert hint_of(field({"type": "string", "format": "date"})) == "2026-01-31"
    assert hint_of(field({"type": "string", "pattern": "^v\\d"})) == "that matches ^v\\d"
    assert hint_of(field({"type": "string"})) == ""


@pytest.mark.parametrize("schema", [{}, {"properties": []}, {"properties": {}, "required": 3}])
def test_a_form_can_be_empty(schema: JsonObject) -> None:
    assert read_form(schema) == ()


def test_a_field_without_a_schema_is_text() -> None:
    (made,) = read_form({"properties": {"it": True}, "required": None})
    assert form_values([(made, ("x",))]) == {"it": "x"}
