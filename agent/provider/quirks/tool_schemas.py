"""Quirks of tool schemas: each provider accepts a different subset of JSON schema."""

from collections.abc import Callable
from dataclasses import replace

from agent.provider.client import ModelRequest, ToolSchema
from agent.provider.quirks.structural_sharing import IdentityCache
from agent.provider.quirks.target import Target
from agent.provider.transport.wire_json import get_object, get_objects
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject

CHOICE_KEYS = ("anyOf", "oneOf", "allOf")
METADATA_KEYS = ("$schema", "$id", "$comment", "$anchor")
SCHEMA_MAPS = ("properties", "$defs", "definitions", "patternProperties")
MAX_DEPTH = 32


def flatten_top_level(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI and Anthropic refuse choices at the top level: "schema must have type 'object' and not
    have 'oneOf'/'anyOf'/'allOf' at the top level". Offer the properties of all choices, and
    require those that each of them requires."""
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
    return _with_tools(request, _BARE)


def _bare(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in METADATA_KEYS}


def add_missing_array_items(request: ModelRequest, target: Target) -> ModelRequest:
    """OpenAI refuses arrays without the type of their items: "array schema missing items"."""
    return _with_tools(request, _FILLED)


def _filled(schema: JsonObject) -> JsonObject:
    kinds = schema.get("type")
    array = kinds == "array" or (isinstance(kinds, list) and "array" in kinds)
    return {**schema, "items": {}} if array and "items" not in schema else schema


def simplify_references_and_items(request: ModelRequest, target: Target) -> ModelRequest:
    """Moonshot refuses keywords beside a reference: "when using $ref, no other keywords may be
    present". It refuses a list of item schemas too."""
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


KEPT_KEYS = (
    "title", "description", "nullable", "minItems", "maxItems", "minimum", "maximum",
    "minLength", "maxLength", "pattern",
)  # fmt: skip
FORMATS = frozenset({"enum", "date-time", "int32", "int64", "float", "double"})
MAX_GEMINI_DEPTH = 12


def reduce_schema(schema: JsonObject) -> JsonObject:
    """Return *schema* in Gemini's subset."""
    return _reduce(schema, _Position(schema))


@frozen
class _Position:
    """The position of a schema inside *root*."""

    root: JsonObject
    depth: int = 0
    references: frozenset[str] = frozenset()
    """The references that led to it."""

    def inside(self, followed: set[str]) -> "_Position":
        return _Position(self.root, self.depth + 1, self.references | followed)


def _reduce(schema: JsonObject, place: _Position) -> JsonObject:
    followed: set[str] = set()
    schema = resolve_schema(schema, place.root, followed)
    if place.depth > MAX_GEMINI_DEPTH or followed & place.references:
        return {"type": "object"}  # a schema that contains itself
    place = place.inside(followed)
    made: JsonObject = {key: schema[key] for key in KEPT_KEYS if key in schema}
    kinds = schema.get("type")
    named = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    if "null" in named:
        made["nullable"] = True
    real = [kind for kind in named if isinstance(kind, str) and kind != "null"]
    choices = [*get_objects(schema, "anyOf"), *get_objects(schema, "oneOf")]
    if choices:
        return _reduce_choices(made, choices, place)
    if len(real) > 1:
        branches: list[Json] = [_reduce({**schema, "type": kind}, place) for kind in real]
        return {**made, "anyOf": branches}
    kind = real[0] if real else _guess_type(schema)
    made["type"] = kind
    if schema.get("format") in FORMATS:
        made["format"] = schema["format"]
    _add_enum(made, schema)
    if kind == "object":
        _add_properties(made, schema, place)
    if kind == "array":
        made["items"] = _reduce(get_object(schema, "items") or {"type": "string"}, place)
    return made


def resolve_schema(
    schema: JsonObject, root: JsonObject, followed: set[str] | None = None
) -> JsonObject:
    """Return *schema* with its reference followed and its ``allOf`` merged.

    The references are added to *followed*.
    """
    for _ in range(MAX_GEMINI_DEPTH):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#/"):
            if followed is not None:
                followed.add(reference)
            target: Json = root
            for name in reference[2:].split("/"):
                target = target.get(name) if isinstance(target, dict) else None
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = {**target, **rest} if isinstance(target, dict) else rest
            continue
        parts = get_objects(schema, "allOf")
        if not parts:
            break
        schema = _merge([{k: v for k, v in schema.items() if k != "allOf"}, *parts])
    return schema


def _merge(schemas: list[JsonObject]) -> JsonObject:
    """Return one schema with the properties and requirements of all *schemas*.

    Of any other keyword the first one counts.
    """
    made: JsonObject = {}
    for schema in reversed(schemas):
        made |= schema
    properties = [get_object(schema, "properties") for schema in reversed(schemas)]
    if any(properties):
        made["properties"] = {name: one for each in properties for name, one in each.items()}
    names = [name for schema in schemas for name in _list(schema.get("required"))]
    if names:
        made["required"] = list(dict.fromkeys(map(str, names)))
    return made


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _reduce_choices(made: JsonObject, choices: list[JsonObject], place: _Position) -> JsonObject:
    """Return a choice of several schemas; "or null" becomes ``nullable``."""
    real = [choice for choice in choices if choice.get("type") != "null"]
    if len(real) < len(choices):
        made["nullable"] = True
    branches = [_reduce(choice, place) for choice in real]
    if len(branches) == 1:
        return {**branches[0], **made}
    return {**made, "anyOf": list[Json](branches)}


def _guess_type(schema: JsonObject) -> str:
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema else "string"


def _add_enum(made: JsonObject, schema: JsonObject) -> None:
    """Add the enum of a string; the choices of any other type go into the description."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return
    if made["type"] == "string":
        made["enum"] = [str(value) for value in values if value is not None]
    else:
        choices = f"One of {', '.join(str(value) for value in values)}."
        made["description"] = f"{made.get('description', '')} {choices}".strip()


def _add_properties(made: JsonObject, schema: JsonObject, place: _Position) -> None:
    properties = get_object(schema, "properties")
    reduced_ones = {
        name: _reduce(value, place) for name, value in properties.items() if isinstance(value, dict)
    }
    if not reduced_ones:
        return  # an object without properties is refused when "properties" is empty
    made["properties"] = dict[str, Json](reduced_ones)
    required = schema.get("required")
    required_names = required if isinstance(required, list) else []
    names: list[Json] = [name for name in required_names if name in reduced_ones]
    if names:
        made["required"] = names


_FILLED = _schema_change(lambda schema: _map_schemas(schema, _filled))
_PLAIN = _schema_change(lambda schema: _map_schemas(schema, _plain))
_REDUCED = _schema_change(reduce_schema)
