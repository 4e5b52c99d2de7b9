"""One running turn: what the loop asks of its host, on the real services (spec 1)."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from agent.agents import Agents
from agent.bus import Bus
from agent.files import Editor, FileTracker
from agent.permission.service import PermissionService
from agent.process import SpillStore, Terminals
from agent.provider.catalog.catalog import Catalog
from agent.provider.client import ModelRequest
from agent.provider.client import Turn as RequestTurn
from agent.provider.client_pool import ClientPool
from agent.provider.transport.retry import DEFAULT_POLICY, RetryPolicy
from agent.records.errors import ProviderError, StoreError
from agent.records.ids import new_id
from agent.records.messages import (
    AssistantMessage,
    ErrorInfo,
    Message,
    MessageWithParts,
    Session,
    SessionStatus,
    TextPart,
    Usage,
    UserMessage,
)
from agent.session.context.conversation import Conversation
from agent.session.context.deferred_tools import offered_tools
from agent.session.context.estimate import Calibration
from agent.session.context.step_settings import StepSettings
from agent.session.guards import TurnLimits, TurnTotals
from agent.session.hooks import SessionHooks
from agent.session.prompt.system_prompt import SystemPrompt, session_block, useful_tools
from agent.session.queue import Queues, is_queued
from agent.session.snapshots.change_tracker import ChangeTracker, ChangeTrackers
from agent.session.snapshots.snapshots import Snapshots
from agent.session.subagents.background import reported_usage
from agent.session.subagents.completions import Completions
from agent.session.subagents.subagents import Lineage, Subagents
from agent.session.turn.calls import CallDeps, TurnCalls
from agent.session.turn.compactor import CompactionSettings, Compactor, RoomDeps
from agent.session.turn.end_message import end_message
from agent.session.turn.loop_state import TurnEnd
from agent.session.turn.step import Step, StepDeps, StepResult
from agent.session.turn.subtask import SubtaskClient, subtasks_due
from agent.session.usage import UpdateSession, record_usage, with_model_usage
from agent.store.store import Store
from agent.tools.core.base import FileChecks
from agent.tools.core.questions import QuestionService
from agent.tools.pipeline import Pipeline
from agent.tools.registry import Registry
from agent.tools.shell.shells import Shells
from agent.tools.shell.shells import has_running_shell as shell_works
from agent.tracing import Tracing

NO_SUMMARY = "The session could not be summed up. "

StopHook = Callable[[AssistantMessage], Awaitable[str | None]]
"""Called when a turn would end; a sentence keeps it going (spec 1, L2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionServices:
    """The services a turn works with. *holds*: no turn ends before what it left to the background;
    where a user sits before it that holds for sub-agents only, whose reports nobody else gets."""

    bus: Bus
    store: Store
    clients: ClientPool
    catalog: Catalog
    pipeline: Pipeline
    permissions: PermissionService
    questions: QuestionService
    agents: Agents
    queues: Queues
    system_prompt: SystemPrompt
    completions: Completions
    update: UpdateSession
    registry: Registry
    shells: Shells
    snapshots: Snapshots
    spills: SpillStore
    compaction: CompactionSettings = field(default_factory=CompactionSettings)
    calibration: Calibration = field(default_factory=Calibration)
    retry: RetryPolicy = DEFAULT_POLICY
    tracing: Tracing = field(default_factory=lambda: Tracing({}))
    limits: TurnLimits = field(default_factory=TurnLimits)
    stop_hooks: tuple[StopHook, ...] = ()
    hooks: SessionHooks | None = None
    file_checks: FileChecks | None = None
    editor: Editor | None = None
    terminals: Terminals | None = None
    trackers: ChangeTrackers = field(default_factory=ChangeTrackers)
    clock: Callable[[], float] = field(default=time.time)
    wait_for_background: bool = True

    def step_settings(
        self,
        agent_name: str,
        model_name: str,
        history: Sequence[MessageWithParts],
        callers: tuple[str, ...],
    ) -> StepSettings:
        """What holds for a step of an agent and a model that goes on from *history*; *callers*
        are the agents above the session's, nearest first."""
        agent, model = self.agents.get(agent_name), self.catalog.model(model_name)
        tools = useful_tools(self.registry.names_for(model.id), history)
        allowed = self.agents.offered_tools(agent.name, tools, callers)
        offered = offered_tools(self.registry, allowed, model, history)
        return StepSettings(
            agent=agent.name,
            model=model,
            effort=None,
            system=(self.system_prompt.head(agent, model), session_block(history)),
            tools=self.registry.schemas(offered) if model.tools else (),
            guards=self.limits.guards(agent.max_steps),
            temperature=agent.temperature,
            target_tokens=self.limits.target_tokens,
            auto_compact=self.limits.auto_compact,
        )


class Turn:
    """A turn of one session. ``host`` methods are called by the loop (``loop.TurnHost``)."""

    def __init__(
        self,
        deps: SessionServices,
        session: Session,
        lineage: Lineage,
        files: FileTracker,
        set_status: Callable[[SessionStatus], None],
        subagents: Subagents,
    ) -> None:
        self.totals = TurnTotals()
        self.id = new_id("trn")
        self.started = deps.clock()
        self._deps = deps
        self._session = session
        self._lineage = lineage
        self._background_tasks = subagents.background_tasks
        works = partial(shell_works, deps.shells, lineage.root_id)
        self._tracker = ChangeTracker(deps.snapshots, deps.store, deps.bus, works)
        calls = CallDeps(
            store=deps.store,
            pipeline=deps.pipeline,
            permissions=deps.permissions,
            catalog=deps.catalog,
            system_prompt=deps.system_prompt,
            completions=deps.completions,
            repeats=deps.limits.max_repeats,
            before_change=self._before_change,
            saved=partial(deps.trackers.include_saved_file, lineage.root_id),
            file_checks=deps.file_checks,
            terminals=deps.terminals,
            clock=deps.clock,
        )
        self._calls = TurnCalls(calls, session, lineage, files, subagents)
        self._set_status = set_status
        self._step: Step | None = None
        self._steps = 0
        self._conversation = Conversation()
        self._room = self._new_room()
        self._newest: UserMessage | None = None
        self._briefed = ""

    def _new_room(self) -> Compactor:
        deps = self._deps
        needed = RoomDeps(
            store=deps.store,
            bus=deps.bus,
            clients=deps.clients,
            catalog=deps.catalog,
            agents=deps.agents,
            system_prompt=deps.system_prompt,
            registry=deps.registry,
            spills=deps.spills,
            calibration=deps.calibration,
            rules=deps.compaction,
            spend=self._add_usage,
            set_status=self._set_status,
            retry=deps.retry,
            clock=deps.clock,
            hooks=deps.hooks,
        )
        callers = self._lineage.callers
        return Compactor(needed, self._session, callers, self._conversation, self.started)

    @property
    def compactor(self) -> Compactor:
        return self._room

    def turns(self) -> tuple[RequestTurn, ...]:
        return self._conversation.turns()

    def load(self, stored: list[MessageWithParts]) -> None:
        """Start from the session's messages as they stand, those that wait left out."""
        self._conversation.replace_all([item for item in stored if not is_queued(item)])

    async def take_queued(self, *, first: bool, ending: bool) -> list[UserMessage]:
        history = self._conversation.all
        taken = await self._deps.queues.dequeue(
            self._session.id,
            turn_id=self.id,
            after=history[-1].message.id if history else "",
            steered=self._steps > 0,
            everything=first or ending,
        )
        self._conversation.add(*taken)
        for usage, cost in reported_usage(taken):
            self._calls.used(usage, cost)
        users = [item.message for item in taken if isinstance(item.message, UserMessage)]
        self._newest = users[-1] if users else self._newest
        return users

    async def reports(self) -> list[UserMessage]:
        holds = self._deps.wait_for_background or self._lineage.callers
        while holds and self._background_tasks.running(self._session.id):
            await self._background_tasks.wait_for_message(self._session.id)
            if taken := await self.take_queued(first=False, ending=True):
                self.totals = self.totals.add_extra(*self._calls.take_children())
                return taken
        return []

    async def settings(self, newest: UserMessage) -> StepSettings:
        deps = self._deps
        callers = self._lineage.callers
        if newest.id != self._briefed:
            history = self._conversation.all
            told = await deps.system_prompt.add_context(self._session, newest, history, callers)
            self._conversation.replace_all(told)
            self._briefed = newest.id
        now = deps.step_settings(newest.agent, newest.model, self._conversation.all, callers)
        return replace(now, effort=newest.effort)

    def use_request(self, newest: UserMessage) -> None:
        """The turn is about *newest*, which was told all: what waits or comes meanwhile stays
        in the queue, and the turn after this one takes it up."""
        self._newest, self._briefed = newest, newest.id

    async def sum_up(self, focus: str) -> TurnEnd:
        """Make room because the user asks for it; the turn does nothing else (C5)."""
        messages = (item.message for item in reversed(self._conversation.all))
        newest = next((each for each in messages if isinstance(each, UserMessage)), None)
        if newest is None:
            return TurnEnd("completed")
        model = self._session.model or newest.model
        newest = replace(newest, agent=self._session.agent, model=model)
        self.use_request(newest)
        setting = await self.settings(newest)
        try:
            await self._room.compact(setting, newest, auto=False, focus=focus)
        except ProviderError as error:
            return TurnEnd("failed", "error", ErrorInfo(error.kind, NO_SUMMARY + error.message))
        return TurnEnd("completed")

    async def new_step(self, setting: StepSettings, parent: UserMessage, step: int) -> Step:
        message = AssistantMessage(
            id=new_id("msg"),
            session_id=self._session.id,
            created=self._deps.clock(),
            parent_id=parent.id,
            turn_id=self.id,
            step=step,
            agent=setting.agent,
            model=setting.model.full_name,
        )
        deps = StepDeps(
            store=self._deps.store,
            executor=lambda message: self._calls.executor(message, self._conversation),
            set_status=self._set_status,
            retry=self._deps.retry,
            tracing=self._deps.tracing,
            clock=self._deps.clock,
        )
        # Held before it is saved: a cancel in between must find it to close it.
        self._step = Step(deps, message, self.started)
        self._steps = step
        await self._deps.store.save(message)
        return self._step

    async def run_step(
        self, step: Step, setting: StepSettings, request: ModelRequest
    ) -> StepResult:
        due = subtasks_due(self._conversation.all)
        client = SubtaskClient(due) if due else self._deps.clients.client_for(setting.model)
        if not self._lineage.callers:
            self._deps.trackers.begin(self._lineage.root_id, self._tracker)
        with self._deps.tracing.span(
            f"step {step.message.step}", gen_ai__conversation__id=self._session.id
        ):
            estimated = self._room.meter.estimated_tokens(setting)
            result = await step.run(client, request)
        self._room.meter.calibrate(setting, estimated, result.usage)
        self._conversation.add(result.message)
        await self._add_usage(*step.uncounted())
        await self._track(result.message.message)
        return replace(result, children=self._calls.take_children())

    async def _before_change(self, files: tuple[str, ...] | None) -> None:
        # A sub-agent's changes are its caller's: they are undone together. What is done in the
        # background outlives the caller's steps, so it keeps what it changes itself.
        if self._lineage.callers:
            if self._background_tasks.run(self._session.id) is None:
                return
            self._tracker.begin()
        await self._tracker.before_change(files)

    async def _track(self, message: Message) -> None:
        if isinstance(message, AssistantMessage):
            await self._tracker.after_step(message)

    async def _add_usage(self, used: Usage | None, spent: float | None) -> None:
        await record_usage(self._deps.update, self._session.id, used, spent, self._deps.clock())

    async def nudge(self, text: str, after: UserMessage) -> UserMessage:
        message = replace(
            after,
            id=new_id("msg"),
            created=self._deps.clock(),
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
        await self._deps.store.save(message, part)
        self._conversation.add(MessageWithParts(message, (part,)))
        return message

    async def drop(self, message: AssistantMessage) -> None:
        await self._deps.store.remove_message(message.session_id, message.id)
        await self._deps.update(
            message.session_id,
            lambda s: with_model_usage(s, message.model, message.usage, message.cost),
        )
        self._conversation.remove(message.id)

    async def stop_hooks(self, message: AssistantMessage) -> str | None:
        own = (self._deps.hooks.stopping,) if self._deps.hooks is not None else ()
        for hook in (*self._deps.stop_hooks, *own):
            why = await hook(message)
            if why is not None:
                return why
        return None

    async def teardown(self, fault: ErrorInfo | None = None, *, answers: bool = True) -> None:
        """End the step that runs, if any, so that the history stays valid (L10).

        Of a turn that *answers* prompts one that the cancel overtook enters it too: it was sent.
        """
        if answers and self._newest is None:
            await self._take_overtaken()
        if self._step is not None:
            try:
                usage, cost = await self._step.teardown(fault)
            except StoreError as error:  # the screen tells it, and the disk once it has room
                self._deps.store.stage(self._step.unstored(error))
                raise
            await self._track(self._step.message)
            if usage is not None:
                await self._add_usage(usage, cost)
        await self._tracker.close()

    async def _take_overtaken(self) -> None:
        if not await self.take_queued(first=True, ending=True):
            await self._deps.queues.wait_until_moved()  # what was on its way as the cancel came
            stored = (m.message for m in await self._deps.store.context_messages(self._session.id))
            own = [m for m in stored if isinstance(m, UserMessage) and m.turn_id == self.id]
            self._newest = own[-1] if own else None

    async def tell(self, end: TurnEnd) -> None:
        """Keep how the turn ended with its last step (``ending``)."""
        if self._newest is None:
            return
        stored = await self._deps.store.message(self._step.message_id) if self._step else None
        step = stored.message if stored is not None else None
        last = step if isinstance(step, AssistantMessage) else None
        message = end_message(end, last, self._newest, self.id, self._deps.clock())
        if message is not None:
            await self._deps.store.save(message)
