"""Quirks of tool schemas, by the subset that each provider accepts."""

from typing import Any

import pytest

from agent.provider.client import ToolSchema
from agent.provider.quirks.tool_schemas import reduce_schema
from agent.records.json import JsonObject
from tests.support.provider_requests import body


def parameters(name: str, schema: JsonObject) -> Any:
    tool = body(name, tools=(ToolSchema("t", "", schema),))["tools"][0]
    return tool.get("parameters") or tool["function"]["parameters"]


def test_flatten_top_level() -> None:
    path: JsonObject = {"path": {"type": "string"}}
    url: JsonObject = {"url": {"type": "string"}}
    either = parameters("openai/gpt-5.4", {
        "properties": {"all": {}},
        "required": ["all"],
        "oneOf": [
            {"properties": path, "required": ["path"]},
            {"properties": {**path, **url}, "required": ["url", "path"]},
        ],
    })  # fmt: skip
    assert either == {
        "type": "object",
        "properties": {"all": {}, **path, **url},
        "required": ["all", "path"],
    }
    both = parameters("openai/gpt-5.4", {"allOf": [
        {"properties": path, "required": ["path"]}, {"properties": url, "required": ["url"]},
    ]})  # fmt: skip
    assert both["required"] == ["path", "url"]
    inner: JsonObject = {"type": "object", "properties": path}
    named = parameters("openai/gpt-5.4", {"$ref": "#/$defs/In", "$defs": {"In": inner}})
    assert (named["type"], named["properties"]) == ("object", path)


def test_drop_schema_metadata() -> None:
    inner: JsonObject = {"$id": "x", "$comment": "y", "type": "string"}
    schema: JsonObject = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
    made = parameters("groq/m", {**schema, "properties": {"$id": inner, "b": {"items": inner}}})
    assert made["properties"] == {"$id": {"type": "string"}, "b": {"items": {"type": "string"}}}
    assert "$schema" not in made


def test_add_missing_array_items() -> None:
    made = parameters("openai/gpt-5.4", {"properties": {
        "a": {"type": "array"}, "b": {"type": ["array", "null"]},
        "c": {"type": "array", "items": {"type": "array"}}, "type": {"type": "string"},
    }})  # fmt: skip
    assert made["properties"] == {
        "a": {"type": "array", "items": {}},
        "b": {"type": ["array", "null"], "items": {}},
        "c": {"type": "array", "items": {"type": "array", "items": {}}},
        "type": {"type": "string"},
    }


@pytest.mark.parametrize("name", ["moonshot/kimi-k3", "openrouter/moonshotai/kimi-k3"])
def test_simplify_references_and_items(name: str) -> None:
    schema: JsonObject = {"properties": {
        "a": {"$ref": "#/$defs/A", "description": "d"},
        "b": {"type": "array", "items": [{"type": "string"}, {"type": "number"}]},
        "c": {"type": "array", "prefixItems": [{"type": "string"}]},
    }}  # fmt: skip
    assert parameters(name, schema)["properties"] == {
        "a": {"$ref": "#/$defs/A"},
        "b": {"type": "array", "items": {"type": "string"}},
        "c": {"type": "array", "items": {"type": "string"}},
    }
    assert parameters("acme/m", schema)["properties"]["a"]["description"] == "d"


def test_reduce_to_gemini_subset() -> None:
    schema: JsonObject = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"n": {"type": "integer", "enum": [1, 2], "exclusiveMinimum": 0}},
    }
    reduced = {"type": "integer", "description": "One of 1, 2."}
    for name in ("openrouter/google/gemini-3-pro", "github-models/gemini-x"):
        assert parameters(name, schema)["properties"] == {"n": reduced}
    (tool,) = body("google/gemma-3", tools=(ToolSchema("t", "", schema),))["tools"]
    assert tool["functionDeclarations"][0]["parameters"]["properties"] == {"n": reduced}
    assert parameters("acme/m", schema)["additionalProperties"] is False


def test_a_recursive_schema_is_cut_off() -> None:
    node: JsonObject = {"$ref": "#/$defs/A"}
    names = "abcdefgh"
    inner: JsonObject = {"type": "object", "properties": dict.fromkeys(names, node)}
    loop: JsonObject = {"allOf": [node], "properties": {"x": node}}
    schema: JsonObject = {"$defs": {"A": inner}, "properties": {"x": node}}
    looped: JsonObject = {"$defs": {"A": loop}, "properties": {"x": node}}
    for one in (schema, looped):
        assert len(str(reduce_schema(one))) < 1000
    found = reduce_schema(schema)["properties"]
    assert found == {
        "x": {"type": "object", "properties": {name: {"type": "object"} for name in names}}
    }
