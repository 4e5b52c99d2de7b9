"""Permission requests and questions of the model, put to the user through the client."""

import logging
from collections.abc import Coroutine
from dataclasses import KW_ONLY, dataclass
from typing import Any, cast

from acp import schema
from acp.exceptions import RequestError
from acp.helpers import update_tool_call
from acp.interfaces import Client
from pydantic import ValidationError

from agent.records.decisions import explain_verdict
from agent.records.json import JsonObject
from agent.records.requests import (
    FormField,
    PermissionReply,
    PermissionRequest,
    Question,
    QuestionOption,
    QuestionReply,
)
from agent.records.sandbox import sandbox_label
from agent.records.tool_facts import kind_of
from agent.runtime.runtime import Runtime
from app.acp.tool_content import content_of, locations_of, text_content
from app.acp.updates import UpdateBuilder, call_title
from app.text.sanitize import sanitize, sanitize_line

log = logging.getLogger(__name__)

NO_ANSWER = (RequestError, ValidationError, ConnectionError)
"""Errors after which a request gets no answer of the user: the client refused to show it, answered
something else than the protocol has, or is gone."""

MAX_PATTERN_SHOWN = 60
"""Characters of a pattern on a button; the content shows the whole of it."""

CANNOT_ASK_QUESTION = (
    "The editor cannot show this question. Put the question into your answer instead, and stop "
    "there."
)
CANNOT_ASK_PERMISSION = (
    "The editor could not ask the user for permission, so it was refused. Do it another way, "
    "or finish without it and say what is left to do."
)


