"""One running turn: what the loop asks of its host, on the real services (spec 1)."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from agent.agents import Agents
from agent.bus import Bus
from agent.errors import ProviderError
from agent.events import Compacted
from agent.files import FileTracker
from agent.ids import new_id
from agent.model import (
    AssistantMessage,
    Busy,
    ErrorInfo,
    Message,
    MessageWithParts,
    Retry,
    Session,
    SessionStatus,
    TextPart,
    Usage,
    UserMessage,
)
from agent.permission.service import PermissionService
from agent.provider.catalog import Catalog
from agent.provider.client import ModelClient, ModelInfo, ModelRequest
from agent.provider.clients import Clients
from agent.provider.retry import DEFAULT_POLICY, RetryPolicy, delay
from agent.provider.usage import cost as cost_of
from agent.session.briefing import Briefing, block_of, useful
from agent.session.calls import CallDeps, SpawnFor, TurnCalls
from agent.session.compaction import Summary, compacted, marker_message, summarise, tail_start
from agent.session.context import UNKNOWN, Budget, prunable, shorten
from agent.session.guards import TurnLimits
from agent.session.loop_state import TurnEnd, TurnSetting
from agent.session.queue import Queues
from agent.session.snapshot import Snapshots
from agent.session.step import Step, StepDeps, StepResult
from agent.session.subagents import Lineage
from agent.session.tracking import ChangeTracker
from agent.store.store import Store
from agent.tools.pipeline import Pipeline
from agent.tools.questioning import QuestionService
from agent.tools.registry import Registry
from agent.tools.shells import Shells
from agent.tracing import Tracing

StopHook = Callable[[AssistantMessage], Awaitable[str | None]]
"""Called when a turn would end; a sentence keeps it going (spec 1, L2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDeps:
    """The services a turn works with. *summary_model* sums up in place of the session's own."""

    bus: Bus
    store: Store
    clients: Clients
    catalog: Catalog
    pipeline: Pipeline
    permissions: PermissionService
    questions: QuestionService
    agents: Agents
    queues: Queues
    briefing: Briefing
    update: Callable[[str, Callable[[Session], Session]], Awaitable[Session]]
    registry: Registry
    shells: Shells
    snapshots: Snapshots
    retry: RetryPolicy = DEFAULT_POLICY
    tracing: Tracing = field(default_factory=lambda: Tracing({}))
    limits: TurnLimits = field(default_factory=TurnLimits)
    stop_hooks: tuple[StopHook, ...] = ()
    summary_model: str | None = None
    clock: Callable[[], float] = field(default=time.time)


class Turn:
    """A turn of one session. ``host`` methods are called by the loop (``loop.TurnHost``)."""

    def __init__(
        self,
        deps: TurnDeps,
        session: Session,
        lineage: Lineage,
        files: FileTracker,
        set_status: Callable[[SessionStatus], None],
        spawn: SpawnFor,
    ) -> None:
        self.id = new_id("trn")
        self.started = deps.clock()
        self._deps = deps
        self._session = session
        self._lineage = lineage
        # A sub-agent's changes are its caller's: they are undone together.
        tracker = ChangeTracker(deps.snapshots, deps.store)
        self._tracker = None if lineage.callers else tracker
        calls = CallDeps(
            store=deps.store,
            pipeline=deps.pipeline,
            permissions=deps.permissions,
            catalog=deps.catalog,
            briefing=deps.briefing,
            repeats=deps.limits.repeats,
            before_change=self._tracker.before_change if self._tracker else None,
            clock=deps.clock,
        )
        self._calls = TurnCalls(calls, session, lineage, files, spawn)
        self._set_status = set_status
        self._step: Step | None = None
        self._steps = 0
        self._history: list[MessageWithParts] = []
        self._newest: UserMessage | None = None
        self._briefed = ""
        self._rng = random.Random()  # noqa: S311 - spreads retries, keeps no secret

    def begin_with(self, stored: list[MessageWithParts]) -> None:
        """Start from the session's messages as they stand, those that wait left out."""
        self._history = [
            m
            for m in stored
            if not (isinstance(m.message, UserMessage) and m.message.turn_id is None)
        ]

    async def take_queued(self, *, first: bool, ending: bool) -> list[UserMessage]:
        history = await self.messages()
        taken = await self._deps.queues.take(
            self._session.id,
            turn_id=self.id,
            after=history[-1].message.id if history else "",
            steered=self._steps > 0,
            everything=first or ending,
        )
        self._entered(*taken)
        users = [item.message for item in taken if isinstance(item.message, UserMessage)]
        self._newest = users[-1] if users else self._newest
        return users

    async def setting(self, newest: UserMessage) -> TurnSetting:
        deps = self._deps
        agent = deps.agents.get(newest.agent)
        model = deps.catalog.model(newest.model)
        callers = self._lineage.callers
        if newest.id != self._briefed:
            told = await deps.briefing.tell(self._session, newest, self._history, callers)
            self._history, self._briefed = told, newest.id
        tools = useful(deps.registry.names_for(model.id), self._history)
        offered = deps.agents.offered(agent.name, tools, callers)
        return TurnSetting(
            agent=agent.name,
            model=model,
            effort=newest.effort,
            system=(deps.briefing.head(agent, model), block_of(self._history)),
            tools=deps.registry.schemas(offered) if model.tools else (),
            guards=deps.limits.guards(agent.max_steps),
            target_tokens=deps.limits.target,
            auto_compact=deps.limits.auto_compact,
        )

    async def messages(self) -> Sequence[MessageWithParts]:
        """The session so far: as it stood at the start, and what the steps have added."""
        return self._history

    def _entered(self, *items: MessageWithParts) -> None:
        self._history.extend(items)

    async def new_step(self, setting: TurnSetting, parent: UserMessage, step: int) -> Step:
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
            executor=lambda message: self._calls.executor(message, self._history),
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

    async def run_step(self, step: Step, setting: TurnSetting, request: ModelRequest) -> StepResult:
        client = self._deps.clients.client_for(setting.model)
        if self._tracker is not None:
            self._tracker.begin()
        with self._deps.tracing.span(
            f"step {step.message.step}", gen_ai__conversation__id=self._session.id
        ):
            result = await step.run(client, request)
        self._entered(result.message)
        await self._track(result.message.message)
        await self._add_usage(result.usage, result.cost)
        return replace(result, children=self._calls.take_children())

    async def _track(self, message: Message) -> None:
        if self._tracker is not None and isinstance(message, AssistantMessage):
            await self._tracker.after_step(message)

    async def _add_usage(self, used: Usage | None, spent: float | None) -> None:
        def add(session: Session) -> Session:
            cost = session.cost
            if spent is not None:
                cost = (cost or 0.0) + spent
            usage = session.usage + used if used else session.usage
            return replace(session, usage=usage, cost=cost, updated=self._deps.clock())

        await self._deps.update(self._session.id, add)

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
        self._entered(MessageWithParts(message, (part,)))
        return message

    async def drop(self, message: AssistantMessage) -> None:
        await self._deps.store.remove_message(message.session_id, message.id)
        self._history = [m for m in self._history if m.message.id != message.id]

    async def prune(self, setting: TurnSetting) -> bool:
        messages = list(await self.messages())
        budget = Budget.of(setting.model) or UNKNOWN
        chosen = prunable(compacted(messages), budget)
        if not chosen:
            return False
        now = self._deps.clock()
        shortened = {part.id: shorten(part, now) for part in chosen}
        await self._deps.store.save(*shortened.values())
        self._history = [
            replace(m, parts=tuple(shortened.get(p.id, p) for p in m.parts)) for m in messages
        ]
        return True

    async def compact(
        self, setting: TurnSetting, newest: UserMessage
    ) -> tuple[Usage | None, float | None]:
        messages = await self.messages()
        visible = compacted(messages)
        start = tail_start(visible, Budget.of(setting.model) or UNKNOWN)
        named = self._deps.summary_model
        model = self._deps.catalog.model(named) if named else setting.model
        client = self._deps.clients.client_for(model)
        old = visible[:start] or visible
        summary = await self._summary(client, model, old)
        tail = visible[start].message.id if 0 < start < len(visible) else None
        marker = marker_message(newest, summary.text, tail, self._deps.clock())
        callers = self._lineage.callers
        marker = await self._deps.briefing.begin(self._session, marker, callers)
        await self._deps.store.save(marker.message, *marker.parts)
        self._entered(marker)
        self._deps.bus.publish(Compacted(self._session.id))
        cost = cost_of(summary.usage, model.price)
        await self._add_usage(summary.usage, cost)
        return summary.usage, cost

    async def _summary(
        self, client: ModelClient, model: ModelInfo, old: Sequence[MessageWithParts]
    ) -> Summary:
        """Ask for a summary as a step is asked for: tried again, with the countdown (R7)."""
        attempt = 1
        while True:
            try:
                return await summarise(client, model, old, self._session.id)
            except ProviderError as error:
                wait = delay(attempt, error, self._rng, self._deps.retry, mended=attempt > 1)
                if wait is None:
                    raise
                self._set_status(Retry(attempt, error.message, self._deps.clock() + wait))
                await asyncio.sleep(wait)
                self._set_status(Busy(self.started))
                attempt += 1

    async def stop_hooks(self, message: AssistantMessage) -> str | None:
        for hook in self._deps.stop_hooks:
            why = await hook(message)
            if why is not None:
                return why
        return None

    async def teardown(self, fault: ErrorInfo | None = None) -> None:
        """End the step that runs, if any, so that the history stays valid (L10).

        A prompt that the cancel overtook enters the history too: it was sent.
        """
        if self._newest is None:
            await self.take_queued(first=True, ending=True)
        if self._step is not None:
            usage, cost = await self._step.teardown(fault)
            await self._track(self._step.message)
            if usage is not None:
                await self._add_usage(usage, cost)
        if self._tracker is not None:
            await self._tracker.close()

    async def tell(self, end: TurnEnd) -> None:
        """Keep why the turn ended with its last step, so that it is shown whenever the session
        is (A3); a turn that failed before its first step gets an empty one to carry it."""
        if end.error is None or self._newest is None:
            return
        stored = await self._deps.store.message(self._step.message_id) if self._step else None
        now = self._deps.clock()
        if stored is not None and isinstance(stored.message, AssistantMessage):
            message = stored.message
        else:
            message = AssistantMessage(
                id=new_id("msg"),
                session_id=self._session.id,
                created=now,
                parent_id=self._newest.id,
                turn_id=self.id,
                step=0,
                agent=self._newest.agent,
                model=self._newest.model,
                completed=now,
                finish="error",
            )
        await self._deps.store.save(replace(message, error=end.error))
