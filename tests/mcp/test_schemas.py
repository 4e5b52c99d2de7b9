"""Schemas of servers' tools, and arguments checked against them (trial MCP-SCHEMA, T4)."""

import pytest

from agent.errors import InvalidArguments
from agent.mcp.checking import check
from agent.mcp.schemas import BadSchema, mended

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
            {
                "$schema": "x",
                "title": "T",
                "properties": {"title": {"title": "A"}},
                "required": ["a"],
            },
            {"type": "object", "properties": {"title": {}}, "required": []},
        ),
        (
            {"type": "object", "properties": {"type": {"type": "String"}}},
            {"type": "object", "properties": {"type": {"type": "string"}}},
        ),
    ],
)
def test_harmless_faults_are_mended(given: object, made: object) -> None:
    assert mended(given) == made


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"type": "string"}, "its type is string"),
        ("text", "no object"),
        ([], "no object"),
        ({"properties": {"n": {"type": "blob"}}}, "no type 'blob'"),
        ({"properties": {"n": {"type": 7}}}, "no word"),
        ({"description": "x" * 200_000}, "too large"),
    ],
)
def test_others_are_told(given: object, why: str) -> None:
    with pytest.raises(BadSchema, match=why):
        mended(given)


def test_endless_nesting_is_told() -> None:
    schema: dict[str, object] = {}
    for _ in range(40):
        schema = {"type": "object", "properties": {"a": schema}}
    with pytest.raises(BadSchema, match="nested"):
        mended(schema)


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
def test_arguments_that_do_not_fit_teach(given: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidArguments, match="Please rewrite the input") as told:
        check(given, SEARCH)  # type: ignore[arg-type]
    assert words in str(told.value)


def test_a_strangers_expression_is_not_run() -> None:
    """It would take for ever."""
    check({"query": "a" * 60 + "!"}, SEARCH)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "$ref": "http://127.0.0.1:9/schema.json"},
        {"type": "object", "properties": {"query": {"$ref": "#/nowhere"}}},
        {"type": "object", "properties": {"query": {"type": "blob"}}},
        {"type": "object", "required": 7},
    ],
)
def test_a_schema_at_fault_checks_nothing(schema: dict[str, object]) -> None:
    check({"query": "x"}, schema)  # type: ignore[arg-type]