@dataclass(slots=True, eq=False)
class RequestPrompter:
    """Sends requests to the client and passes on the replies.

    *session_id* is the session that the client has open, *root_id* the root of its tree; *forms* is
    true if the client shows forms.
    """

    runtime: Runtime
    client: Client
    session_id: str
    root_id: str
    updates: UpdateBuilder
    _: KW_ONLY
    forms: bool

    async def permission(self, request: PermissionRequest) -> None:
        """Prompt for a permission and reply, unless the request was settled meanwhile."""
        call = self._call(request)
        known = self.updates.call_of(request.message_id, request.call_id) is not None
        options = [schema.PermissionOption(option_id="once", name="Allow once", kind="allow_once")]
        if request.always:
            options.append(
                schema.PermissionOption(
                    option_id="always", name=_always(request), kind="allow_always"
                )
            )
        options.append(
            schema.PermissionOption(option_id="reject", name="Reject", kind="reject_once")
        )
        try:
            answer = await self._choice(call, options, known=known)
        except NO_ANSWER:
            log.warning("the client could not ask for permission", exc_info=True)
            self.runtime.permissions.refuse(request.id, CANNOT_ASK_PERMISSION)
            return
        if answer == "once":
            reply = PermissionReply("once")
        elif answer == "always" and request.always:
            reply = PermissionReply("always")
        else:
            reply = PermissionReply("reject")
        self.runtime.permissions.reply(request.id, reply)

    async def question(self, question: Question) -> None:
        """Prompt for an answer to the model's question in a form, else with buttons."""
        reply = await self._form(question) if self.forms else None
        if reply is not None:
            self.runtime.questions.reply(question.id, reply)
            return
        await self._buttons(question)

    async def _form(self, question: Question) -> QuestionReply | None:
        """Return the reply of a form, None if the client does not show it after all."""
        try:
            return await ask_in_form(self.client, self.session_id, question)
        except NO_ANSWER:
            log.warning("the client offers forms and does not show one", exc_info=True)
            return None

    async def _buttons(self, question: Question) -> None:
        """Prompt with buttons: they allow one answer, and none in the user's own words."""
        service = self.runtime.questions
        try:
            if question.options:
                chosen = await self._pressed(question.id, question.text, question.options)
                reply = QuestionReply(chosen, dismissed=not chosen)
            elif _fits_buttons(question.fields):
                reply = await self._form_of_buttons(question)
            else:
                service.decline(question.id, CANNOT_ASK_QUESTION)
                return
        except NO_ANSWER:
            log.warning("the client could not ask a question", exc_info=True)
            service.decline(question.id, CANNOT_ASK_QUESTION)
            return
        service.reply(question.id, reply)

    async def _form_of_buttons(self, question: Question) -> QuestionReply:
        """Return the reply to a form of choices, made one after the other."""
        values: JsonObject = {}
        for form_field in question.fields:
            text = "\n".join(filter(None, (question.text, form_field.label, form_field.note)))
            options = tuple(QuestionOption(label) for label in form_field.choices)
            chosen = await self._pressed(f"{question.id}-{form_field.name}", text, options)
            if chosen:
                values[form_field.name] = form_field.choices[chosen[0]]
            elif form_field.required:
                return QuestionReply(dismissed=True)
        return QuestionReply(values=values)

    async def _pressed(
        self, call_id: str, text: str, offered: tuple[QuestionOption, ...]
    ) -> tuple[str, ...]:
        """Return the label of the button that the user pressed, nothing for "Skip"."""
        options = [
            schema.PermissionOption(
                option_id=str(number), name=sanitize_line(option.label), kind="allow_once"
            )
            for number, option in enumerate(offered)
        ]
        options.append(schema.PermissionOption(option_id="skip", name="Skip", kind="reject_once"))
        notes = [
            sanitize_line(f"{option.label}: {option.description}")
            for option in offered
            if option.description
        ]
        call = update_tool_call(
            call_id,
            title=sanitize_line(text),
            kind="other",
            status="pending",
            content=[text_content("\n".join((sanitize(text), *notes)))],
        )
        answer = await self._choice(call, options, known=False)
        known = answer.isdecimal() and int(answer) < len(offered)
        return (offered[int(answer)].label,) if known else ()

    def pending(self) -> list[Coroutine[None, None, None]]:
        """Return a prompt for each pending request in the session's tree, to be awaited."""
        permissions = self.runtime.permissions.pending(self.root_id)
        questions = self.runtime.questions.pending(self.root_id)
        return [*map(self.permission, permissions), *map(self.question, questions)]

    async def _choice(
        self, call: schema.ToolCallUpdate, options: list[schema.PermissionOption], *, known: bool
    ) -> str:
        """Return the id of the chosen option, empty for none. A call that the client does not know
        yet is sent first, and its end afterwards."""
        update = self.client.session_update
        if not known:
            began = schema.ToolCallStart(session_update="tool_call", **_fields(call))
            await update(self.session_id, began)
        answer = await self.client.request_permission(self.session_id, call, options)
        outcome = answer.outcome
        chosen = outcome.option_id if isinstance(outcome, schema.AllowedOutcome) else ""
        if not known:
            kinds = {option.option_id: option.kind for option in options}
            allowed = kinds.get(chosen, "reject_once").startswith("allow")
            status: schema.ToolCallStatus = "completed" if allowed else "failed"
            await update(self.session_id, update_tool_call(call.tool_call_id, status=status))
        return chosen

    def _call(self, request: PermissionRequest) -> schema.ToolCallUpdate:
        """Return the call that a request is about, with all that the full screen shows."""
        part = self.updates.call_of(request.message_id, request.call_id)
        given = getattr(part.state, "input", None) if part is not None else None
        root = str(self.runtime.project)
        return update_tool_call(
            part.id if part is not None else request.id,
            title=call_title(part) if part is not None else sanitize_line(request.heading),
            kind=kind_of(request.tool),
            status="pending",
            content=[*content_of(request.blocks, root), text_content(_reasons(request))],
            locations=locations_of(request.blocks, given, root) or None,
            raw_input=given,
        )


def _fields(call: schema.ToolCallUpdate) -> dict[str, Any]:
    names = ("tool_call_id", "title", "kind", "status", "content", "locations", "raw_input")
    return {name: getattr(call, name) for name in names}


