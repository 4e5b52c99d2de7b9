"""A run of one prompt without a user to answer requests.

A front end gets the events as they come and the ``HeadlessResult`` at the end. Every request of the
runtime, whichever session it belongs to, is answered by policy: calls that were approved in advance
are allowed once, everything else is rejected with a sentence that the model reads. The run is over
with ``SessionIdle``.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from agent.bus import Subscription
from agent.permission.rules import ALLOWED_BY_NAME, matches
from agent.records.decisions import explain_verdict
from agent.records.errors import SessionNotFound
from agent.records.events import (
    Event,
    Notice,
    Outcome,
    PartUpdated,
    PermissionAsked,
    QuestionAsked,
    Resync,
    SessionCreated,
    SessionIdle,
)
from agent.records.frozen import frozen
from agent.records.messages import ErrorInfo, Session, StepFinishPart, Usage
from agent.records.requests import EvaluatedNeed, PermissionReply, PermissionRequest, Question
from agent.runtime.runtime import Runtime
from agent.session.api import PromptInput
from agent.session.service import concerns
from agent.session.subagents.subagents import last_response
from agent.session.turn.guards import EMPTY_RESPONSE, NOTHING

DONE, FAILED, USAGE, REFUSED, LIMIT, INTERRUPTED = 0, 1, 2, 3, 4, 130
"""Exit codes."""

NOBODY_TO_ASK = (
    "No one is available to answer questions. Decide by what you know, and name in your answer "
    "the decision and its alternatives."
)


@frozen
class Approval:
    """An approval given in advance: a permission, and a pattern of its subject."""

    permission: str
    pattern: str = "*"

    @classmethod
    def parse(cls, text: str) -> "Approval":
        """``bash:npm test *``, ``edit:src/*``, or a permission alone for all of it."""
        permission, _, pattern = text.partition(":")
        return cls(permission.strip(), pattern.strip() or "*")

    def covers(self, judged: EvaluatedNeed) -> bool:
        """Return whether it allows a need. Only ``*`` covers a need that its pattern does not
        describe (an unknown command); nothing covers a guarded one."""
        need = judged.need
        if not matches(need.permission, self.permission) or need.strict == "guarded":
            return False
        if need.permission in ALLOWED_BY_NAME and self.permission != need.permission:
            return False
        return self.pattern == "*" or (not need.strict and matches(need.pattern, self.pattern))


@frozen
class HeadlessResult:
    """The result of a run."""

    outcome: Outcome
    answer: str
    """The last text of the turn."""
    error: ErrorInfo | None
    refused: tuple[str, ...]
    """The requests that were rejected because no user could be asked."""
    usage: Usage | None
    """The usage of all steps and sub-agents; None if none was reported."""
    cost: float | None
    """In US dollars, of all steps and sub-agents; None if it is unknown."""

    @property
    def exit_code(self) -> int:
        match self.outcome:
            case "completed":
                if self.refused:
                    return REFUSED
                return DONE if self.answer else FAILED
            case "rejected":
                return REFUSED
            case "limit_reached":
                return LIMIT
            case "cancelled":
                return INTERRUPTED
            case "failed":
                return FAILED


class Asker(Protocol):
    """Puts requests that were not approved in advance to somebody who replies to the services. The
    same request can come twice."""

    def ask(self, request: PermissionRequest) -> None: ...
    def ask_question(self, question: Question) -> None: ...


@dataclass(slots=True)
class HeadlessRun:
    """Runs one prompt. *approved* is what the caller allowed beforehand."""

    runtime: Runtime
    approved: tuple[Approval, ...] = ()
    refused: list[str] = field(default_factory=list[str])
    result: HeadlessResult | None = None
    missing_servers: tuple[str, ...] = ()
    """Sentences on the MCP servers that could not be used when the run began."""
    asker: Asker | None = None
    """Is asked in place of a refusal, if there is one."""
    _stopped: bool = field(default=False, init=False)
    _steps: dict[str, StepFinishPart] = field(default_factory=dict[str, StepFinishPart], init=False)

    async def session(
        self, *, resume: bool, session_id: str | None, fork: bool, title: str = ""
    ) -> Session:
        """The session to work in: the latest of the folder, a named one, a copy, or a new one,
        which gets the *title*.

        Raises ``SessionNotFound``.
        """
        directory = self.runtime.sessions.repository
        if session_id is not None:
            found = await directory.open(session_id)
        elif resume:
            latest = await directory.latest()
            if latest is None:
                raise SessionNotFound("There is no session in this folder to continue.")
            found = await directory.open(latest.id)
        else:
            agent = self.runtime.config.config.default_agent
            return await directory.create(agent=agent, title=title)
        return await directory.fork(found.id) if fork else found

    async def command_prompt(
        self, name: str, argument: str, session: Session, base: PromptInput, piped: str = ""
    ) -> PromptInput:
        """Return the prompt of the slash command *name*; a call that would ask is refused.

        Raises ``CommandError``.
        """
        async with self._answering():
            return await self.runtime.commands.prompt(name, argument, session, base, piped)

    @asynccontextmanager
    async def _answering(self) -> AsyncGenerator[None]:
        """Answer every request during the block, also one that belongs to no turn, such as that of
        a file which the prompt names: nobody else would."""

        def asks(event: Event) -> bool:
            return isinstance(event, PermissionAsked | QuestionAsked)

        with self.runtime.bus.subscribe(asks) as requests:
            self.answer_pending()
            answering = asyncio.create_task(self._answer_all(requests), name="answering")
            try:
                yield
            finally:
                answering.cancel()

    async def _answer_all(self, asked: Subscription) -> None:
        async for event in asked:
            match event:
                case PermissionAsked(request=request):
                    self._answer(request)
                case QuestionAsked(question=question):
                    self._answer_question(question)
                case _:  # requests were lost
                    self.answer_pending()

    def answer_pending(self) -> None:
        """Answer every pending request once more, or pass it to the asker."""
        for request in self.runtime.permissions.pending():
            self._answer(request)
        for question in self.runtime.questions.pending():
            self._answer_question(question)

    def _answer_question(self, question: Question) -> None:
        if self.asker is not None:
            self.asker.ask_question(question)
        else:
            self.runtime.questions.decline(question.id, NOBODY_TO_ASK)

    async def wait_for_servers(self) -> None:
        """Wait until the MCP servers were tried, for a prompt that is to have their tools. A notice
        at the start of the run names those that are missing."""
        await self.runtime.mcp.wait_until_tried()
        self.missing_servers = self.runtime.mcp.missing()

    async def stop(self, session: Session) -> None:
        """Cancel the turn that ``run`` runs, or the one that it is about to begin."""
        self._stopped = True
        await self.runtime.sessions.cancel(session.id)

    async def run(self, session: Session, prompt: PromptInput) -> AsyncGenerator[Event, None]:
        """The events of the session's tree until the turn is over; then *ending* is set."""
        tree = {session.id}

        def ours(event: Event) -> bool:
            if isinstance(event, SessionCreated) and event.session.parent_id in tree:
                tree.add(event.session.id)
            return any(concerns(event, one) for one in tree)

        def ends(event: Event) -> bool:
            return isinstance(event, SessionIdle) and event.session_id == session.id

        bus = self.runtime.bus
        with bus.subscribe(ours) as subscription, bus.subscribe(ends) as ended:
            async with self._answering():
                for sentence in self.missing_servers:
                    yield Notice(sentence)
                asked = await self.runtime.sessions.prompt(session.id, prompt)
                if self._stopped:  # while it was stored
                    await self.runtime.sessions.cancel(session.id)
                async for event in subscription:
                    match event:
                        case PartUpdated(part=StepFinishPart() as step):
                            self._steps[step.id] = step
                        case SessionIdle() if ends(event):
                            self.result = await self._ended(session, asked, event)
                        case Resync():  # the end of the turn can be among the lost events
                            for end in ended.drain():
                                if isinstance(end, SessionIdle):
                                    self.result = await self._ended(session, asked, end)
                        case _:
                            pass
                    yield event
                    if self.result is not None:
                        return

    def _answer(self, request: PermissionRequest) -> None:
        asking = [judged for judged in request.needs if judged.action == "ask"]
        left = [one for one in asking if not any(a.covers(one) for a in self.approved)]
        service = self.runtime.permissions
        if not left:
            service.reply(request.id, PermissionReply("once", by="policy"))
            return
        if self.asker is not None:
            self.asker.ask(request)
            return
        what = "; ".join(f"{one.need.permission} of `{one.need.pattern}`" for one in left)
        judged = f" ({explain_verdict(request.verdict)})" if request.verdict is not None else ""
        if any(one.need.permission == "doom_loop" for one in left):
            refused = service.reply(request.id, PermissionReply("reject", by="policy"))
        else:
            refused = service.refuse(
                request.id,
                f"No one is available to approve {what}{judged}, so it was refused. Do it another "
                "way, or finish without it and say what is left to do.",
            )
        if refused:
            self.refused.append(what)

    async def _ended(self, session: Session, asked: str, idle: SessionIdle) -> HeadlessResult:
        store = self.runtime.store
        messages = await store.messages(session.id)
        ids = [item.message.id for item in messages]
        mine = messages[ids.index(asked) :] if asked in ids else messages
        answer = last_response(mine)
        known = [step.usage for step in self._steps.values() if step.usage is not None]
        costs = [step.cost for step in self._steps.values() if step.cost is not None]
        error = idle.error
        if idle.outcome == "completed" and not answer and error is None:
            error = ErrorInfo(EMPTY_RESPONSE, NOTHING)
        return HeadlessResult(
            outcome=idle.outcome,
            answer=answer,
            error=error,
            refused=tuple(self.refused),
            usage=sum(known, Usage()) if known else None,
            cost=sum(costs) if costs else None,
        )
