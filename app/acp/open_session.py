"""A session that a client has open: what happens in it is told as it happens (spec 11, F3)."""

import asyncio
from collections.abc import Awaitable, Coroutine, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from acp.helpers import update_agent_message_text
from acp.interfaces import Client
from acp.schema import (
    ConfigOptionUpdate,
    Cost,
    CurrentModeUpdate,
    SessionInfoUpdate,
    UsageUpdate,
)

from agent.bus import Subscription
from agent.records.errors import OpencodePyError
from agent.records.events import (
    Event,
    MessageUpdated,
    PartDelta,
    PartUpdated,
    PermissionAsked,
    QuestionAsked,
    QueueChanged,
    Resync,
    SessionCreated,
    SessionError,
    SessionIdle,
    SessionStatusChanged,
    SessionUpdated,
    TodoUpdated,
)
from agent.records.messages import (
    Idle,
    MessageWithParts,
    Retry,
    Session,
    StepFinishPart,
    ToolPart,
    UserMessage,
)
from agent.runtime.runtime import Runtime
from agent.session.api import PromptInput
from agent.session.service import concerns
from app.acp import options
from app.acp.requests import RequestPrompter
from app.acp.updates import Update, UpdateBuilder, plan_update


@dataclass(slots=True, eq=False)
class PendingPrompt:
    """*message_id* is None until the prompt is stored, and empty where its turn has none."""

    ended: asyncio.Future[SessionIdle]
    message_id: str | None = None
    cancelled: bool = False

    def settle(self, event: SessionIdle) -> None:
        if not self.ended.done():
            self.ended.set_result(replace(event, outcome="cancelled") if self.cancelled else event)


@dataclass(slots=True)
class PendingPrompts:
    """All prompts of one session that have no answer yet. *queued* are the ids of messages that
    wait for a turn, as the last event told."""

    queued: tuple[str, ...] = ()
    _prompts: list[PendingPrompt] = field(default_factory=list[PendingPrompt])

    @contextmanager
    def new(self) -> Generator[PendingPrompt]:
        """A prompt, for as long as it waits."""
        prompt = PendingPrompt(asyncio.get_running_loop().create_future())
        self._prompts.append(prompt)
        try:
            yield prompt
        finally:
            self._prompts.remove(prompt)

    def cancel(self) -> list[PendingPrompt]:
        """Mark all as cancelled; gives those that no turn has taken up."""
        for prompt in self._prompts:
            prompt.cancelled = True
        return [prompt for prompt in self._prompts if prompt.message_id in self.queued]

    def turn_ended(self, event: SessionIdle) -> None:
        """A turn is over: answer the prompts that it was for."""
        for prompt in self._prompts:
            if prompt.message_id is None:
                continue
            goes_on = event.outcome in {"completed", "failed"}
            sent_after = event.outcome == "cancelled" and not prompt.cancelled
            if not ((goes_on or sent_after) and prompt.message_id in self.queued):
                prompt.settle(event)


SERVER_TIMEOUT = 10.0
"""Seconds that MCP servers get to be ready for a prompt."""


