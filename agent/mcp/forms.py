"""Forms of MCP servers: their fields, the values of answers, and what is wrong with them.

Fields are flat: text, numbers, yes or no, and choices. Each front end asks for them in its own
way, with ``read_answer`` and ``form_problems``.
"""

import math
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from typing import Literal

from agent.mcp.schemas import faults_of
from agent.records.errors import PermissionRejected, ToolError
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.json import Json, JsonObject
from agent.records.requests import FormField, Question, QuestionOption, QuestionReply
from agent.tools.core.tool import ToolContext
from agent.tools.core.truncate import without_invisible

_CHOICE_KEYWORDS = frozenset({"enum", "enumNames", "oneOf", "anyOf", "items"})

_FORMATS = {
    "email": (re.compile(r"[^@\s]+@[^@\s]+"), "name@example.com"),
    "uri": (re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+"), "https://example.com"),
    "date": (re.compile(r"\d{4}-\d{2}-\d{2}"), "2026-01-31"),
    "date-time": (re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}\S*"), "2026-01-31T12:00:00Z"),
}
"""The pattern of each format and an example."""

_TYPES = {"integer": "a whole number", "number": "a number"}

_LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} of them",
    "maxItems": "at most {} of them",
}

REQUIRED = "required"

PATTERN_TIME = 0.2
"""Seconds that a pattern of a server can take: some never end. The server itself checks the value
then."""

MAX_PATTERN = 60
"""Characters of a pattern that are shown."""


def read_form(schema: JsonObject) -> tuple[FormField, ...]:
    """Return the fields of a form with the schema of a server."""
    properties, required = schema.get("properties"), schema.get("required")
    needed = required if isinstance(required, list) else []
    return tuple(
        _field(name, spec if isinstance(spec, dict) else {}, required=name in needed)
        for name, spec in (properties.items() if isinstance(properties, dict) else ())
    )


def _field(name: str, spec: JsonObject, *, required: bool) -> FormField:
    multiple = spec.get("type") == "array"
    items = spec.get("items")
    choices = _choices(items if multiple and isinstance(items, dict) else spec)
    label, note = (
        without_invisible(str(spec.get(key) or "")).strip() for key in ("title", "description")
    )
    schema: JsonObject = {k: v for k, v in spec.items() if k not in _CHOICE_KEYWORDS}
    if choices and spec.get("type") != "boolean":
        titled: list[Json] = [{"const": value, "title": key} for key, value in choices.items()]
        schema |= {"items": {"anyOf": titled}} if multiple else {"oneOf": titled}
    elif multiple and items is not None:
        schema["items"] = items
    given = spec.get("default")
    values = given if isinstance(given, list) else [] if given is None else [given]
    labels = {_key(value): key for key, value in choices.items()}
    return FormField(
        name=name,
        label=label or without_invisible(name),
        schema=schema,
        note=note,
        choices=choices,
        multiple=multiple,
        required=required,
        default=tuple(labels.get(_key(value), str(value)) for value in values),
    )


def _choices(spec: JsonObject) -> dict[str, Json]:
    """Return the choices of a field, values by label. Equal labels are told apart by the value."""
    if spec.get("type") == "boolean":
        return {"Yes": True, "No": False}
    made: dict[str, Json] = {}
    for title, value in _titled(spec):
        label = without_invisible(str(title)).strip() or "(empty)"
        made[f"{label} ({value})" if label in made else label] = value
    return made


def _titled(spec: JsonObject) -> Iterable[tuple[Json, Json]]:
    for key in ("oneOf", "anyOf"):
        named = spec.get(key)
        if isinstance(named, list):
            each = [one for one in named if isinstance(one, dict) and "const" in one]
            return [(one.get("title", one["const"]), one["const"]) for one in each]
    values, names = spec.get("enum"), spec.get("enumNames")
    if not isinstance(values, list):
        return ()
    shown = names if isinstance(names, list) and len(names) == len(values) else values
    return zip(shown, values, strict=True)


def _key(value: Json) -> tuple[type, str]:
    """Return a key that tells 1, True and "1" apart."""
    return type(value), str(value)


def hint_of(field: FormField) -> str:
    """Return what a field of text expects, "" for any text."""
    kind = _TYPES.get(str(field.schema.get("type")), "")
    _, example = _FORMATS.get(str(field.schema.get("format")), (None, ""))
    limits = [
        form.format(field.schema[keyword])
        for keyword, form in _LIMITS.items()
        if keyword in field.schema
    ]
    return ", ".join(
        part for part in (kind, example, *limits, *map(_in_words, _patterns(field))) if part
    )


def read_answer(field: FormField, given: Sequence[str]) -> Json:
    """Return the value of the chosen labels or the typed text, as typed where it does not fit.

    None if the field is left out.
    """
    if field.multiple:
        listed = given if field.choices else (part for one in given for part in one.split(","))
        chosen = [word.strip() for word in listed if word.strip()]
        if chosen or field.required:
            return [field.choices.get(word, word) for word in chosen]
        return None
    text = given[0].strip() if given else ""
    if text in field.choices:
        return field.choices[text]
    try:
        number = {"integer": int, "number": float}[str(field.schema.get("type"))](text)
    except (KeyError, ValueError):
        return text or None
    return number if math.isfinite(number) else text


