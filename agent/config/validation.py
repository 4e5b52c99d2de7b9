"""Validates one file's settings against ``Config``: invalid values are removed and reported.

pydantic, which is loaded for values that have other types than the settings, converts what it can
and says what is wrong with the rest.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Any, cast, get_args, get_origin, get_type_hints

from agent.config.file_keys import CHECKED, file_key
from agent.config.jsonc import KeyPath
from agent.config.settings_schema import Config
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.json_reader import ExactReader, InexactValue

if TYPE_CHECKING:
    from pydantic import TypeAdapter

# The lowest sensible value of a number; 0 for those not named.
_MINIMUMS = {
    ("tool_output", "max_lines"): 1,
    ("tool_output", "max_bytes"): 1,
    ("bash", "timeout"): 1,
    ("bash", "max_timeout"): 1,
    ("fallback", "recheck"): 1_000,
    ("limits", "steps"): 1,
    ("limits", "tokens"): 1,
    ("limits", "cost"): 0.0001,
    ("limits", "session_cost"): 0.01,
    ("limits", "session_tokens"): 1,
    ("limits", "daily_cost"): 0.01,
    ("limits", "daily_tokens"): 1,
}

_EXPECTED = {
    "string_type": "expected text in quotes",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "bool_type": "expected true or false",
    "bool_parsing": "expected true or false",
    "dict_type": "expected an object in braces",
    "dataclass_type": "expected an object in braces",
    "dataclass_exact_type": "expected an object in braces",
    "tuple_type": "expected a list in brackets",
}


@frozen
class ConfigFault:
    """A value that was removed."""

    path: KeyPath
    message: str
    """What was expected."""


def remove_invalid(raw: JsonObject) -> list[ConfigFault]:
    """Remove everything from *raw* that ``Config`` does not accept; return the faults."""
    faults, found = _below_minimum(raw, ()), list[ConfigFault]()
    for fault in faults:
        _remove(raw, fault.path)
    for path, reasons in _reasons(raw).items():
        expectations = " or ".join(dict.fromkeys(r.removeprefix("expected ") for r in reasons))
        unknown = reasons[0].startswith("there is no")
        message = reasons[0] if unknown else f"expected {expectations}"
        found.append(ConfigFault(path, message))
    for fault in reversed(found):  # from the end of a list, so that indices stay valid
        _remove(raw, fault.path)
    return [*faults, *found]


def _reasons(raw: JsonObject) -> dict[KeyPath, list[str]]:
    """Return what is wrong with the values of *raw*, by their paths."""
    try:
        _exact()(raw)
    except InexactValue:
        from pydantic import ValidationError  # as in ``_adapter``
    else:
        return {}
    found: dict[KeyPath, list[str]] = {}
    try:
        _adapter().validate_python(raw)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_input=False):
            path = _existing_path(raw, detail["loc"])
            found.setdefault(path, []).append(_expected(path, detail["type"], detail.get("ctx")))
    return found


def build_config(raw: JsonObject) -> Config:
    """Return the settings from validated and merged values."""
    try:
        return _exact()(raw)
    except InexactValue:
        return _adapter().validate_python(raw)


def file_values(config: Config) -> JsonObject:
    """Return *config* in the form of a file, without defaults. Keys and other secrets are
    hidden."""
    values = _adapter().dump_python(config, mode="json", by_alias=True, exclude_defaults=True)
    return _hidden(values)


MAX_NAMED_KEYS = 10
"""Keys of which a fault names all: more of them fill the screen."""

HIDDEN = "(set, not shown)"
_SECRET = frozenset({"apiKey", "api_key", "clientSecret", "headers", "environment", "proxy"})


def _hidden(values: Mapping[str, Json]) -> JsonObject:
    shown: JsonObject = {}
    for key, value in values.items():
        if key in _SECRET and value:
            shown[key] = dict.fromkeys(value, HIDDEN) if isinstance(value, dict) else HIDDEN
        else:
            shown[key] = _hidden(value) if isinstance(value, dict) else value
    return shown


def json_schema() -> JsonObject:
    """Return the JSON schema of a config file."""
    from pydantic import TypeAdapter  # as in ``_adapter``

    CHECKED["use_attribute_docstrings"] = True  # reading them takes longer than all the rest
    try:
        return TypeAdapter(Config).json_schema()
    finally:
        CHECKED["use_attribute_docstrings"] = False


def dotted_key(path: KeyPath) -> str:
    """Return a path as shown to users, with very long keys cut."""
    return ".".join(str(step)[:60] for step in path)


@cache
def _exact() -> Callable[[JsonObject], Config]:
    return ExactReader(lambda _, name: file_key(name), ignores_unknown=False).of(Config)


@cache
def _adapter() -> "TypeAdapter[Config]":
    from pydantic import TypeAdapter  # kept off the start-up path

    return TypeAdapter(Config)


def _expected(path: KeyPath, kind: str, context: Mapping[str, Any] | None) -> str:
    if kind == "unexpected_keyword_argument":
        valid = _keys_at(path[:-1])
        near = difflib.get_close_matches(str(path[-1]), valid, 1, 0.7)
        if near:
            return f"there is no such key; did you mean {near[0]}?"
        if len(valid) > MAX_NAMED_KEYS:
            return "there is no such key; the configuration reference lists all keys"
        return f"there is no such key; the known ones are {', '.join(sorted(valid))}"
    if kind == "literal_error" and context is not None:
        return f"expected {str(context['expected']).replace(chr(39), chr(34)).lower()}"
    return _EXPECTED.get(kind, f"expected another value ({kind.replace('_', ' ')})")


def _keys_at(path: Sequence[str | int]) -> list[str]:
    """Return the keys that the object at *path* can have in a file."""
    kind: Any = Config
    for step in path:
        if is_dataclass(kind):
            hints = get_type_hints(kind)
            kind = next((hints[name] for name in hints if file_key(name) == step), None)
            if get_origin(kind) is UnionType:  # an optional value
                kind = get_args(kind)[0]
        elif get_origin(kind) is dict:
            kind = get_args(kind)[1]
        elif get_origin(kind) is tuple:
            kind = get_args(kind)[0]
    return [file_key(f.name) for f in fields(cast("Any", kind))] if is_dataclass(kind) else []


def _existing_path(raw: JsonObject, location: Sequence[str | int]) -> KeyPath:
    """Return the keys in pydantic's *location* that exist; it adds indices and type names."""
    path: list[str | int] = []
    value: Json = raw
    for step in location:
        match value, step:
            case dict(), str() if step in value:
                value = value[step]
            case list(), int() if step < len(value):
                value = value[step]
            case _:
                break
        path.append(step)
    return tuple(path)


def _remove(raw: JsonObject, path: KeyPath) -> None:
    """Remove the value at *path*."""
    parent: Json = raw
    for step in path[:-1]:
        if isinstance(parent, dict):
            parent = parent.get(str(step))
        elif isinstance(parent, list) and isinstance(step, int) and step < len(parent):
            parent = parent[step]
        else:
            return
    last = path[-1] if path else None
    if isinstance(parent, dict):
        parent.pop(str(last), None)
    elif isinstance(parent, list) and isinstance(last, int) and last < len(parent):
        del parent[last]


def _below_minimum(value: Json, path: KeyPath) -> list[ConfigFault]:
    if isinstance(value, dict):
        return [
            fault for key, item in value.items() for fault in _below_minimum(item, (*path, key))
        ]
    if isinstance(value, int | float) and not isinstance(value, bool):
        least = _MINIMUMS.get(cast("tuple[str, str]", path), 0)
        if value < least:
            return [ConfigFault(path, f"expected a number of at least {least}")]
    return []
