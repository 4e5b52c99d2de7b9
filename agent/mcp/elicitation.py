"""Elicitation: a server asks the user during a call, each time through questions.

A form becomes one question per field. A user who dismisses one sends nothing at all.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Literal

from agent.mcp.schemas import check_arguments
from agent.records.errors import InvalidArguments, PermissionRejected, ToolError
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.json import Json, JsonObject
from agent.records.requests import Question, QuestionOption, QuestionReply
from agent.tools.core.base import ToolContext
from agent.tools.core.clean_text import without_invisible

MAX_FIELDS = 30
MAX_TRIES = 3
"""Attempts per field when the answer does not fit."""

ACCEPT, REFUSE = "Continue", "Refuse"

_FORMATS = {
    "email": re.compile(r"[^@\s]+@[^@\s]+"),
    "uri": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+"),
    "date": re.compile(r"\d{4}-\d{2}-\d{2}"),
    "date-time": re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}\S*"),
}

Ask = Callable[[Question, Callable[[str | None], None]], Awaitable[QuestionReply]]


@frozen
class ElicitationResult:
    """The user's answer to a server."""

    action: Literal["accept", "decline", "cancel"]
    content: JsonObject
    """The fields of an accepted form."""


@frozen
class Elicitation:
    """Asks the user of the call *context* on behalf of *server*."""

    server: str
    context: ToolContext
    ask: Ask

    async def form(self, message: str, schema: JsonObject) -> ElicitationResult:
        """Ask for each field of a form."""
        try:
            return await self._form(message, schema)
        except ToolError:  # no user is there
            return ElicitationResult("decline", {})
        except PermissionRejected:
            return ElicitationResult("cancel", {})

    async def open_url(self, message: str, url: str) -> ElicitationResult:
        """Ask the user to open *url*, which is shown in full and opened only by the user."""
        return await self.form(f"{message}\nThe server asks you to open: {url}", {})

    async def _form(self, message: str, schema: JsonObject) -> ElicitationResult:
        properties = schema.get("properties")
        fields = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        needed = required if isinstance(required, list) else []
        if not fields:
            return await self._confirmation(message)
        if len(fields) > MAX_FIELDS:
            return ElicitationResult("decline", {})
        content: JsonObject = {}
        for number, (name, field) in enumerate(fields.items(), 1):
            spec = field if isinstance(field, dict) else {}
            place = (number, len(fields))
            given = await self._field(message, name, spec, place, needed=name in needed)
            if given is None:
                return ElicitationResult("cancel", {})
            content.update(given)
        return ElicitationResult("accept", content)

    async def _field(
        self, message: str, name: str, spec: JsonObject, place: tuple[int, int], *, needed: bool
    ) -> JsonObject | None:
        """Ask for one field; return an object with it, or an empty one if it was left out. None to
        cancel."""
        label = " · ".join(
            str(t) for t in (spec.get("title") or name, spec.get("description")) if t
        )
        default = f", default {_default_text(spec['default'])}" if "default" in spec else ""
        left = f" (optional{default})" if default or not needed else ""
        text, wrong = f"{message}\n{label}{left}", ""
        for _ in range(MAX_TRIES):
            reply = await self._question(text + wrong, spec, place)
            if reply.dismissed:
                return None
            if not reply.labels and not reply.text.strip():
                if "default" in spec:
                    return {name: spec["default"]}
                if not needed:
                    return {}
                wrong = "\n(required)"
                continue
            value = parse_reply(reply, spec)
            wrong = f"\n({problem_with(value, spec)})"
            if wrong == "\n()":
                return {name: value}
        return None

    async def _confirmation(self, message: str) -> ElicitationResult:
        """Ask for a yes or no."""
        reply = await self._question(message, {"enum": [ACCEPT, REFUSE]}, (1, 1))
        if reply.dismissed:
            return ElicitationResult("cancel", {})
        return ElicitationResult("accept" if reply.labels == (ACCEPT,) else "decline", {})

    async def _question(self, text: str, spec: JsonObject, place: tuple[int, int]) -> QuestionReply:
        question = Question(
            id=new_id("que"),
            session_id=self.context.session_id,
            root_id=self.context.root_id,
            header=without_invisible(self.server)[:30],
            text=without_invisible(f"The MCP server {self.server} asks: {text}"),
            options=tuple(QuestionOption(without_invisible(label)) for label in choices_of(spec)),
            multiple=spec.get("type") == "array",
            agent=self.context.agent,
            number=place[0],
            total=place[1],
        )
        return await self.ask(question, self.context.on_request)


def choices_of(spec: JsonObject) -> dict[str, Json]:
    """Return the choices of a field, values by label."""
    if spec.get("type") == "boolean":
        return {"Yes": True, "No": False}
    if spec.get("type") == "array":
        items = spec.get("items")
        return choices_of(items) if isinstance(items, dict) else {}
    for key in ("oneOf", "anyOf"):
        named = spec.get(key)
        if isinstance(named, list):
            return {
                str(one.get("title", one["const"])): one["const"]
                for one in named
                if isinstance(one, dict) and "const" in one
            }
    values, names = spec.get("enum"), spec.get("enumNames")
    if not isinstance(values, list):
        return {}
    shown = names if isinstance(names, list) and len(names) == len(values) else values
    return {str(label): value for label, value in zip(shown, values, strict=True)}


def parse_reply(reply: QuestionReply, spec: JsonObject) -> Json:
    """Return the user's answer as the type of the field, or as typed if it does not fit."""
    choices, typed = (
        {without_invisible(k): v for k, v in choices_of(spec).items()},
        reply.text.strip(),
    )
    if spec.get("type") == "array":
        typed_choices = [part.strip() for part in typed.split(",") if part.strip()]
        return [choices.get(one, one) for one in (*reply.labels, *typed_choices)]
    answer = reply.labels[0] if reply.labels else typed
    if answer in choices:
        return choices[answer]
    try:
        if spec.get("type") == "integer":
            return int(answer)
        if spec.get("type") == "number":
            return float(answer)
    except ValueError:
        pass
    return answer


def problem_with(value: Json, spec: JsonObject) -> str:
    """Return what is wrong with *value*, "" if it fits the field."""
    try:
        check_arguments({"it": value}, {"type": "object", "properties": {"it": _flattened(spec)}})
    except InvalidArguments as error:
        return re.sub(r"^it(\[\d+\])?: ", "", str(error).partition("Errors: ")[2])
    pattern = _FORMATS.get(str(spec.get("format")))
    if pattern and isinstance(value, str) and not pattern.fullmatch(value):
        return f"it must have the format {spec['format']}"
    return ""


def _flattened(spec: JsonObject) -> JsonObject:
    """Return *spec* with its choices as plain values, of which one is accepted."""
    items = spec.get("items")
    if spec.get("type") == "array" and isinstance(items, dict):
        return {**spec, "items": _flattened(items)}
    choices = choices_of(spec)
    kept = {key: value for key, value in spec.items() if key not in {"oneOf", "anyOf", "enum"}}
    return {**kept, "enum": list(choices.values())} if choices else kept


def _default_text(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
