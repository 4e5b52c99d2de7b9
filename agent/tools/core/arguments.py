"""Parse and validate the arguments that a model sends.

Harmless slips are repaired silently: text that is empty or ``null`` for no arguments, a JSON
string in place of an object or list, "10" for 10 and 10 for "10", null for an absent optional,
``filePath`` for ``file_path``. For anything else the model gets an error that says what is
expected.
"""

import json
import re
from typing import TYPE_CHECKING, Any, TypeVar, cast

from agent.records.errors import InvalidArguments
from agent.records.json import Json, JsonObject, encodable
from agent.records.requests import PermissionReply

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

    from agent.tools.core.tool_args import ToolArgs
from agent.tools.core.truncate import encodable_json

MAX_ISSUES = 5
MAX_ISSUE_LENGTH = 240
MAX_ROUNDS = 3
"""Rounds of repair and validation; each can reveal a deeper slip."""

MAX_QUOTED = 40

ArgsT = TypeVar("ArgsT", bound="ToolArgs")

_JSON_TYPES = {
    "int": "integer",
    "float": "number",
    "bool": "true or false",
    "string": "string",
    "list": "list",
    "tuple": "list",
    "set": "list",
    "dict": "object",
    "model": "object",
    "dataclass": "object",
    "none": "null",
}
"""The first word of pydantic's error types → the name of the type in JSON."""

_BOUNDS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
    "multiple_of": ("a multiple of", "multiple_of"),
}


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def parse_arguments(raw: str) -> JsonObject:
    """Return the arguments in *raw*. Raises ``InvalidArguments``, which quotes what is wrong."""
    if raw.strip() in {"", "null"}:
        return {}
    value = _load_json(raw)
    if isinstance(value, str):
        value = _load_json(value) if value.strip() else {}
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidArguments(
            f"Please rewrite the input with valid arguments. Errors: expected a JSON object, "
            f"got {_quote(value)}"
        )
    return cast("JsonObject", encodable_json(value))


def _load_json(raw: str) -> Json:
    try:
        return json.loads(raw, parse_constant=_refuse_constant, strict=False)
    except json.JSONDecodeError as error:
        start = max(0, error.pos - 20)
        near = raw[start : error.pos + 20]
        detail = f"{error.msg} at character {error.pos + 1}, near {json.dumps(near)}"
    except RecursionError:
        detail = "it is nested too deeply"
    except ValueError as error:
        detail = str(error)[:MAX_ISSUE_LENGTH]
    raise InvalidArguments(
        "Please rewrite the input with valid arguments; the call was not run. "
        f"Errors: the arguments are not valid JSON: {detail}"
    )


def validate(model: type[ArgsT], values: JsonObject) -> tuple[ArgsT, JsonObject]:
    """Return *values* as *model*, and the values after repair.

    Raises ``InvalidArguments`` with an instruction to try again.
    """
    from pydantic import ValidationError  # the model has loaded it

    for _ in range(MAX_ROUNDS):
        try:
            return model.model_validate(values), values
        except ValidationError as error:
            issues = error.errors(include_url=False)
            repaired = _repair(model, values, issues)
            if repaired is None:
                raise InvalidArguments(_error_message(model, issues)) from None
            values = repaired
    try:
        return model.model_validate(values), values
    except ValidationError as error:
        raise InvalidArguments(_error_message(model, error.errors(include_url=False))) from None


def _repair(
    model: "type[ToolArgs]", values: JsonObject, issues: "list[ErrorDetails]"
) -> JsonObject | None:
    """Return a copy of *values* with all safe repairs made, None without any."""
    result = cast("JsonObject", json.loads(json.dumps(values)))
    changed = False
    for issue in issues:
        holder = _container_of(result, issue["loc"])
        if holder is not None:
            changed = _repair_value(model, holder, issue["loc"], issue) or changed
    return result if changed else None


def _container_of(
    values: JsonObject, loc: tuple[int | str, ...]
) -> dict[Any, Any] | list[Any] | None:
    """Return the object or list that contains the value at *loc*, None if there is no such path
    in the input."""
    holder: Any = values
    for key in loc[:-1]:
        try:
            holder = holder[key]
        except (KeyError, IndexError, TypeError):
            return None
    if not loc or not isinstance(holder, dict | list):
        return None
    return cast("dict[Any, Any] | list[Any]", holder)


