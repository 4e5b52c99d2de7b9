"""Schemas of servers' tools, and arguments checked against them."""

import pytest

from agent.mcp.schemas import BadSchema, check_arguments, coerced, for_models, repaired
from agent.mcp.transports import repaired_result
from agent.records.errors import InvalidArguments

EMPTY = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (None, EMPTY),
        ({}, EMPTY),
        ({"type": "object"}, EMPTY),
        ({"type": ["object", "null"], "properties": {}}, EMPTY),
        (
            {"properties": {"n": {"type": "int"}}},
            {"type": "object", "properties": {"n": {"type": "integer"}}},
        ),
        (
            {"type": "object", "properties": {"n": {"type": "string", "required": True}}},
            {"type": "object", "properties": {"n": {"type": "string"}}},
        ),
        (
            {"$schema": "x", "properties": {"title": {"title": "A"}}, "required": ["a"]},
            {
                "$schema": "x",
                "type": "object",
                "properties": {"title": {"title": "A"}},
                "required": [],
            },
        ),
        (
            {"type": "object", "properties": {"type": {"type": "String"}}},
            {"type": "object", "properties": {"type": {"type": "string"}}},
        ),
    ],
)
def test_harmless_faults_of_a_schema_are_repaired(given: object, made: object) -> None:
    assert repaired(given) == made


def test_models_are_given_the_useful_keywords() -> None:
    """The definition itself stays as the server sent it (SEP-1613)."""
    named = {"type": "string", "title": "A", "examples": ["x"], "format": "date"}
    schema = repaired(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "T",
            "$defs": {"day": {"$anchor": "day", **named}},
            "properties": {"title": {"$ref": "#/$defs/day"}, "days": {"items": named}},
            "anyOf": [{"title": "B", "required": ["title"]}],
        }
    )
    assert schema["$schema"]
    assert schema["$defs"] == {"day": {"$anchor": "day", **named}}
    plain = {"type": "string", "format": "date"}
    assert for_models(schema) == {
        "type": "object",
        "$defs": {"day": plain},
        "properties": {"title": {"$ref": "#/$defs/day"}, "days": {"items": plain}},
        "anyOf": [{"required": ["title"]}],
    }


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"type": "string"}, "its type is string"),
        ("text", "not an object"),
        ([], "not an object"),
        ({"properties": {"n": {"type": "blob"}}}, "no type 'blob'"),
        ({"properties": {"n": {"type": 7}}}, "not a string"),
        ({"description": "x" * 200_000}, "too large"),
    ],
)
def test_an_unusable_schema_has_a_reason(given: object, why: str) -> None:
    with pytest.raises(BadSchema, match=why):
        repaired(given)


def test_endless_nesting_is_an_error() -> None:
    schema: dict[str, object] = {}
    for _ in range(40):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(BadSchema, match="nested"):
        repaired(schema)


SEARCH = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "pattern": "^(a+)+$"},
        "limit": {"type": "integer", "maximum": 5},
        "pattern": {"type": "string"},
    },
    "required": ["query"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "'query' is a required property"),
        ({"query": 7}, "query: 7 is not of type 'string'"),
        ({"query": "x", "limit": 9}, "limit: 9 is greater"),
        ({"query": "x", "colour": "red"}, "'colour' was unexpected"),
        ({"query": "x", "pattern": 1}, "pattern: 1 is not of type"),
    ],
)
def test_arguments_that_do_not_fit_give_a_helpful_error(
    given: dict[str, object], words: str
) -> None:
    with pytest.raises(InvalidArguments, match="Please rewrite the input") as raised:
        check_arguments(given, SEARCH)  # type: ignore[arg-type]
    assert words in str(raised.value)


FORM = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "x": {"type": "number"},
        "on": {"type": "boolean"},
        "words": {"type": "array"},
        "more": {"type": "object"},
        "text": {"type": "string"},
        "any": {},
        "nothing": {"type": "null"},
        "either": {"type": ["integer", "null"]},
    },
    "required": ["n"],
}


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"n": "7", "x": "0.5", "on": "true"}, {"n": 7, "x": 0.5, "on": True}),
        ({"words": '["a"]', "more": '{"a": 1}'}, {"words": ["a"], "more": {"a": 1}}),
        ({"text": 7, "any": "7"}, {"text": "7", "any": "7"}),
        ({"x": None, "text": None, "more": None}, {}),
        ({"n": None, "nothing": None, "either": None, "other": None},) * 2,
        ({"n": "true", "on": "1", "words": "{}", "text": True},) * 2,
        ({"n": "seven", "more": "{"},) * 2,
    ],
)
def test_common_mistakes_of_models_are_corrected(given: dict[str, object], made: object) -> None:
    """As built-in tools do."""
    assert coerced(given, FORM) == made  # type: ignore[arg-type]


def test_regular_expressions_of_servers_are_not_evaluated() -> None:
    """They could take forever."""
    check_arguments({"query": "a" * 60 + "!"}, SEARCH)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "$ref": "http://127.0.0.1:9/schema.json"},
        {"type": "object", "properties": {"query": {"$ref": "#/nowhere"}}},
        {"type": "object", "properties": {"query": {"type": "blob"}}},
        {"type": "object", "required": 7},
    ],
)
def test_a_faulty_schema_checks_nothing(schema: dict[str, object]) -> None:
    check_arguments({"query": "x"}, schema)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("result", "made"),
    [
        ({"isError": True}, {"resultType": "complete", "content": [], "isError": True}),
        ({"content": []}, {"resultType": "complete", "content": []}),
        (
            {"content": [], "resultType": "input_required"},
            {"resultType": "input_required", "content": []},
        ),
        ({"tools": [], "nextCursor": ""}, {"tools": []}),
        ("text", "text"),
    ],
)
def test_results_are_repaired(result: object, made: object) -> None:
    assert repaired_result(result, []) == made
