"""Arguments checked against the schema that a server gave for them (spec 3, T4)."""

import json
from collections.abc import Iterator, Mapping
from typing import Protocol, cast

from agent.records.errors import InvalidArguments
from agent.records.json import Json, JsonObject

MAX_ISSUES = 5
MAX_ISSUE = 100

_PATTERNS = frozenset({"pattern", "patternProperties"})


class _Error(Protocol):
    @property
    def json_path(self) -> str: ...
    @property
    def message(self) -> str: ...


class _Validator(Protocol):
    def iter_errors(self, instance: Mapping[str, Json]) -> Iterator[_Error]: ...


def check_arguments(given: JsonObject, schema: JsonObject) -> None:
    """Raise ``InvalidArguments`` with words that teach if *given* does not fit *schema*.

    A schema that is at fault checks nothing: its server says itself what it does not like.
    """
    import jsonschema  # only calls of servers' tools need it
    import referencing  # as above
    from jsonschema.exceptions import SchemaError, UnknownType  # as above
    from referencing.exceptions import Unresolvable  # as above

    sound = _without_patterns(schema)
    # The empty registry: a schema may refer to itself, never to an address.
    made = jsonschema.Draft202012Validator(sound, registry=referencing.Registry())
    try:
        errors = list(cast("_Validator", made).iter_errors(given))
    except (SchemaError, UnknownType, Unresolvable, RecursionError, ValueError, TypeError):
        return
    if not errors:
        return
    errors.sort(key=lambda error: error.json_path)
    issues = [_issue(error) for error in errors[:MAX_ISSUES]]
    more = f"; and {len(errors) - MAX_ISSUES} more" if len(errors) > MAX_ISSUES else ""
    raise InvalidArguments(
        f"Please rewrite the input with valid arguments. Errors: {'; '.join(issues)}{more}"
    )


def coerced(given: JsonObject, schema: JsonObject) -> JsonObject:
    """*given*, with the slips of models mended that our own tools forgive as well: null for
    what may be left out, a number or a whole object as text, a number where text is wanted."""
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
            made[name] = _as(value, kind)
        elif name in needed:
            made[name] = value
    return made


def _as(value: Json, kind: str) -> Json:
    """*value* as what *kind* names, itself where that is not plain."""
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


def _issue(error: _Error) -> str:
    place = error.json_path.removeprefix("$").removeprefix(".")
    text = f"{place}: {error.message}" if place else error.message
    return text if len(text) <= MAX_ISSUE else text[: MAX_ISSUE - 1] + "…"


def _without_patterns(schema: JsonObject) -> JsonObject:
    """*schema* without its regular expressions: a stranger's can take for ever to match."""
    loose = "patternProperties" in schema
    made: JsonObject = {}
    for key, value in schema.items():
        keyword = key in _PATTERNS or (loose and key == "additionalProperties")
        # The name of a property may be the same word; then a schema stands behind it.
        if keyword and not (isinstance(value, dict) and key == "pattern"):
            continue
        made[key] = _inner(value)
    return made


def _inner(value: Json) -> Json:
    if isinstance(value, list):
        return [_inner(one) for one in value]
    return _without_patterns(value) if isinstance(value, dict) else value
