"""A running turn of one session: its conversation, its settings, its steps, the messages that it
picks up, and its end.

``loop`` runs it and ``compactor`` keeps it within the window.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from functools import partial

from agent.provider.catalog.effort_levels import choose_effort
from agent.provider.client import (
    ModelRequest,
    StepFinish,
    StreamEvent,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from agent.records.errors import ProviderError, StoreError
from agent.records.ids import new_id
from agent.records.messages import (
    AssistantMessage,
    CacheMiss,
    ErrorInfo,
    MessageWithParts,
    RetryPart,
    Session,
    SessionStatus,
    SubtaskPart,
    TextPart,
    Usage,
    UserMessage,
)
from agent.records.reminders import reminder
from agent.redact import without_known_secrets
from agent.session.context.cache_watch import SentRequest
from agent.session.context.conversation import Conversation
from agent.session.context.token_meter import StepSettings
from agent.session.fallback import RECHECKED, FailedStep
from agent.session.queue import is_queued
from agent.session.snapshots.change_tracker import ChangeTracker
from agent.session.spending import record_usage, with_model_usage
from agent.session.subagents.background import BackgroundTasks, reported_usage
from agent.session.subagents.subagents import Lineage, Subagents
from agent.session.turn.compactor import CompactionGuard, Compactor
from agent.session.turn.executor import TurnCalls
from agent.session.turn.guards import SpendingGuard
from agent.session.turn.state import Pause, TurnEnd, TurnTotals
from agent.session.turn.step import INTERRUPTED, Step, StepResult
from agent.session.turn.turn_services import TurnServices
from agent.tools.shell.shells import has_running_shell


class TurnInbox:
    """Moves messages from the session's queue into the conversation of one turn."""

    def __init__(
        self,
        services: TurnServices,
        session: Session,
        turn_id: str,
        conversation: Conversation,
        background_tasks: BackgroundTasks,
        calls: TurnCalls,
    ) -> None:
        self._services = services
        self._session = session
        self._turn_id = turn_id
        self._conversation = conversation
        self._background_tasks = background_tasks
        self._calls = calls
        self.newest: UserMessage | None = None
        """The newest user message that the turn responds to."""
        self.steering = False
        """True if a step has begun: messages that come now were sent during the turn."""

    async def dequeue(self, *, everything: bool) -> list[UserMessage]:
        """Take messages from the queue, oldest first: those that steer, or *everything* at the
        beginning and at the end of a turn. Return the user messages among them."""
        taken: list[MessageWithParts] = await self._services.queues.dequeue(
            self._session.id,
            turn_id=self._turn_id,
            steered=self.steering,
            everything=everything,
        )
        self._conversation.add(*taken)
        for usage, cost in reported_usage(taken):
            self._calls.add_extra_usage(usage, cost)
        users = [item.message for item in taken if isinstance(item.message, UserMessage)]
        self.newest = users[-1] if users else self.newest
        return users

    async def wait_for_reports(self, *, wait: bool) -> list[UserMessage]:
        """Wait for the session's background tasks; return the dequeued messages, none if no task
        runs or the turn does not *wait* for them."""
        while wait and self._background_tasks.running(self._session.id):
            await self._background_tasks.wait_for_message(self._session.id)
            if taken := await self.dequeue(everything=True):
                return taken
        return []

    async def take_overtaken(self) -> None:
        """Pick up a prompt that was sent before the cancel but not dequeued yet."""
        if not await self.dequeue(everything=True):
            await self._services.queues.wait_until_moved()  # the cancel came during the move
            stored = await self._services.store.context_messages(self._session.id)
            messages = (item.message for item in stored)
            own = [m for m in messages if isinstance(m, UserMessage) and m.turn_id == self._turn_id]
            self.newest = own[-1] if own else None


