"""What a server asks the user in the middle of a call: each time, as questions (spec 10, X4).

A form becomes one question for each of its fields. Whoever closes one gives nothing at all.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from agent.mcp.schemas import check_arguments
from agent.records.errors import InvalidArguments, PermissionRejected, ToolError
from agent.records.ids import new_id
from agent.records.json import Json, JsonObject
from agent.records.requests import Question, QuestionOption, QuestionReply
from agent.tools.core.base import ToolContext
from agent.tools.core.clean_text import without_invisible

MAX_FIELDS = 30
MAX_TRIES = 3
"""How often a field is asked for whose answer does not fit."""

ACCEPT, REFUSE = "Go on", "Refuse"

_FORMS = {
    "email": re.compile(r"[^@\s]+@[^@\s]+"),
    "uri": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+"),
    "date": re.compile(r"\d{4}-\d{2}-\d{2}"),
    "date-time": re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}\S*"),
}

Ask = Callable[[Question, Callable[[str | None], None]], Awaitable[QuestionReply]]


@dataclass(frozen=True, slots=True)
class ElicitationResult:
    """*content* holds the fields, for an accepted form alone."""

    action: Literal["accept", "decline", "cancel"]
    content: JsonObject


@dataclass(frozen=True, slots=True)
class Elicitation:
    """Asks the user of the call *context* on behalf of *server*."""

    server: str
    context: ToolContext
    ask: Ask

    async def form(self, message: str, schema: JsonObject) -> ElicitationResult:
        """The answers to a form, or the word that there are none."""
        try:
            return await self._form(message, schema)
        except ToolError:  # nobody is there
            return ElicitationResult("decline", {})
        except PermissionRejected:
            return ElicitationResult("cancel", {})

    async def address(self, message: str, url: str) -> ElicitationResult:
        """Whether the user has gone to *url*, which is shown whole and opened by nobody else."""
        return await self.form(f"{message}\nIt wants you to open: {url}", {})

    async def _form(self, message: str, schema: JsonObject) -> ElicitationResult:
        properties = schema.get("properties")
        fields = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        needed = required if isinstance(required, list) else []
        if not fields:
            return await self._agreed(message)
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
        """The field as an object with it, an empty one where it may be left out; None to stop."""
        told = " · ".join(str(t) for t in (spec.get("title") or name, spec.get("description")) if t)
        default = f", then it is {_spoken(spec['default'])}" if "default" in spec else ""
        left = f" (may be left empty{default})" if default or not needed else ""
        text, wrong = f"{message}\n{told}{left}", ""
        for _ in range(MAX_TRIES):
            reply = await self._question(text + wrong, spec, place)
            if reply.dismissed:
                return None
            if not reply.labels and not reply.text.strip():
                if "default" in spec:
                    return {name: spec["default"]}
                if not needed:
                    return {}
                wrong = "\n(it is needed)"
                continue
            value = parse_reply(reply, spec)
            wrong = f"\n({problem_with(value, spec)})"
            if wrong == "\n()":
                return {name: value}
        return None

    async def _agreed(self, message: str) -> ElicitationResult:
        """The answer to what asks for no more than a yes."""
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
    """What may be chosen for a field: the value by what is shown of it."""
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
    """The answer as the kind that the field wants, as it was typed where it is none."""
    choices, typed = (
        {without_invisible(k): v for k, v in choices_of(spec).items()},
        reply.text.strip(),
    )
    if spec.get("type") == "array":
        words = [word.strip() for word in typed.split(",") if word.strip()]
        return [choices.get(word, word) for word in (*reply.labels, *words)]
    said = reply.labels[0] if reply.labels else typed
    if said in choices:
        return choices[said]
    try:
        if spec.get("type") == "integer":
            return int(said)
        if spec.get("type") == "number":
            return float(said)
    except ValueError:
        pass
    return said


def problem_with(value: Json, spec: JsonObject) -> str:
    """What is wrong with *value*, "" if it fits the field."""
    try:
        check_arguments({"it": value}, {"type": "object", "properties": {"it": _plain(spec)}})
    except InvalidArguments as error:
        return re.sub(r"^it(\[\d+\])?: ", "", str(error).partition("Errors: ")[2])
    pattern = _FORMS.get(str(spec.get("format")))
    if pattern and isinstance(value, str) and not pattern.fullmatch(value):
        return f"it has to be of the form {spec['format']}"
    return ""


def _plain(spec: JsonObject) -> JsonObject:
    """*spec* with its choices as values alone, of which one is taken."""
    items = spec.get("items")
    if spec.get("type") == "array" and isinstance(items, dict):
        return {**spec, "items": _plain(items)}
    choices = choices_of(spec)
    kept = {key: value for key, value in spec.items() if key not in {"oneOf", "anyOf", "enum"}}
    return {**kept, "enum": list(choices.values())} if choices else kept


def _spoken(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