def form_values(answers: Iterable[tuple[FormField, Sequence[str]]]) -> JsonObject:
    """Return the values of fields with what was chosen or typed for each."""
    read = ((field.name, read_answer(field, given)) for field, given in answers)
    return {name: value for name, value in read if value is not None}


def form_problems(fields: Iterable[FormField], values: JsonObject) -> dict[str, str]:
    """Return what is wrong with the *values* of a form, by field."""
    found: dict[str, str] = {}
    for field in fields:
        if field.name in values:
            if problem := _problem(field, values[field.name]):
                found[field.name] = problem
        elif field.required:
            found[field.name] = REQUIRED
    return found


def _problem(field: FormField, value: Json) -> str:
    """Return what is wrong with *value*, "" if it fits the field."""
    known = {_key(one) for one in field.choices.values()}
    chosen = value if isinstance(value, list) else [value]
    if known and not all(_key(one) in known for one in chosen):
        return f"choose from {', '.join(field.choices)}"
    choices = _CHOICE_KEYWORDS if known else frozenset[str]()
    for fault in faults_of(value, {k: v for k, v in field.schema.items() if k not in choices}):
        if fault.validator == "type" and fault.validator_value in _TYPES:
            return f"enter {_TYPES[str(fault.validator_value)]}"
        limit = _LIMITS.get(fault.validator)
        return limit.format(fault.validator_value) if limit else fault.message
    for pattern in _patterns(field):
        if not all(_matches(pattern, one) for one in chosen if isinstance(one, str)):
            return f"enter text {_in_words(pattern)}"
    pattern, example = _FORMATS.get(str(field.schema.get("format")), (None, ""))
    if pattern is None or not isinstance(value, str):
        return ""
    return "" if pattern.fullmatch(value) and _exists(field, value) else f"enter it as {example}"


def _patterns(field: FormField) -> Iterable[str]:
    """Return the patterns that each value of a field has to match."""
    given = (field.schema, field.schema.get("items"))
    found = (one.get("pattern") for one in given if isinstance(one, dict))
    return tuple(pattern for pattern in found if isinstance(pattern, str))


def _in_words(pattern: str) -> str:
    shown = without_invisible(pattern)
    return f"that matches {shown if len(shown) <= MAX_PATTERN else shown[:MAX_PATTERN] + '…'}"


def _matches(pattern: str, value: str) -> bool:
    """Return whether *value* has a match of *pattern*; true if that cannot be found out."""
    import regex  # for forms with a pattern only; it can be stopped, and knows JavaScript's classes

    try:
        return regex.search(pattern, value, timeout=PATTERN_TIME) is not None
    except (regex.error, TimeoutError, ValueError, OverflowError):
        return True


def _exists(field: FormField, value: str) -> bool:
    """Return whether *value* is a day of the calendar, where the format wants one."""
    if not str(field.schema["format"]).startswith("date"):
        return True
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


# Elicitation: a server asks the user during a call, with a form or to open a page.

MAX_FIELDS = 30
MAX_TRIES = 3
"""Attempts at a form in a front end that does not check the values itself."""

ACCEPT, REFUSE = "Continue", "Refuse"

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
        """Ask for the fields of a form, or for a yes or no if it has none."""
        fields = read_form(schema)
        try:
            if len(fields) > MAX_FIELDS:
                return ElicitationResult("decline", {})
            return await (self._filled(message, fields) if fields else self._confirmed(message))
        except ToolError:  # no user is there
            return ElicitationResult("decline", {})
        except PermissionRejected:
            return ElicitationResult("cancel", {})

    async def open_url(self, message: str, url: str) -> ElicitationResult:
        """Ask the user to open *url*, which is shown in full and opened only by the user."""
        return await self.form(f"{message}\nThe server asks you to open: {url}", {})

    async def _filled(self, message: str, fields: tuple[FormField, ...]) -> ElicitationResult:
        text = message
        for _ in range(MAX_TRIES):
            reply = await self._ask(text, fields=fields)
            if reply.declined:
                return ElicitationResult("decline", {})
            if reply.values is None:
                break
            problems = form_problems(fields, reply.values)
            if not problems:
                names = {field.name for field in fields}
                content = {name: v for name, v in reply.values.items() if name in names}
                return ElicitationResult("accept", content)
            labels = {field.name: field.label for field in fields}
            wrong = (f"{labels[name]}: {problem}" for name, problem in problems.items())
            text = "\n".join((message, *wrong))
        return ElicitationResult("cancel", {})

    async def _confirmed(self, message: str) -> ElicitationResult:
        """Ask for a yes or no."""
        reply = await self._ask(message, (QuestionOption(ACCEPT), QuestionOption(REFUSE)))
        if reply.dismissed:
            return ElicitationResult("cancel", {})
        return ElicitationResult("accept" if reply.labels == (ACCEPT,) else "decline", {})

    async def _ask(
        self,
        text: str,
        options: tuple[QuestionOption, ...] = (),
        fields: tuple[FormField, ...] = (),
    ) -> QuestionReply:
        question = Question(
            id=new_id("que"),
            session_id=self.context.session_id,
            root_id=self.context.root_id,
            header=without_invisible(self.server)[:30],
            text=without_invisible(f"The MCP server {self.server} asks: {text}"),
            options=options,
            agent=self.context.agent,
            fields=fields,
            message_id=self.context.message_id,
            call_id=self.context.call_id,
        )
        return await self.ask(question, self.context.on_request)
