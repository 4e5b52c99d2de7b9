"""Elicitation: a server asks the user during a call, with a form or to open a page."""

from collections.abc import Awaitable, Callable
from typing import Literal

from agent.mcp.forms import form_problems, read_form
from agent.records.errors import PermissionRejected, ToolError
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.json import JsonObject
from agent.records.requests import FormField, Question, QuestionOption, QuestionReply
from agent.tools.core.base import ToolContext
from agent.tools.core.truncate import without_invisible

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
