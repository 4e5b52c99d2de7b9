"""What a server asks the user in the middle of a call: each time, as questions (spec 10, X4).

A form becomes one question for each of its fields. Whoever closes one gives nothing at all.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from agent.errors import PermissionRejected, ToolError
from agent.ids import new_id
from agent.jsontypes import Json, JsonObject
from agent.questions import Question, QuestionOption, QuestionReply
from agent.tools.base import ToolContext
from agent.tools.web_text import visible

MOST_FIELDS = 10
TRIES = 3
"""How often a field is asked for whose answer does not fit."""

ACCEPT, REFUSE = "Go on", "Refuse"

Ask = Callable[[Question, Callable[[str | None], None]], Awaitable[QuestionReply]]


@dataclass(frozen=True, slots=True)
class Elicited:
    """*content* holds the fields, for an accepted form alone."""

    action: Literal["accept", "decline", "cancel"]
    content: JsonObject


@dataclass(frozen=True, slots=True)
class Eliciting:
    """Asks the user of the call *context* on behalf of *server*."""

    server: str
    context: ToolContext
    ask: Ask

    async def form(self, message: str, schema: JsonObject) -> Elicited:
        """The answers to a form, or the word that there are none."""
        try:
            return await self._form(message, schema)
        except ToolError:  # nobody is there
            return Elicited("decline", {})
        except PermissionRejected:
            return Elicited("cancel", {})

    async def address(self, message: str, url: str) -> Elicited:
        """Whether the user has gone to *url*, which is shown whole and opened by nobody else."""
        return await self.form(f"{message}\nIt wants you to open: {url}", {})

    async def _form(self, message: str, schema: JsonObject) -> Elicited:
        properties = schema.get("properties")
        fields = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        needed = required if isinstance(required, list) else []
        if not fields:
            reply = await self._question(message, (ACCEPT, REFUSE), 1, 1)
            action = "accept" if reply.labels == (ACCEPT,) else "decline"
            return Elicited("cancel" if reply.dismissed else action, {})
        if len(fields) > MOST_FIELDS:
            return Elicited("decline", {})
        content: JsonObject = {}
        for number, (name, field) in enumerate(fields.items(), 1):
            spec = field if isinstance(field, dict) else {}
            place = (number, len(fields))
            given = await self._field(message, name, spec, place, needed=name in needed)
            if given is None:
                return Elicited("cancel", {})
            content.update(given)
        return Elicited("accept", content)

    async def _field(
        self, message: str, name: str, spec: JsonObject, place: tuple[int, int], *, needed: bool
    ) -> JsonObject | None:
        """The field as an object with it, an empty one where it may be left out; None to stop."""
        choices = choices_of(spec)
        told = " · ".join(str(t) for t in (spec.get("title") or name, spec.get("description")) if t)
        default = f", then it is {spec['default']}" if "default" in spec else ""
        left = f" (may be left empty{default})" if default or not needed else ""
        text = f"{message}\n{told}{left}"
        for _ in range(TRIES):
            reply = await self._question(text, tuple(choices), *place)
            if reply.dismissed:
                return None
            said = reply.labels[0] if reply.labels else reply.text.strip()
            if not said and "default" in spec:
                return {name: spec["default"]}
            if not said and not needed:
                return {}
            value = choices[said] if said in choices else read(said, spec)
            if value is not None and said:
                return {name: value}
        return None

    async def _question(
        self, text: str, options: tuple[str, ...], number: int, total: int
    ) -> QuestionReply:
        question = Question(
            id=new_id("que"),
            session_id=self.context.session_id,
            root_id=self.context.root_id,
            header=visible(self.server)[:30],
            text=visible(f"The MCP server {self.server} asks: {text}"),
            options=tuple(QuestionOption(visible(label)) for label in options),
            agent=self.context.agent,
            number=number,
            total=total,
        )
        return await self.ask(question, self.context.waiting)


def choices_of(spec: JsonObject) -> dict[str, Json]:
    """What may be chosen for a field: the value by what is shown of it."""
    if spec.get("type") == "boolean":
        return {"Yes": True, "No": False}
    named = spec.get("oneOf")
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


def read(said: str, spec: JsonObject) -> Json:
    """*said* as the kind that the field wants; None if it is none."""
    kind = spec.get("type", "string")
    if kind == "string" and not choices_of(spec):
        return said
    try:
        if kind == "integer":
            return int(said)
        if kind == "number":
            return float(said)
    except ValueError:
        return None
    return None