def _reasons(request: PermissionRequest) -> str:
    """Return what permission is needed for, a line each, and what "always" would allow."""
    asker = f" ({sanitize_line(request.agent)})" if request.callers else ""
    lines = [f"{request.heading}{asker}"]
    for judged in request.needs:
        if judged.action == "ask":
            need = judged.need
            reason = need.reason or judged.reason
            shown = sanitize_line(need.shown or need.pattern)
            lines.append(f"{need.permission}: {shown}" + (f" ({reason})" if reason else ""))
    if request.sandbox is not None:
        sandbox = request.sandbox
        lines.append(f"Sandbox: {sandbox_label(sandbox.level, network=sandbox.network)}")
    if request.verdict is not None:
        lines.append(f"Judge: {sanitize_line(explain_verdict(request.verdict))}")
    if request.always:
        lines.append(f"Always, in this session, would allow {', '.join(request.always_labels)}")
    return "\n".join(lines)


def _always(request: PermissionRequest) -> str:
    what = sanitize_line(", ".join(request.always_labels))
    return f"Always allow {what}" if len(what) <= MAX_PATTERN_SHOWN else "Always allow this"


def _fits_buttons(fields: tuple[FormField, ...]) -> bool:
    """Return whether *fields* are single choices only: buttons can ask for nothing else."""
    return bool(fields) and all(each.choices and not each.multiple for each in fields)


CHOICE, TEXT = "choice", "text"


async def ask_in_form(client: Client, session_id: str, question: Question) -> QuestionReply:
    """Show *question* as a form of a session and wait for the user's reply.

    Raises ``RequestError`` if the client cannot show it.
    """
    mode = schema.ElicitationFormSessionMode(
        session_id=session_id, requested_schema=_schema(question)
    )
    answer = await client.create_elicitation(message=sanitize(question.text), mode=mode)
    if not isinstance(answer, schema.AcceptElicitationResponse):
        declined = isinstance(answer, schema.DeclineElicitationResponse)
        return QuestionReply(dismissed=True, declined=declined)
    content = answer.content or {}
    if question.fields:
        return QuestionReply(values=cast("JsonObject", content))
    return _reply(question, content)


def _schema(question: Question) -> schema.ElicitationSchema:
    if question.fields:
        return schema.ElicitationSchema.model_validate(
            {
                "properties": {
                    each.name: {**each.schema, "title": each.label} for each in question.fields
                },
                "required": [each.name for each in question.fields if each.required],
            }
        )
    text = schema.ElicitationStringPropertySchema(type="string", title="Your answer")
    if not question.options:
        return schema.ElicitationSchema(properties={TEXT: text}, required=[TEXT])
    options = [
        schema.EnumOption(
            const=str(number),
            title=sanitize_line(option.label),
            description=sanitize_line(option.description) or None,
        )
        for number, option in enumerate(question.options)
    ]
    title = sanitize_line(question.header) or "Your choice"
    text.title = "Or in your own words"
    choice: schema.ElicitationMultiSelectPropertySchema | schema.ElicitationStringPropertySchema
    if question.multiple:
        items = schema.TitledMultiSelectItems(any_of=options)
        choice = schema.ElicitationMultiSelectPropertySchema(type="array", title=title, items=items)
    else:
        choice = schema.ElicitationStringPropertySchema(type="string", title=title, one_of=options)
    return schema.ElicitationSchema(properties={CHOICE: choice, TEXT: text})


def _reply(question: Question, content: dict[str, object]) -> QuestionReply:
    """Return the options that were chosen and the text; dismissed if both are empty."""
    chosen = content.get(CHOICE)
    ids = cast("list[object]", chosen) if isinstance(chosen, list) else [chosen]
    labels = tuple(
        option.label for number, option in enumerate(question.options) if str(number) in ids
    )
    written = content.get(TEXT)
    text = written.strip() if isinstance(written, str) else ""
    return QuestionReply(labels, text, dismissed=not (labels or text))