def _repair_value(
    model: "type[ToolArgs]",
    holder: dict[Any, Any] | list[Any],
    loc: tuple[int | str, ...],
    issue: "ErrorDetails",
) -> bool:
    key: Any = loc[-1]
    kind = issue["type"]
    value: Any = issue["input"]
    if kind == "extra_forbidden" and isinstance(holder, dict):
        return _repair_key(model if len(loc) == 1 else None, holder, key)
    if kind == "missing":
        return False
    try:
        held = holder[key]
    except (KeyError, IndexError, TypeError):
        return False
    if held != value:
        return False
    if value is None and isinstance(holder, dict):
        field = model.model_fields.get(str(key)) if len(loc) == 1 else None
        if field is not None and field.is_required():
            return False
        del holder[key]
        return True
    if kind == "string_type" and isinstance(value, int | float) and not isinstance(value, bool):
        holder[key] = json.dumps(value)
        return True
    word = _JSON_TYPES.get(kind.partition("_")[0])
    if isinstance(value, str) and word in {"list", "object"}:
        wanted = list if word == "list" else dict
        try:
            parsed = json.loads(value)
        except (ValueError, RecursionError):
            return False
        if isinstance(parsed, wanted):
            holder[key] = encodable_json(cast("Json", parsed))
            return True
    return False


def _repair_key(model: "type[ToolArgs] | None", holder: dict[Any, Any], key: Any) -> bool:
    """Replace an unknown key by the known one that is spelled alike; drop an unknown null."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-\s]+", "_", str(key)).lower()
    if model is not None and snake != key and snake in model.model_fields and snake not in holder:
        holder[snake] = holder.pop(key)
        return True
    if holder[key] is None:
        del holder[key]
        return True
    return False


def _error_message(model: "type[ToolArgs]", issues: "list[ErrorDetails]") -> str:
    shown = [_cut(_issue_text(model, issue)) for issue in issues[:MAX_ISSUES]]
    more = len(issues) - len(shown)
    tail = f"; and {more} more" if more else ""
    return f"Please rewrite the input with valid arguments. Errors: {'; '.join(shown)}{tail}"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_ISSUE_LENGTH else text[: MAX_ISSUE_LENGTH - 1] + "…"


def _issue_text(model: "type[ToolArgs]", issue: "ErrorDetails") -> str:
    place = ".".join(str(part) for part in issue["loc"])
    problem = _problem_text(model, issue)
    return f"{place}: {problem}" if place else problem


def _problem_text(model: "type[ToolArgs]", issue: "ErrorDetails") -> str:
    kind = issue["type"]
    context = issue.get("ctx", {})
    got = _quote(issue["input"])
    if kind == "missing":
        return "field required"
    if kind == "extra_forbidden":
        known = (
            f" (known fields: {', '.join(model.model_fields)})" if len(issue["loc"]) == 1 else ""
        )
        return f"unknown field{known}"
    if kind in {"literal_error", "enum"}:
        return f"expected {context.get('expected', 'another value')}, got {got}"
    if kind in _BOUNDS:
        words, name = _BOUNDS[kind]
        return f"must be {words} {context.get(name)}, got {got}"
    if kind.endswith("_too_short"):
        return "must not be empty" if context.get("min_length") == 1 else f"too short: {got}"
    if kind.endswith("_too_long"):
        return f"longer than {context.get('max_length')}"
    if kind == "value_error":
        return str(context.get("error", issue["msg"]))
    expected = _JSON_TYPES.get(kind.partition("_")[0])
    if expected is not None:
        return f"expected {expected}, got {got}"
    return issue["msg"][:1].lower() + issue["msg"][1:]


def _quote(value: Any) -> str:
    """Return *value* as JSON, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = type(value).__name__
    return text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 1] + "…"


def with_edited_command(
    args: "type[BaseModel]", given: JsonObject, reply: PermissionReply | None
) -> JsonObject | None:
    """Return *given* with the command as the user edited it, None if it is unchanged."""
    if reply is None or reply.edited_command is None or "command" not in args.model_fields:
        return None
    command = encodable(reply.edited_command)
    if command.strip() == str(given.get("command", "")).strip():
        return None
    return {**given, "command": command}
