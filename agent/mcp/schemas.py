"""JSON schemas of servers' tools: repair, and checks of arguments.

One schema that a provider refuses makes every request fail, whichever tool it belongs to.
Differences between providers in what they accept of a sound schema belong to their quirks.
"""

import json
from collections.abc import Iterator
from typing import Protocol, cast

from agent.records.errors import InvalidArguments
from agent.records.json import Json, JsonObject

MAX_DEPTH = 24
"""Levels of a schema; providers accept far fewer."""

MAX_SIZE = 100_000
"""Characters of a schema as JSON."""

_TYPE_ALIASES = {
    "int": "integer", "float": "number", "double": "number", "str": "string", "text": "string",
    "bool": "boolean", "dict": "object", "map": "object", "list": "array", "none": "null",
    "date": "string", "datetime": "string", "uuid": "string", "uri": "string", "file": "string",
}  # fmt: skip
"""Type names unknown to JSON schema, with the intended ones."""

_IGNORED_KEYWORDS = frozenset(
    {"$schema", "$id", "$comment", "$anchor", "examples", "deprecated", "readOnly", "writeOnly"}
)
"""Keywords that are useless to a model, and that some providers refuse."""

_TYPE_NAMES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_INNER = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")


class BadSchema(ValueError):
    """An unusable schema; ``str`` is the reason, as a part of a sentence."""


def repaired(schema: object) -> JsonObject:
    """Return *schema* as the schema of an object. Raises ``BadSchema``."""
    if schema is None or schema == {}:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        raise BadSchema("it is not an object")
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
            if isinstance(value, list):  # before draft 4 it was a boolean
                made[key] = _known_names(value, schema.get("properties"))
        else:
            made[key] = value
    return made


def for_models(schema: JsonObject) -> JsonObject:
    """Return a repaired *schema* without keywords that are useless to a model."""
    made: JsonObject = {}
    for key, value in schema.items():
        if key in _IGNORED_KEYWORDS or (key == "title" and isinstance(value, str)):
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


def _known_names(required: list[Json], properties: Json) -> list[Json]:
    """Return the names in *required* that are properties, each once."""
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
        raise BadSchema("a type in it is not a string")
    low = value.strip().lower()
    known = low if low in _TYPE_NAMES else _TYPE_ALIASES.get(low)
    if known is None:
        raise BadSchema(f"there is no type {value[:40]!r}")
    return known


MAX_ISSUES = 5
MAX_ISSUE = 100

_PATTERNS = frozenset({"pattern", "patternProperties"})


class SchemaFault(Protocol):
    """A difference between a value and its schema."""

    @property
    def json_path(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def validator(self) -> str:
        """The keyword that is not met."""
        ...

    @property
    def validator_value(self) -> Json:
        """The value of that keyword."""
        ...


class _Validator(Protocol):
    def iter_errors(self, instance: Json) -> Iterator[SchemaFault]: ...


def faults_of(given: Json, schema: JsonObject) -> list[SchemaFault]:
    """Return where *given* does not match *schema*, by place.

    A faulty schema checks nothing: the server itself refuses what it does not accept.
    """
    import jsonschema  # only calls of servers' tools need it
    import referencing  # as above
    from jsonschema.exceptions import SchemaError, UnknownType  # as above
    from referencing.exceptions import Unresolvable  # as above

    sound = _without_patterns(schema)
    # The registry is empty: a schema can refer to itself, never to a URL.
    made = jsonschema.Draft202012Validator(sound, registry=referencing.Registry())
    try:
        errors = list(cast("_Validator", made).iter_errors(given))
    except (SchemaError, UnknownType, Unresolvable, RecursionError, ValueError, TypeError):
        return []
    return sorted(errors, key=lambda error: error.json_path)


def check_arguments(given: JsonObject, schema: JsonObject) -> None:
    """Raise ``InvalidArguments`` with a helpful message if *given* does not match *schema*."""
    errors = faults_of(given, schema)
    if not errors:
        return
    issues = [_issue(error) for error in errors[:MAX_ISSUES]]
    more = f"; and {len(errors) - MAX_ISSUES} more" if len(errors) > MAX_ISSUES else ""
    raise InvalidArguments(
        f"Please rewrite the input with valid arguments. Errors: {'; '.join(issues)}{more}"
    )


def coerced(given: JsonObject, schema: JsonObject) -> JsonObject:
    """Return *given* with the usual mistakes of models corrected, as for built-in tools.

    These are null for an optional argument, a number or an object as text, and a number for text.
    """
    fields, required = schema.get("properties"), schema.get("required")
    if not isinstance(fields, dict):
        return given
    needed = required if isinstance(required, list) else []
    made: JsonObject = {}
    for name, value in given.items():
        field = fields.get(name)
        kind = field.get("type") if isinstance(field, dict) else None
        if not isinstance(kind, str):
            made[name] = value
        elif value is not None or kind == "null":
            made[name] = _coerced(value, kind)
        elif name in needed:
            made[name] = value
    return made


def _coerced(value: Json, kind: str) -> Json:
    """Return *value* converted to the type *kind*, or unchanged where that is not obvious."""
    if kind == "string":
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return str(value) if number else value
    if not isinstance(value, str):
        return value
    try:
        meant: Json = json.loads(value)
    except (ValueError, RecursionError):
        return value
    whole = isinstance(meant, int) and not isinstance(meant, bool)
    fits = {
        "integer": whole,
        "number": whole or isinstance(meant, float),
        "boolean": isinstance(meant, bool),
        "object": isinstance(meant, dict),
        "array": isinstance(meant, list),
    }
    return meant if fits.get(kind) else value


def _issue(error: SchemaFault) -> str:
    place = error.json_path.removeprefix("$").removeprefix(".")
    text = f"{place}: {error.message}" if place else error.message
    return text if len(text) <= MAX_ISSUE else text[: MAX_ISSUE - 1] + "…"


def _without_patterns(schema: JsonObject) -> JsonObject:
    """Return *schema* without regular expressions: a stranger's can take for ever to match."""
    loose = "patternProperties" in schema
    made: JsonObject = {}
    for key, value in schema.items():
        keyword = key in _PATTERNS or (loose and key == "additionalProperties")
        # A property can have the same name; then its value is a schema.
        if keyword and not (isinstance(value, dict) and key == "pattern"):
            continue
        made[key] = _inner(value)
    return made


def _inner(value: Json) -> Json:
    if isinstance(value, list):
        return [_inner(one) for one in value]
    return _without_patterns(value) if isinstance(value, dict) else value
