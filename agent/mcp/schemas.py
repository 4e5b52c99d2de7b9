"""The schemas of servers' tools, mended where that is harmless (trial MCP-SCHEMA).

One schema that a provider refuses makes every request fail, whatever tool it is about. What
each provider takes of a sound schema is the business of the provider's own quirks.
"""

from typing import cast

from agent.records.json import Json, JsonObject

MAX_DEPTH = 24
"""Levels of a schema; providers take far fewer."""

MAX_SIZE = 100_000
"""Characters of a schema as JSON."""

_TYPES = {
    "int": "integer", "float": "number", "double": "number", "str": "string", "text": "string",
    "bool": "boolean", "dict": "object", "map": "object", "list": "array", "none": "null",
    "date": "string", "datetime": "string", "uuid": "string", "uri": "string", "file": "string",
}  # fmt: skip
"""Types that JSON schema does not know, as what their authors meant."""

_FOR_FORMS = frozenset(
    {"$schema", "$id", "$comment", "$anchor", "examples", "deprecated", "readOnly", "writeOnly"}
)
"""Keywords that tell a model nothing, and that some providers refuse."""

_KNOWN = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_INNER = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


class BadSchema(ValueError):
    """A schema that can't be used; ``str`` says why, for a sentence."""


def repaired(schema: object) -> JsonObject:
    """*schema* as that of an object. Raises ``BadSchema``."""
    if schema is None or schema == {}:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        raise BadSchema("it is no object")
    given = cast("JsonObject", schema)
    if len(str(given)) > MAX_SIZE:
        raise BadSchema("it is too large")
    made = _walk(given, 0)
    kind = made.get("type")
    if kind is None or (isinstance(kind, list) and "object" in kind):
        made["type"] = "object"
    elif kind != "object":
        raise BadSchema(f"its type is {kind}, and arguments are an object")
    made.setdefault("properties", {})
    return made


def _walk(schema: JsonObject, depth: int) -> JsonObject:
    if depth > MAX_DEPTH:
        raise BadSchema("it is nested too deeply")
    made: JsonObject = {}
    for key, value in schema.items():
        if key == "type":
            made[key] = _type(value)
        elif key in _SCHEMAS and isinstance(value, dict):
            made[key] = {name: _schema(one, depth) for name, one in value.items()}
        elif key in _INNER:
            made[key] = _schema(value, depth)
        elif key in _LISTS and isinstance(value, list):
            made[key] = [_schema(one, depth) for one in value]
        elif key == "required":
            if isinstance(value, list):  # a draft before the third had it as a switch
                made[key] = _names(value, schema.get("properties"))
        else:
            made[key] = value
    return made


def for_models(schema: JsonObject) -> JsonObject:
    """A mended *schema* without what tells a model nothing."""
    made: JsonObject = {}
    for key, value in schema.items():
        if key in _FOR_FORMS or (key == "title" and isinstance(value, str)):
            continue
        if key in _SCHEMAS and isinstance(value, dict):
            made[key] = {name: _for_models(one) for name, one in value.items()}
        elif key in _INNER or key in _LISTS:
            made[key] = _for_models(value)
        else:
            made[key] = value
    return made


def _for_models(value: Json) -> Json:
    if isinstance(value, list):
        return [_for_models(one) for one in value]
    return for_models(value) if isinstance(value, dict) else value


def _names(required: list[Json], properties: Json) -> list[Json]:
    """Those of *required* that there are at all, each once."""
    known = properties if isinstance(properties, dict) else None
    names = dict.fromkeys(name for name in required if isinstance(name, str))
    return [name for name in names if known is None or name in known]


def _schema(value: Json, depth: int) -> Json:
    if isinstance(value, list):
        return [_schema(one, depth) for one in value]
    return _walk(value, depth + 1) if isinstance(value, dict) else value


def _type(value: Json) -> Json:
    if isinstance(value, list):
        return [_type(one) for one in value]
    if not isinstance(value, str):
        raise BadSchema("a type in it is no word")
    low = value.strip().lower()
    known = low if low in _KNOWN else _TYPES.get(low)
    if known is None:
        raise BadSchema(f"there is no type {value[:40]!r}")
    return known
