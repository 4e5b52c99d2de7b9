"""Reduction of JSON schemas to the subset that Gemini accepts for its functions.

The subset is OpenAPI's: one type, ``nullable``, enums of strings, no references, no additional
properties. An unknown keyword makes the whole request fail, so it is omitted.
"""

from dataclasses import dataclass

from agent.provider.transport.wire_json import get_object, get_objects
from agent.records.json import Json, JsonObject

KEPT_KEYS = (
    "title", "description", "nullable", "minItems", "maxItems", "minimum", "maximum",
    "minLength", "maxLength", "pattern",
)  # fmt: skip
FORMATS = frozenset({"enum", "date-time", "int32", "int64", "float", "double"})
MAX_DEPTH = 12


def reduce_schema(schema: JsonObject) -> JsonObject:
    """Return *schema* in Gemini's subset."""
    return _reduce(schema, _Position(schema))


@dataclass(frozen=True, slots=True)
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
    if place.depth > MAX_DEPTH or followed & place.references:
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
    for _ in range(MAX_DEPTH):
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
