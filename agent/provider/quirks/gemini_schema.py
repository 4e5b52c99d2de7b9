"""JSON schemas in the subset that Gemini takes for its functions (spec 5, R4).

It is OpenAPI's: one type, ``nullable``, enums of strings, no references, nothing about further
properties. What it does not know makes the whole request fail, so it is left out.
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
    """*schema* in Gemini's subset; an object without properties becomes {}."""
    return _reduced(schema, _Place(schema))


@dataclass(frozen=True, slots=True)
class _Place:
    """How deep in *root* a schema stands, and *through* which references it was come to."""

    root: JsonObject
    depth: int = 0
    through: frozenset[str] = frozenset()

    def inside(self, followed: set[str]) -> "_Place":
        return _Place(self.root, self.depth + 1, self.through | followed)


def _reduced(schema: JsonObject, place: _Place) -> JsonObject:
    followed: set[str] = set()
    schema = resolve_schema(schema, place.root, followed)
    if place.depth > MAX_DEPTH or followed & place.through:
        return {"type": "object"}  # a schema that holds itself has no end
    place = place.inside(followed)
    made: JsonObject = {key: schema[key] for key in KEPT_KEYS if key in schema}
    kinds = schema.get("type")
    named = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    if "null" in named:
        made["nullable"] = True
    real = [kind for kind in named if isinstance(kind, str) and kind != "null"]
    choices = [*get_objects(schema, "anyOf"), *get_objects(schema, "oneOf")]
    if choices:
        return _chosen(made, choices, place)
    if len(real) > 1:
        branches: list[Json] = [_reduced({**schema, "type": kind}, place) for kind in real]
        return {**made, "anyOf": branches}
    kind = real[0] if real else _guessed(schema)
    made["type"] = kind
    if schema.get("format") in FORMATS:
        made["format"] = schema["format"]
    _add_enum(made, schema)
    if kind == "object":
        _add_properties(made, schema, place)
    if kind == "array":
        made["items"] = _reduced(get_object(schema, "items") or {"type": "string"}, place)
    return made


def resolve_schema(
    schema: JsonObject, root: JsonObject, followed: set[str] | None = None
) -> JsonObject:
    """*schema* with its reference followed and its ``allOf`` taken in; *followed* is told the
    references."""
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
        schema = _merged([{k: v for k, v in schema.items() if k != "allOf"}, *parts])
    return schema


def _merged(schemas: list[JsonObject]) -> JsonObject:
    """All of *schemas* in one: the properties of each, and what any of them requires; of other
    words the first counts."""
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


def _chosen(made: JsonObject, choices: list[JsonObject], place: _Place) -> JsonObject:
    """One of several schemas; "or null" is only a mark."""
    real = [choice for choice in choices if choice.get("type") != "null"]
    if len(real) < len(choices):
        made["nullable"] = True
    branches = [_reduced(choice, place) for choice in real]
    if len(branches) == 1:
        return {**branches[0], **made}
    return {**made, "anyOf": list[Json](branches)}


def _guessed(schema: JsonObject) -> str:
    if "properties" in schema:
        return "object"
    return "array" if "items" in schema else "string"


def _add_enum(made: JsonObject, schema: JsonObject) -> None:
    """Enums are of strings only; of numbers the choice goes into the description."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return
    if made["type"] == "string":
        made["enum"] = [str(value) for value in values if value is not None]
    else:
        told = f"One of {', '.join(str(value) for value in values)}."
        made["description"] = f"{made.get('description', '')} {told}".strip()


def _add_properties(made: JsonObject, schema: JsonObject, place: _Place) -> None:
    properties = get_object(schema, "properties")
    reduced_ones = {
        name: _reduced(value, place)
        for name, value in properties.items()
        if isinstance(value, dict)
    }
    if not reduced_ones:
        return  # an object without properties is refused when "properties" is empty
    made["properties"] = dict[str, Json](reduced_ones)
    required = schema.get("required")
    asked = required if isinstance(required, list) else []
    names: list[Json] = [name for name in asked if name in reduced_ones]
    if names:
        made["required"] = names
