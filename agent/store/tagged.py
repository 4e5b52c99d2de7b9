"""Make pydantic decide nested unions by their tag instead of by trial.

The records' inner unions (tool states, blocks) carry a literal tag each, but their aliases
in ``agent.model`` name no discriminator, as that would import pydantic everywhere. Tried
one after the other, reading a tool call with a diff takes 360 µs; by tag it takes 23 µs,
which opening a session of 1,000 calls needs (spec 9, Q1).
"""

from typing import Any, TypeAlias, TypeGuard

Schema: TypeAlias = Any
"""A pydantic core schema: nested dictionaries and lists. What is not known is left alone."""


def tag_unions(schema: Schema) -> Schema:
    """A copy of *schema* with every union of tagged dataclasses made a tagged union."""
    definitions: dict[str, Schema] = {}
    _collect(schema, definitions)
    return _tagged(schema, definitions)


def _collect(schema: Schema, definitions: dict[str, Schema]) -> None:
    if _is_node(schema):
        if "ref" in schema:
            definitions[schema["ref"]] = schema
        for key, value in schema.items():
            if key != "metadata":
                _collect(value, definitions)
    elif _is_list(schema):
        for value in schema:
            _collect(value, definitions)


def _tagged(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    if _is_list(schema):
        return [_tagged(value, definitions) for value in schema]
    if not _is_node(schema):
        return schema
    copy = {
        key: value if key == "metadata" else _tagged(value, definitions)
        for key, value in schema.items()
    }
    if copy.get("type") != "union":
        return copy
    choices: dict[str, Schema] = {}
    names: set[str] = set()
    for choice in copy["choices"]:
        tag = _tag(choice, definitions)
        if tag is None:
            return copy
        names.add(tag[0])
        choices[tag[1]] = choice
    if len(names) != 1 or len(choices) != len(copy["choices"]):
        return copy
    return {"type": "tagged-union", "discriminator": names.pop(), "choices": choices}


def _tag(choice: Schema, definitions: dict[str, Schema]) -> tuple[str, str] | None:
    """Name and value of the field of *choice* that takes exactly one literal, if it has one."""
    if not _is_node(choice):
        return None
    if choice["type"] == "definition-ref":
        choice = definitions[choice["schema_ref"]]
    if choice["type"] != "dataclass":
        return None
    for field in choice["schema"]["fields"]:
        inner = field["schema"]
        if inner["type"] == "default":
            inner = inner["schema"]
        if inner["type"] == "literal" and len(inner["expected"]) == 1:
            return field["name"], inner["expected"][0]
    return None


def _is_node(schema: Schema) -> TypeGuard[dict[str, Any]]:
    return isinstance(schema, dict)


def _is_list(schema: Schema) -> TypeGuard[list[Any]]:
    return isinstance(schema, list)
