"""JSON as it goes over the wire: valid for every parser, whatever a model or a file put in."""

import json
import math

from agent.records.json import Json, JsonObject


def encode_body(body: JsonObject) -> bytes:
    """*body* as UTF-8 JSON; lone surrogates, which no encoding takes, become U+FFFD."""
    text = _dumps(body, _CLOSE)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def encode_arguments(value: JsonObject) -> str:
    """The arguments of a call as the text that is sent."""
    return _dumps(value, _LOOSE)


def is_json_object(text: str) -> bool:
    """Whether *text* is one whole JSON object, so that nothing can follow."""
    if not text.rstrip().endswith("}"):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def parse_object(text: str) -> JsonObject | None:
    """The object in *text*, None for what is none."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def get_object(data: JsonObject, name: str) -> JsonObject:
    """The object *name* of *data*, empty where there is none."""
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def get_text(data: JsonObject, name: str) -> str:
    """The text *name* of *data*, empty where there is none."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def get_objects(data: JsonObject, name: str) -> list[JsonObject]:
    """The objects of the list *name* of *data*."""
    value = data.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


# Made once: ``json.dumps`` makes one for each call, and each step writes every call of its session.
_CLOSE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_LOOSE = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def _dumps(value: JsonObject, encoder: json.JSONEncoder) -> str:
    try:
        return encoder.encode(value)
    except ValueError:
        return encoder.encode(_finite(value))


def _finite(value: Json) -> Json:
    """*value* with the numbers that JSON does not have (NaN, infinity) as null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    return value
