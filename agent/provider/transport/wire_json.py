"""JSON for the wire: encoding that every parser accepts, and tolerant access to parsed values."""

import json
import math

from agent.records.json import Json, JsonObject, encodable


def encode_body(body: Json) -> bytes:
    """Return *body*, or a part of one, as UTF-8 JSON; lone surrogates, which UTF-8 lacks, become
    U+FFFD."""
    text = _dumps(body, _COMPACT)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return encodable(text).encode()


def encode_arguments(value: JsonObject) -> str:
    """Return the arguments of a call as JSON text."""
    return _dumps(value, _SPACED)


def is_json_object(text: str) -> bool:
    """Return whether *text* is one complete JSON object."""
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def parse_object(text: str) -> JsonObject | None:
    """Return the object in *text*, None if it is no JSON object."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def get_object(data: JsonObject, name: str) -> JsonObject:
    """Return the object *name* of *data*, empty where there is none."""
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def get_text(data: JsonObject, name: str) -> str:
    """Return the text *name* of *data*, empty where there is none."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def get_objects(data: JsonObject, name: str) -> list[JsonObject]:
    """Return the objects of the list *name* of *data*."""
    value = data.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def has_part(value: Json, name: str) -> bool:
    """Return whether an object in *value* has the field *name* or the type *name*.

    Texts and the arguments of calls, which a model wrote, do not count.
    """
    if isinstance(value, list):
        return any(has_part(item, name) for item in value)
    if not isinstance(value, dict):
        return False
    return (
        name in value
        or value.get("type") == name
        or any(has_part(part, name) for key, part in value.items() if key not in _ARGUMENTS)
    )


_ARGUMENTS = frozenset({"arguments", "args", "input"})
"""The fields of a call that contain its arguments, in all protocols."""


# Shared encoders: ``json.dumps`` would create one for each of the many calls of a session.
_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_SPACED = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def _dumps(value: Json, encoder: json.JSONEncoder) -> str:
    try:
        return encoder.encode(value)
    except ValueError:
        return encoder.encode(_finite(value))


def _finite(value: Json) -> Json:
    """Return *value* with the numbers that JSON lacks (NaN, infinity) as null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return value
