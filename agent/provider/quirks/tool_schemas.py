"""Quirks of tool schemas: each provider accepts a different subset of JSON schema."""

from collections.abc import Callable
from dataclasses import replace

from agent.provider.client import ModelRequest, ToolSchema
from agent.provider.quirks.gemini_schema import reduce_schema, resolve_schema
from agent.provider.quirks.structural_sharing import IdentityCache
from agent.provider.quirks.target import Target
from agent.provider.transport.wire_json import get_object, get_objects
from agent.records.json import Json, JsonObject

CHOICE_KEYS = ("anyOf", "oneOf", "allOf")
METADATA_KEYS = ("$schema", "$id", "$comment", "$anchor")
SCHEMA_MAPS = ("properties", "$defs", "definitions", "patternProperties")
MAX_DEPTH = 32


def flatten_top_level(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI and Anthropic refuse choices at the top level: "schema must have type 'object' and not
    have 'oneOf'/'anyOf'/'allOf' at the top level". Offer the properties of all choices, and
    require those that each of them requires."""
    _ = target
    return _with_tools(request, _AS_OBJECT)


def _one_object(schema: JsonObject) -> JsonObject:
    schema = resolve_schema(schema, schema)
    properties = dict(get_object(schema, "properties"))
    required_names = _names(schema)
    for word in ("anyOf", "oneOf"):
        choices = [resolve_schema(choice, schema) for choice in get_objects(schema, word)]
        for choice in choices:
            properties = get_object(choice, "properties") | properties
        if choices:
            required_names += [
                n for n in _names(choices[0]) if all(n in _names(c) for c in choices)
            ]
    gone = (*CHOICE_KEYS, "enum", "not", "required")
    made: JsonObject = {key: value for key, value in schema.items() if key not in gone}
    made |= {"type": "object", "properties": properties}
    required: list[Json] = [name for name in dict.fromkeys(required_names) if name in properties]
    return {**made, "required": required} if required else made


def _names(schema: JsonObject) -> list[str]:
    required = schema.get("required")
    return [n for n in required if isinstance(n, str)] if isinstance(required, list) else []


def drop_schema_metadata(request: ModelRequest, target: Target) -> ModelRequest:
    """Groq, xAI and others refuse a schema's metadata: "additional properties '$schema' not
    allowed". It is of no use to a model."""
    _ = target
    return _with_tools(request, _BARE)


def _bare(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in METADATA_KEYS}


def add_missing_array_items(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI refuses arrays without the type of their items: "array schema missing items"."""
    _ = target
    return _with_tools(request, _FILLED)


def _filled(schema: JsonObject) -> JsonObject:
    kinds = schema.get("type")
    array = kinds == "array" or (isinstance(kinds, list) and "array" in kinds)
    return {**schema, "items": {}} if array and "items" not in schema else schema


def simplify_references_and_items(request: ModelRequest, target: Target) -> ModelRequest:
    """Moonshot refuses keywords beside a reference: "when using $ref, no other keywords may be
    present". It refuses a list of item schemas too."""
    _ = target
    return _with_tools(request, _PLAIN)


def _plain(schema: JsonObject) -> JsonObject:
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    items = schema.get("items", schema.get("prefixItems"))
    if not isinstance(items, list):
        return schema
    kept: JsonObject = {key: value for key, value in schema.items() if key != "prefixItems"}
    kept["items"] = (get_objects({"items": items}, "items") or [{}])[0]
    return kept


def reduce_to_gemini_subset(request: ModelRequest, target: Target) -> ModelRequest:
    """Gemini refuses most of JSON schema: "Unknown name "$ref" at 'tools…': Cannot find field",
    "enum: only allowed for STRING type", "properties: should be non-empty for OBJECT type"."""
    _ = target
    return _with_tools(request, _REDUCED)


_ToolChange = IdentityCache[ToolSchema, ToolSchema]


def _with_tools(request: ModelRequest, change: _ToolChange) -> ModelRequest:
    return replace(request, tools=tuple(map(change, request.tools)))


def _schema_change(change: Callable[[JsonObject], JsonObject]) -> _ToolChange:
    """Return the cached change of a tool that applies *change* to its schema."""
    return IdentityCache(lambda tool: replace(tool, parameters=change(tool.parameters)))


def _map_schemas(
    schema: JsonObject, change: Callable[[JsonObject], JsonObject], depth: int = 0
) -> JsonObject:
    """Return *schema* with *change* applied to it and each schema inside it."""
    if depth > MAX_DEPTH:
        return schema
    made: JsonObject = {}
    for key, value in change(schema).items():
        if key in SCHEMA_MAPS and isinstance(value, dict):
            made[key] = {name: _inner(one, change, depth) for name, one in value.items()}
        elif key in ("items", "additionalProperties", "not") or key in CHOICE_KEYS:
            made[key] = _inner(value, change, depth)
        else:
            made[key] = value
    return made


def _inner(value: Json, change: Callable[[JsonObject], JsonObject], depth: int) -> Json:
    if isinstance(value, list):
        return [_inner(one, change, depth + 1) for one in value]
    return _map_schemas(value, change, depth + 1) if isinstance(value, dict) else value


_AS_OBJECT = _schema_change(_one_object)
_BARE = _schema_change(lambda schema: _map_schemas(schema, _bare))
_FILLED = _schema_change(lambda schema: _map_schemas(schema, _filled))
_PLAIN = _schema_change(lambda schema: _map_schemas(schema, _plain))
_REDUCED = _schema_change(reduce_schema)
