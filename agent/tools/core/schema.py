"""The schema and description of a built-in tool, as models get them.

Schemas have no titles, no references and no open objects. They leave out what goes without saying
(empty defaults, bounds such as "not empty"), which the tools check anyway: each request carries
them. Descriptions are the text files next to the modules, with their ``{{slots}}`` filled.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agent.records.json import Json, JsonObject
from agent.tools.core.tool import Tool, ToolSpec

if TYPE_CHECKING:  # loads pydantic
    from agent.tools.core.tool_args import ToolArgs


def parameters(model: "type[ToolArgs]") -> JsonObject:
    """Return the self-contained schema of *model*, of type object.

    Raises ``ValueError`` for a model that refers to itself.
    """
    raw = cast("JsonObject", model.model_json_schema())
    definitions = cast("dict[str, JsonObject]", raw.pop("$defs", {}))
    clean = _clean_schema(raw, definitions, ())
    clean.pop("description", None)  # The class's docstring is for readers of the code.
    clean.setdefault("properties", {})
    return clean


def with_choices(schema: JsonObject, choices: Mapping[str, tuple[str, ...]]) -> JsonObject:
    """Return *schema* with the enums *choices* of its properties."""
    properties = dict(cast("JsonObject", schema["properties"]))
    for name, values in choices.items():
        properties[name] = {**cast("JsonObject", properties[name]), "enum": [*values]}
    return {**schema, "properties": properties}


_OBVIOUS_BOUNDS = ("minLength", "minItems", "minimum", "exclusiveMinimum")


def _clean_schema(
    schema: JsonObject, definitions: dict[str, JsonObject], open_names: tuple[str, ...]
) -> JsonObject:
    schema = dict(schema)
    reference = schema.pop("$ref", None)
    if isinstance(reference, str):
        name = reference.rsplit("/", 1)[-1]
        if name in open_names:
            raise ValueError(f"the arguments model {name} refers to itself")
        target = {key: value for key, value in definitions[name].items() if key != "description"}
        return _clean_schema({**target, **schema}, definitions, (*open_names, name))
    schema.pop("title", None)
    if not schema.get("default", True):
        del schema["default"]
    for key in _OBVIOUS_BOUNDS:
        if schema.get(key) in {0, 1}:
            del schema[key]
    result: JsonObject = {}
    for key, value in schema.items():
        if key == "properties":
            fields = cast("dict[str, JsonObject]", value)
            result[key] = {
                name: _clean_schema(field, definitions, open_names)
                for name, field in fields.items()
            }
        elif key in {"default", "const", "enum", "examples", "required"}:
            result[key] = value
        else:
            result[key] = _clean_value(value, definitions, open_names)
    if result.get("type") == "object" and "additionalProperties" not in result:
        result["additionalProperties"] = False
    return _without_null(result)


def _clean_value(
    value: Json, definitions: dict[str, JsonObject], open_names: tuple[str, ...]
) -> Json:
    if isinstance(value, dict):
        return _clean_schema(value, definitions, open_names)
    if isinstance(value, list):
        return [_clean_value(item, definitions, open_names) for item in value]
    return value


def _without_null(schema: JsonObject) -> JsonObject:
    """Return ``X or null`` as X: leaving the optional out means the same."""
    choices = schema.get("anyOf")
    if not isinstance(choices, list):
        return schema
    kept = [choice for choice in choices if choice != {"type": "null"}]
    if len(kept) == len(choices) or not kept:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    only = kept[0]
    if len(kept) == 1 and isinstance(only, dict):
        return {**only, **rest}
    return {**rest, "anyOf": kept}


_SLOT = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def fill_slots(template: str, variables: Mapping[str, str], *, name: str = "a description") -> str:
    """Return *template* with its slots filled. Raises ``ValueError`` for a slot without a value."""
    unknown = sorted({slot for slot in _SLOT.findall(template) if slot not in variables})
    if unknown:
        raise ValueError(f"{name} uses unknown variables: {', '.join(unknown)}")
    filled = _SLOT.sub(lambda match: variables[match[1]], template)
    if "{{" in filled or "}}" in filled:
        raise ValueError(f"{name} has a slot that could not be filled")
    return filled.strip()


def read_description(tool: Tool[Any, Any], spec: ToolSpec, common: Mapping[str, str]) -> str:
    """Return the description of *tool*: ``<name>.txt`` next to its module.

    Its slots take the variables of *spec*, all of which must be used, and the *common* ones.
    Raises ``ValueError`` otherwise.
    """
    module = sys.modules[type(tool).__module__].__file__
    path = Path(module or "").with_name(f"{spec.name}.txt")
    template = path.read_text(encoding="utf-8")
    unused = sorted(set(spec.variables).difference(_SLOT.findall(template)))
    if unused:
        raise ValueError(f"{path.name} does not use the variables {', '.join(unused)}")
    return fill_slots(template, {**common, **spec.variables}, name=path.name)
