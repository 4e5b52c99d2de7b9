"""Validation of tool schemas by the subset that every provider accepts, and of names and ids."""

import json
import re

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names of tools and ids of calls that the strictest servers accept."""

_WORDS = {
    "type", "properties", "required", "description", "enum", "items", "anyOf", "format",
    "additionalProperties", "default", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "minItems", "maxItems",
    "minLength", "maxLength", "pattern", "const",
}  # fmt: skip


def function(name: object, parameters: object) -> list[str]:
    """Return what is wrong with a tool of this *name* and schema of *parameters*."""
    found = [] if is_name(name) else [f"name {name!r}"]
    if not isinstance(parameters, dict) or parameters.get("type") != "object":
        return [*found, "parameters must be a schema of type object"]
    if "anyOf" in parameters:
        found.append("anyOf is refused at the top of a schema")
    return found + _schema(parameters, "parameters")


def is_name(name: object) -> bool:
    return isinstance(name, str) and bool(NAME.fullmatch(name))


def call_arguments(text: object) -> list[str]:
    """Return what is wrong with the arguments of a call, given as *text*."""
    if not isinstance(text, str):
        return ["arguments are no text"]
    try:
        return [] if isinstance(json.loads(text), dict) else ["arguments are no object"]
    except ValueError:
        return ["arguments are no JSON"]


def repeated(names: list) -> list:
    """Return the names that occur more than once."""
    return sorted({str(name) for name in names if names.count(name) > 1})


def _schema(schema: dict, path: str) -> list[str]:
    found = [f"{path}: {word!r} is not in the subset" for word in schema if word not in _WORDS]
    for name, inner in (schema.get("properties") or {}).items():
        found += _schema(inner, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        found += _schema(schema["items"], f"{path}[]")
    for option in schema.get("anyOf") or []:
        found += _schema(option, f"{path}|")
    missing = set(schema.get("required") or []) - set(schema.get("properties") or {})
    return found + [f"{path}: required {name!r} has no property" for name in sorted(missing)]