@dataclass(slots=True)
class OpenSession:
    """Follows a session and its sub-agents. ``start`` before anything else. *forms* tells whether
    the client shows them."""

    runtime: Runtime
    client: Client
    session: Session
    forms: bool = False
    updates: UpdateBuilder = field(init=False)
    _asking: RequestPrompter = field(init=False)
    _subscription: Subscription = field(init=False)
    _tree: set[str] = field(init=False)
    _waiting: PendingPrompts = field(default_factory=PendingPrompts)
    _asked: set[str] = field(default_factory=set[str])
    _tasks: set[asyncio.Task[None]] = field(default_factory=set["asyncio.Task[None]"])

    def __post_init__(self) -> None:
        self.updates = UpdateBuilder(str(self.runtime.project))
        self._asking = RequestPrompter(
            self.runtime, self.client, self.session.id, self.updates, forms=self.forms
        )
        self._tree = {self.session.id}
        self._subscription = self.runtime.bus.subscribe(self._concerns)

    def start(self) -> None:
        """Tell the client from now on, and ask what waits already."""
        self._waiting.queued = self.runtime.queues.ids(self.session.id)
        self._spawn(self._follow())
        for question in self._asking.pending():
            self._spawn(question)

    def announce(self, sentences: Sequence[str]) -> None:
        """Tell, in a task of its own, what the client is to know at the start."""

        async def told() -> None:
            commands = await options.commands_update(self.runtime)
            await self.client.session_update(self.session.id, commands)
            await self.send(update_agent_message_text(each + "\n\n") for each in sentences)

        self._spawn(told())

    async def replay(self, messages: Iterable[MessageWithParts], *, send: bool) -> None:
        """Take in the past; *told* if the client does not know it."""
        for item in messages:
            updates = list(self.updates.history(item))
            if send:
                await self.send(updates)

    async def prompt(self, made: Awaitable[PromptInput]) -> SessionIdle:
        """Send the prompt that is *made* and wait for the end of the turn that answers it. A cancel
        on the way holds too."""
        cancelled = SessionIdle(self.session.id, "", "cancelled")
        with self._waiting.new() as prompt:
            try:
                given = await made
                await self.runtime.mcp.tried(SERVER_TIMEOUT)
                if prompt.cancelled:
                    return cancelled
                prompt.message_id = await self.runtime.sessions.prompt(self.session.id, given)
            except OpencodePyError:
                if prompt.cancelled:  # a question on the way was withdrawn
                    return cancelled
                raise
            return await self._end(prompt)

    async def compact(self, focus: str) -> SessionIdle:
        """Sum the session up and wait until that is done."""
        with self._waiting.new() as prompt:
            await self.runtime.sessions.compaction.start(self.session.id, focus)
            prompt.message_id = ""
            return await self._end(prompt)

    async def cancel(self) -> None:
        """Stop the turn that runs, and all prompts that wait or are on their way."""
        for prompt in self._waiting.cancel():
            await self.runtime.queues.remove(self.session.id, prompt.message_id or "")
            prompt.settle(SessionIdle(self.session.id, "", "cancelled"))
        if not await self.runtime.sessions.cancel(self.session.id):
            self.runtime.permissions.cancel_session(self.session.id)

    async def send(self, updates: Iterable[Update]) -> None:
        for update in updates:
            await self.client.session_update(self.session.id, update)

    async def send_options(self) -> None:
        """Tell which agent, model and effort hold now, and which there are."""
        self.session = await self.runtime.sessions.repository.get(self.session.id)
        await self.client.session_update(
            self.session.id,
            ConfigOptionUpdate(
                session_update="config_option_update",
                config_options=list(options.options(self.runtime, self.session)),
            ),
        )

    async def close(self) -> None:
        """Follow no more. A turn that runs goes on."""
        self._subscription.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _end(self, prompt: PendingPrompt) -> SessionIdle:
        if prompt.cancelled:  # the cancel came while it was stored
            await self.runtime.sessions.cancel(self.session.id)
        return await prompt.ended

    def _concerns(self, event: Event) -> bool:
        if isinstance(event, SessionCreated) and event.session.parent_id in self._tree:
            self._tree.add(event.session.id)
        return any(concerns(event, one) for one in self._tree)

    async def _follow(self) -> None:
        with suppress(ConnectionError):  # the client is gone: the program ends
            async for event in self._subscription:
                await self._take(event)

    async def _take(self, event: Event) -> None:
        own = self.session.id
        match event:
            case PartUpdated(part=part) if part.session_id == own:
                await self.send(self.updates.part(part))
                if isinstance(part, StepFinishPart):
                    await self._used(part)
            case PartUpdated(part=ToolPart() as part):
                await self._below(part)
            case PartDelta() if event.session_id == own:
                await self.send(self.updates.delta(event))
            case MessageUpdated(message=UserMessage() as message) if message.session_id == own:
                self.updates.skip_message(message.id)
            case PermissionAsked(request=request) if request.root_id == own:
                self._asked.add(request.call_id)
                self._spawn(self._asking.permission(request))
            case QuestionAsked(question=question) if question.root_id == own:
                self._spawn(self._asking.question(question))
            case Resync():
                await self._catch_up()
            case _:
                await self._take_state(event)

    async def _take_state(self, event: Event) -> None:
        """An event that is no part of a message and no question."""
        if getattr(event, "session_id", None) != self.session.id:
            if isinstance(event, SessionUpdated) and event.session.id == self.session.id:
                await self._changed(event.session)
            return
        match event:
            case TodoUpdated():
                await self.send((plan_update(event.items),))
            case SessionStatusChanged(status=Retry() as retry):
                again = f"The provider failed: {retry.message} Trying again."
                await self.send((self.updates.note(again),))
            case SessionError():
                await self.send((self.updates.note(event.error.message),))
            case QueueChanged():
                self._waiting.queued = event.message_ids
            case SessionIdle():
                self._waiting.turn_ended(event)
            case _:
                pass

    async def _below(self, part: ToolPart) -> None:
        """A sub-agent's call is told once something about it is asked."""
        if part.call_id in self._asked or (getattr(part.state, "waiting", None)):
            self._asked.add(part.call_id)
            await self.send(self.updates.part(part))

    async def _used(self, part: StepFinishPart) -> None:
        model = self.runtime.catalog.model(
            self.session.model or self.runtime.catalog.default_model()
        )
        if part.usage is None or not model.context_limit:
            return
        session = await self.runtime.sessions.repository.get(self.session.id)
        costs = [each for each in (session.cost, session.subagent_cost) if each is not None]
        await self.client.session_update(
            self.session.id,
            UsageUpdate(
                session_update="usage_update",
                used=part.usage.input + part.usage.output,
                size=model.context_limit,
                cost=Cost(amount=sum(costs), currency="USD") if costs else None,
            ),
        )

    async def _changed(self, session: Session) -> None:
        """Tell a new title, and an agent that was chosen elsewhere."""
        before, self.session = self.session, session
        if session.title != before.title:
            when = datetime.fromtimestamp(session.updated, UTC).isoformat()
            await self.client.session_update(
                session.id,
                SessionInfoUpdate(
                    session_update="session_info_update", title=session.title, updated_at=when
                ),
            )
        if session.agent != before.agent:
            await self.client.session_update(
                session.id,
                CurrentModeUpdate(
                    session_update="current_mode_update", current_mode_id=session.agent
                ),
            )
            await self.send_options()  # an agent may bring a model of its own along

    async def _catch_up(self) -> None:
        """Events were lost because the client reads slowly: tell what the store holds."""
        service = self.runtime.sessions
        snapshot = await service.snapshot(self.session.id)
        self._waiting.queued = snapshot.queued
        for item in snapshot.messages[-2:]:
            if isinstance(item.message, UserMessage):
                self.updates.skip_message(item.message.id)
            for part in item.parts:
                await self.send(self.updates.part(part))
        for question in self._asking.pending():
            self._spawn(question)
        if isinstance(service.status(self.session.id), Idle):
            self._waiting.turn_ended(SessionIdle(self.session.id, "", "completed"))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(_unheard(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _unheard(work: Coroutine[None, None, None]) -> None:
    """Do *work*; that the client is gone is noticed by whoever reads from it."""
    with suppress(ConnectionError):
        await work