class Turn:
    """One turn, from the messages that it begins with to its last step."""

    def __init__(
        self,
        services: TurnServices,
        session: Session,
        lineage: Lineage,
        set_status: Callable[[SessionStatus], None],
        subagents: Subagents,
    ) -> None:
        """*set_status* publishes the status of the session."""
        self.id = new_id("trn")
        self.started = services.clock()
        self.services = services
        self.session = session
        self.totals = TurnTotals()
        self.conversation = Conversation()
        self.step: Step | None = None
        """The newest step."""
        self._lineage = lineage
        self._set_status = set_status
        self._background_tasks = subagents.background_tasks
        works = partial(has_running_shell, services.shells, lineage.root_id)
        snapshots = services.snapshots.of(session.project)
        self.tracker = ChangeTracker(snapshots, services.store, services.bus, works)
        self.pause = Pause()
        self.calls = TurnCalls(services, session, lineage, subagents, self.tracker, self.pause)
        self.inbox = TurnInbox(
            services, session, self.id, self.conversation, self._background_tasks, self.calls
        )
        self.compactor = Compactor(
            services, session, lineage.callers, self.conversation, self.started, set_status
        )
        self.compaction = CompactionGuard(self.compactor, self.settings)
        self.spending = SpendingGuard(services.spending, session.id, lineage.root_id)
        self.output_caps = services.output_caps.setdefault(session.id, {})
        self._informed_of = ""

    def load(self, stored: list[MessageWithParts]) -> None:
        """Begin with the session's *stored* messages, except the queued ones."""
        self.conversation.replace_all([item for item in stored if not is_queued(item)])

    @property
    def waits_for_background(self) -> bool:
        """True if the turn ends only after the background tasks of its session."""
        return self.services.wait_for_background or bool(self._lineage.callers)

    async def settings(self, request: UserMessage) -> StepSettings:
        """Return the settings of a step that responds to *request*; the context that the model
        needs with a new request (environment, reminders) is added to the conversation first."""
        callers = self._lineage.callers
        if request.id != self._informed_of:
            await self.services.system_prompt.add_context(
                self.session, request, self.conversation, callers
            )
            self._informed_of = request.id
        model = self.services.fallbacks.current(self._lineage.root_id, request.model)
        settings = self.services.step_settings(request.agent, model, self.conversation, callers)
        return replace(settings, effort=choose_effort(settings.model, request.effort)[0])

    def use_request(self, request: UserMessage) -> None:
        """Make the turn about *request*, which needs no context; the queue is left to the turn
        after this one."""
        self.inbox.newest, self._informed_of = request, request.id

    async def new_step(self, settings: StepSettings, request: UserMessage, number: int) -> Step:
        """Store the empty message of a step that responds to *request*."""
        await self.pause.over()
        message = AssistantMessage(
            id=new_id("msg"),
            session_id=self.session.id,
            created=self.services.clock(),
            parent_id=request.id,
            turn_id=self.id,
            step=number,
            agent=settings.agent,
            model=settings.model.full_name,
        )
        offered = frozenset(tool.name for tool in settings.tools)
        services = self.services
        if services.fallbacks.is_rechecked(self._lineage.root_id, message.model):
            services = replace(services, retry=replace(services.retry, attempts=1))
        # Set before it is saved: a cancel in between must find the step to close it.
        self.step = Step(
            services,
            message,
            self.started,
            lambda message: self.calls.executor(message, self.conversation, offered),
            self._set_status,
            self._explain_cache,
            partial(self._usage_arrived, settings),
        )
        self.inbox.steering = True
        await self.services.store.save(message)
        return self.step

    async def _usage_arrived(self, settings: StepSettings) -> None:
        """Count a response while its calls run, so that the caps are those of now when one of them
        starts a sub-agent."""
        if self.step is None:
            return
        counting = asyncio.create_task(self.record_usage(*self.step.take_usage()), name="usage")
        await asyncio.shield(counting)
        await self.spending.warn(settings)

    def _explain_cache(
        self, message: AssistantMessage, request: ModelRequest, usage: Usage
    ) -> CacheMiss | None:
        answered = (
            item.message
            for item in reversed(self.conversation.all)
            if isinstance(item.message, AssistantMessage) and item.message.usage is not None
        )
        marker = self.conversation.marker
        sent = SentRequest(
            request=request,
            usage=usage,
            sent=message.created,
            ended=self.services.clock(),
            marker=marker.id if marker is not None else "",
            earlier=next(answered, None),
        )
        return self.services.cache_watch.note(sent)

    async def run_step(
        self, step: Step, settings: StepSettings, request: ModelRequest
    ) -> StepResult:
        """Run *step* to its end; count its usage and note what it changed."""
        due = subtasks_due(self.conversation.all)
        client = SubtaskClient(due) if due else self.services.clients.client_for(settings.model)
        if not self._lineage.callers:
            self.services.trackers.register(self._lineage.root_id, self.tracker)
            if self.services.hooks is not None and self.services.hooks.any:
                self.tracker.begin()  # a hook of the first call can change files at once
        meter = self.compactor.meter
        with self.services.tracing.span(
            f"step {step.message.step}",
            gen_ai__agent__name=step.message.agent,
            gen_ai__conversation__id=self.session.id,
        ):
            estimated = meter.estimated_tokens(settings)
            await self.services.cache_watch.recall(self.services.store, self.session.id)
            result = await step.run(client, request)
            await self.services.cache_watch.keep(self.services.store, self.session.id)
        meter.calibrate(settings, estimated, result.usage)
        self.conversation.add(result.message)
        await self.record_usage(*step.take_usage())
        if isinstance(message := result.message.message, AssistantMessage):
            await self.tracker.after_step(message)
        return replace(result, extra_usage=self.calls.take_extra_usage())

    def end_claims(self) -> None:
        """Forget which files the turn changes."""
        if not self._lineage.callers:
            self.services.trackers.end(self._lineage.root_id)

    async def record_usage(self, usage: Usage | None, cost: float | None) -> None:
        """Add a model call to the usage of the session and those above."""
        if usage is None and cost is None:
            return  # it was counted when it arrived, or there is nothing to count
        now = self.services.clock()
        await record_usage(self.services.update, self.session.id, usage, cost, now)

    async def add_reminder(self, text: str, after: UserMessage) -> UserMessage:
        """Store a hidden user message of the program, with the settings of *after*."""
        message = replace(
            after,
            id=new_id("msg"),
            created=self.services.clock(),
            turn_id=self.id,
            steered=False,
            synthetic=True,
        )
        part = TextPart(
            id=new_id("prt"),
            session_id=message.session_id,
            message_id=message.id,
            text=text,
            started=message.created,
            ended=message.created,
            synthetic=True,
        )
        await self.services.store.save(message, part)
        self.conversation.add(MessageWithParts(message, (part,)))
        return message

    async def note_change(self, message: AssistantMessage, refusal: ErrorInfo, change: str) -> None:
        """Record in the step of *message* that the request before it was refused, and the *change*
        that was made after that."""
        note = RetryPart(
            id=new_id("prt"),
            session_id=message.session_id,
            message_id=message.id,
            attempt=1,
            error=refusal,
            created=self.services.clock(),
            change=change,
        )
        await self.services.store.save(note)

    async def fall_back(
        self, settings: StepSettings, request: UserMessage, error: ProviderError
    ) -> str:
        """Return a sentence on the model that continues after *error*, "" if none does."""
        failed = FailedStep(
            root_id=self._lineage.root_id,
            session_id=self.session.id,
            agent=settings.agent,
            requested=request.model,
            model=settings.model.full_name,
        )
        return await self.services.fallbacks.after_failure(failed, error)

    async def note_return(self, message: AssistantMessage, request: UserMessage) -> None:
        """Record in the step of *message* that the requested model answers again."""
        if message.model == request.model and (
            back := self.services.fallbacks.take_return(self._lineage.root_id, message.model)
        ):
            await self.note_change(message, RECHECKED, back)

    async def late_report(self) -> str:
        """Return a reminder of errors in earlier changes that came since, "" without any."""
        checks = self.services.file_checks
        found = await checks.late_report(self.session.id) if checks is not None else ""
        return reminder(without_known_secrets(found)) if found else ""

    async def remove_message(self, message: AssistantMessage) -> None:
        """Remove the message of a step; its usage stays counted."""
        await self.services.store.remove_message(message.session_id, message.id)
        await self.services.update(
            message.session_id,
            lambda s: with_model_usage(s, message.model, message.usage, message.cost),
        )
        self.conversation.remove(message.id)

    async def run_stop_hooks(self, message: AssistantMessage) -> str | None:
        """Return the text of the first stop hook that keeps the turn going, else None."""
        hooks = self.services.hooks
        own = (hooks.stopping,) if hooks is not None else ()
        for hook in (*self.services.stop_hooks, *own):
            why = await hook(message)
            if why is not None:
                return why
        return None


