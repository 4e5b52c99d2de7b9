"""A running turn of one session: its conversation, its settings and its steps.

``loop`` runs it, ``inbox`` picks up queued messages, ``compactor`` keeps it within the window and
``ending`` cleans up after it.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from agent.provider.client import ModelRequest
from agent.records.ids import new_id
from agent.records.messages import (
    AssistantMessage,
    MessageWithParts,
    Session,
    SessionStatus,
    TextPart,
    Usage,
    UserMessage,
)
from agent.session.context.conversation import Conversation
from agent.session.context.step_settings import StepSettings
from agent.session.queue import is_queued
from agent.session.services import SessionServices
from agent.session.snapshots.change_tracker import ChangeTracker
from agent.session.subagents.subagents import Lineage, Subagents
from agent.session.turn.calls import TurnCalls
from agent.session.turn.compactor import CompactionGuard, Compactor
from agent.session.turn.inbox import TurnInbox
from agent.session.turn.step import Step, StepResult
from agent.session.turn.subtask import SubtaskClient, subtasks_due
from agent.session.turn_state import TurnTotals
from agent.session.usage import record_usage, with_model_usage
from agent.tools.shell.shells import has_running_shell


class Turn:
    """One turn, from the messages that it begins with to its last step."""

    def __init__(
        self,
        services: SessionServices,
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
        self.tracker = ChangeTracker(services.snapshots, services.store, services.bus, works)
        self.calls = TurnCalls(services, session, lineage, subagents, self._before_change)
        self.inbox = TurnInbox(
            services, session, self.id, self.conversation, self._background_tasks, self.calls
        )
        self.compactor = Compactor(
            services, session, lineage.callers, self.conversation, self.started, set_status
        )
        self.compaction = CompactionGuard(self.compactor, self.settings)
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
            messages = await self.services.system_prompt.add_context(
                self.session, request, self.conversation.all, callers
            )
            self.conversation.replace_all(messages)
            self._informed_of = request.id
        settings = self.services.step_settings(
            request.agent, request.model, self.conversation.all, callers
        )
        return replace(settings, effort=request.effort)

    def use_request(self, request: UserMessage) -> None:
        """Make the turn about *request*, which needs no context; the queue is left to the turn
        after this one."""
        self.inbox.newest, self._informed_of = request, request.id

    async def new_step(self, settings: StepSettings, request: UserMessage, number: int) -> Step:
        """Store the empty message of a step that responds to *request*."""
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
        # Set before it is saved: a cancel in between must find the step to close it.
        self.step = Step(
            self.services,
            message,
            self.started,
            lambda message: self.calls.executor(message, self.conversation),
            self._set_status,
        )
        self.inbox.steering = True
        await self.services.store.save(message)
        return self.step

    async def run_step(
        self, step: Step, settings: StepSettings, request: ModelRequest
    ) -> StepResult:
        """Run *step* to its end; count its usage and note what it changed."""
        due = subtasks_due(self.conversation.all)
        client = SubtaskClient(due) if due else self.services.clients.client_for(settings.model)
        if not self._lineage.callers:
            self.services.trackers.begin(self._lineage.root_id, self.tracker)
        meter = self.compactor.meter
        with self.services.tracing.span(
            f"step {step.message.step}", gen_ai__conversation__id=self.session.id
        ):
            estimated = meter.estimated_tokens(settings)
            result = await step.run(client, request)
        meter.calibrate(settings, estimated, result.usage)
        self.conversation.add(result.message)
        await self.record_usage(*step.take_usage())
        if isinstance(message := result.message.message, AssistantMessage):
            await self.tracker.after_step(message)
        return replace(result, extra_usage=self.calls.take_extra_usage())

    async def _before_change(self, files: tuple[str, ...] | None) -> None:
        # A sub-agent's changes belong to its caller: they are undone together. A background task
        # outlives its caller's steps, so it tracks its changes itself.
        if self._lineage.callers:
            if self._background_tasks.run(self.session.id) is None:
                return
            self.tracker.begin()
        await self.tracker.before_change(files)

    async def record_usage(self, usage: Usage | None, cost: float | None) -> None:
        """Add a model call to the usage of the session and those above."""
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
