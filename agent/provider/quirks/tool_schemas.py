"""Quirks of tools' schemas: each provider takes a part of JSON schema, and not the same one."""

from collections.abc import Callable
from dataclasses import replace

from agent.provider.client import ModelRequest, ToolSchema
from agent.provider.quirks.gemini_schema import reduced, resolved
from agent.provider.quirks.structural_sharing import Remembered
from agent.provider.quirks.target import Target
from agent.provider.transport.wire_json import object_in, objects_in
from agent.records.json import Json, JsonObject

CHOICES = ("anyOf", "oneOf", "allOf")
ABOUT_ITSELF = ("$schema", "$id", "$comment", "$anchor")
INNER = ("properties", "$defs", "definitions", "patternProperties")
DEEPEST = 32


def object_at_the_top(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI: "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf' at the top
    level", Anthropic likewise. The properties of all choices are offered, those are required
    that each of them requires."""
    _ = target
    return _with_tools(request, _AS_OBJECT)


def _one_object(schema: JsonObject) -> JsonObject:
    schema = resolved(schema, schema)
    properties = dict(object_in(schema, "properties"))
    asked = _names(schema)
    for word in ("anyOf", "oneOf"):
        choices = [resolved(choice, schema) for choice in objects_in(schema, word)]
        for choice in choices:
            properties = object_in(choice, "properties") | properties
        if choices:
            asked += [n for n in _names(choices[0]) if all(n in _names(c) for c in choices)]
    gone = (*CHOICES, "enum", "not", "required")
    made: JsonObject = {key: value for key, value in schema.items() if key not in gone}
    made |= {"type": "object", "properties": properties}
    required: list[Json] = [name for name in dict.fromkeys(asked) if name in properties]
    return {**made, "required": required} if required else made


def _names(schema: JsonObject) -> list[str]:
    required = schema.get("required")
    return [n for n in required if isinstance(n, str)] if isinstance(required, list) else []


def no_words_about_the_schema(request: ModelRequest, target: Target) -> ModelRequest:
    """Groq, xAI and others: "additional properties '$schema' not allowed"; a schema's name and
    dialect say nothing to a model."""
    _ = target
    return _with_tools(request, _BARE)


def _bare(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in ABOUT_ITSELF}


def arrays_have_items(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI: "array schema missing items"."""
    _ = target
    return _with_tools(request, _FILLED)


def _filled(schema: JsonObject) -> JsonObject:
    kinds = schema.get("type")
    array = kinds == "array" or (isinstance(kinds, list) and "array" in kinds)
    return {**schema, "items": {}} if array and "items" not in schema else schema


def plain_references_and_items(request: ModelRequest, target: Target) -> ModelRequest:
    """Moonshot: "when using $ref, no other keywords may be present", and no list of items."""
    _ = target
    return _with_tools(request, _PLAIN)


def _plain(schema: JsonObject) -> JsonObject:
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    items = schema.get("items", schema.get("prefixItems"))
    if not isinstance(items, list):
        return schema
    kept: JsonObject = {key: value for key, value in schema.items() if key != "prefixItems"}
    kept["items"] = (objects_in({"items": items}, "items") or [{}])[0]
    return kept


def gemini_subset(request: ModelRequest, target: Target) -> ModelRequest:
    """Gemini: "Unknown name "$ref" at 'tools…': Cannot find field", "enum: only allowed for
    STRING type", "properties: should be non-empty for OBJECT type"."""
    _ = target
    return _with_tools(request, _REDUCED)


_Changed = Remembered[ToolSchema, ToolSchema]


def _with_tools(request: ModelRequest, change: _Changed) -> ModelRequest:
    return replace(request, tools=tuple(map(change, request.tools)))


def _each(change: Callable[[JsonObject], JsonObject]) -> _Changed:
    """A tool with its schema as *change* has it."""
    return Remembered(lambda tool: replace(tool, parameters=change(tool.parameters)))


def _deep(
    schema: JsonObject, change: Callable[[JsonObject], JsonObject], depth: int = 0
) -> JsonObject:
    """*change* made to *schema* and each schema inside it; properties' names are left alone."""
    if depth > DEEPEST:
        return schema
    made: JsonObject = {}
    for key, value in change(schema).items():
        if key in INNER and isinstance(value, dict):
            made[key] = {name: _inner(one, change, depth) for name, one in value.items()}
        elif key in ("items", "additionalProperties", "not") or key in CHOICES:
            made[key] = _inner(value, change, depth)
        else:
            made[key] = value
    return made


def _inner(value: Json, change: Callable[[JsonObject], JsonObject], depth: int) -> Json:
    if isinstance(value, list):
        return [_inner(one, change, depth + 1) for one in value]
    return _deep(value, change, depth + 1) if isinstance(value, dict) else value


_AS_OBJECT = _each(_one_object)
_BARE = _each(lambda schema: _deep(schema, _bare))
_FILLED = _each(lambda schema: _deep(schema, _filled))
_PLAIN = _each(lambda schema: _deep(schema, _plain))
_REDUCED = _each(reduced)