TASK = "task"


class SubtaskClient:
    """A model client that responds with the calls of *subtasks*; no server is called.

    A prompt can make a sub-agent work before the model is called. That is a call of the ``task``
    tool like any other, except that the program requests it: shown, canceled, stored and sent in
    the usual way.
    """

    def __init__(self, subtasks: Sequence[SubtaskPart]) -> None:
        self._subtasks = tuple(subtasks)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        for index, part in enumerate(self._subtasks):
            key = str(index)
            arguments = json.dumps(
                {
                    "description": part.description,
                    "prompt": part.prompt,
                    "subagent_type": part.agent,
                }
            )
            yield ToolInputStart(key, TASK)
            yield ToolInputDelta(key, arguments)
            yield ToolInputEnd(key)
            yield ToolCall(key, TASK, arguments)
        yield StepFinish("tool-calls")


def subtasks_due(history: Sequence[MessageWithParts]) -> tuple[SubtaskPart, ...]:
    """Return the subtasks that the newest user messages ask for, oldest first."""
    due: list[SubtaskPart] = []
    for item in reversed(history):
        if not isinstance(item.message, UserMessage):
            break
        due[:0] = [part for part in item.parts if isinstance(part, SubtaskPart)]
    return tuple(due)


async def tear_down(
    turn: Turn, fault: ErrorInfo | None = None, *, is_prompted: bool = True
) -> None:
    """End the step that runs, if any, so that the history stays valid.

    A prompt that the cancel of a *is_prompted* turn overtook still enters the history: the user
    sent it. *fault* is why the turn failed.
    """
    if is_prompted and turn.inbox.newest is None:
        await turn.inbox.take_overtaken()
    step, store = turn.step, turn.services.store
    if step is not None:
        try:
            usage, cost = await step.tear_down(fault)
        except StoreError as error:  # shown at once, and stored when the disk has space again
            store.stage(step.unstored_message(error))
            raise
        await turn.tracker.after_step(step.message)
        if usage is not None:
            await turn.record_usage(usage, cost)
    await turn.tracker.close()
    turn.end_claims()


async def store_end(turn: Turn, end: TurnEnd) -> None:
    """Store how the turn ended, with its last step or as a message of its own."""
    newest = turn.inbox.newest
    if newest is None:
        return
    store = turn.services.store
    stored = await store.message(turn.step.message_id) if turn.step else None
    step = stored.message if stored is not None else None
    last = step if isinstance(step, AssistantMessage) else None
    message = end_message(end, last, newest, turn.id, turn.services.clock())
    if message is not None:
        await store.save(message)


def end_message(
    end: TurnEnd, step: AssistantMessage | None, newest: UserMessage, turn_id: str, now: float
) -> AssistantMessage | None:
    """Return the message that records how a turn ended, so that it is shown with the session.

    None where *step*, the turn's last, shows it already. A turn that failed before its first step,
    or was stopped between its steps, gets an empty message that responds to *newest*.
    """
    empty = AssistantMessage(
        id=new_id("msg"),
        session_id=newest.session_id,
        created=now,
        parent_id=newest.id,
        turn_id=turn_id,
        step=0,
        agent=newest.agent,
        model=newest.model,
        completed=now,
    )
    if end.error is not None:
        return replace(step or replace(empty, finish="error"), error=end.error)
    shown = step is not None and (step.error is not None or step.finish == "stop")
    if end.outcome != "cancelled" or shown:
        return None
    return replace(empty, error=INTERRUPTED, interrupted=True)
