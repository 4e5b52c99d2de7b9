"""Schedules the tool calls of one step.

A call is announced when its input starts to arrive, submitted when the input is whole, and
runs while the stream continues. Safe neighbors run side by side, everything else one at a
time, and results are handed over in call order.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Protocol, assert_never

from agent.permission.service import PermissionContext
from agent.records.blocks import Block, ToolLabel
from agent.records.decisions import Decision
from agent.records.errors import OpencodePyError, PermissionRejected
from agent.records.events import Notice
from agent.records.frozen import frozen
from agent.records.json import JsonObject
from agent.records.messages import (
    AssistantMessage,
    Completed,
    Failed,
    FailureKind,
    Running,
    Session,
    ToolPart,
    Usage,
)
from agent.records.requests import PermissionNeed, PermissionReply
from agent.session.context.conversation import Conversation
from agent.session.context.request_turns import ABORTED, result_text
from agent.session.prompt.instructions import Instruction, with_instructions
from agent.session.snapshots.change_tracker import ChangeTracker
from agent.session.spending import Spender, add_costs
from agent.session.subagents.subagents import Lineage, Subagents
from agent.session.turn.guards import DoomLoop
from agent.session.turn.state import Pause
from agent.session.turn.turn_services import TurnServices
from agent.store.store import Store
from agent.tools.core.tool import ToolContext
from agent.tools.pipeline import CallCompleted, CallFailed, CallOutcome, Pipeline, ResolvedCall

MAX_PARALLEL = 10
"""Calls that run at once at most."""

GRACE = 0.25
"""Seconds that running calls get to finish when a step is torn down."""

ENDING = 3.0
"""Seconds after a cancel before a call that ignores it is given up on."""

SIBLING_FAILED = "Not run: canceled because another call of this step failed"
BROKEN_OFF = "Not run: the response ended before this call started"
REJECTED = "Not run: the user rejected another call of this step"
INCOMPLETE = "Not run: the call's arguments are incomplete"

log = logging.getLogger(__name__)


class SlotState(Enum):
    """The state of a call in a step. The input of an ``ARRIVING`` call is not complete yet."""

    ARRIVING = "arriving"
    QUEUED = "queued"
    EXECUTING = "executing"
    COMPLETED = "completed"


@dataclass(slots=True, eq=False)
class Slot:
    """One call of the step."""

    part: ToolPart
    done: asyncio.Future[CallOutcome]
    """Always resolved in the end, whatever happens."""
    state: SlotState = SlotState.ARRIVING
    arguments: str = ""
    resolved: ResolvedCall | CallFailed | None = None
    repeated: bool = False
    safe: bool = True
    task: asyncio.Task[None] | None = None
    begun: bool = False
    """True if its task has begun: only then it sees a cancel."""
    cancelled_as: str | None = None


class _PartObserver:
    """Writes what the pipeline reports of one call to its part."""

    def __init__(self, store: Store, slot: Slot, clock: Callable[[], float]) -> None:
        self._store = store
        self._slot = slot
        self._clock = clock

    async def on_running(
        self, arguments: JsonObject, label: ToolLabel, blocks: tuple[Block, ...]
    ) -> None:
        slot = self._slot
        if slot.state is not SlotState.EXECUTING:
            return
        state = slot.part.state
        started = state.started if isinstance(state, Running) else self._clock()
        slot.part = replace(
            slot.part, state=Running(input=arguments, label=label, started=started, blocks=blocks)
        )
        await self._store.save(slot.part)

    def on_request(self, request_id: str | None) -> None:
        # Time counts from the reply: the time that the user took is not the tool's.
        def change(state: Running) -> Running:
            started = state.started if request_id else self._clock()
            return replace(state, waiting=request_id, judging=False, started=started)

        self._change(change)

    def on_judging(self) -> None:
        self._change(lambda state: replace(state, judging=True))

    def on_decision(self, consent: Decision) -> None:
        slot = self._slot
        if slot.state is SlotState.EXECUTING:
            slot.part = replace(slot.part, decisions=(*slot.part.decisions, consent))
            self._store.stage(slot.part)

    def progress(self, text: str) -> None:
        self._change(lambda state: replace(state, output=text))

    def on_terminal(self, terminal: str) -> None:
        self._change(lambda state: replace(state, terminal=terminal))

    def _change(self, change: Callable[[Running], Running]) -> None:
        slot = self._slot
        if slot.state is SlotState.EXECUTING and isinstance(slot.part.state, Running):
            slot.part = replace(slot.part, state=change(slot.part.state))
            self._store.stage(slot.part)


class CallSupport(Protocol):
    """The turn, as the executor of one of its steps needs it."""

    @property
    def doom(self) -> DoomLoop: ...

    def context(self, part: ToolPart, progress: Callable[[str], None]) -> ToolContext:
        """Return the context in which a call runs; *progress* shows its output so far."""
        ...

    async def ask_repeat(self, part: ToolPart, decided: Callable[[Decision], None]) -> None:
        """Ask the user about a repeated call. Raises ``PermissionRejected``."""
        ...

    async def attached(self, touched: tuple[str, ...]) -> tuple[Instruction, ...]:
        """Return the instructions of the folders of *touched* files, each once."""
        ...


class StepExecutor:
    """The calls of one step, in the order in which they were announced.

    ``started`` is true once a call has run, ``stopped`` once the user rejected one without a
    comment; ``on_stop`` is called then. ``on_call`` is called when a call starts to arrive.
    """

    def __init__(
        self,
        store: Store,
        pipeline: Pipeline,
        calls: CallSupport,
        clock: Callable[[], float] = time.time,
        offered: Collection[str] | None = None,
        pause: Pause | None = None,
    ) -> None:
        """*offered* are the tools that the model can call in this step, None for all. No call
        begins during *pause*."""
        self.pause = pause or Pause()
        self._store = store
        self._pipeline = pipeline
        self._calls = calls
        self._offered = offered
        self._clock = clock
        self._slots: list[Slot] = []
        self._closed: str | None = None
        self.started = False
        self.stopped = False
        self.on_stop: Callable[[], object] = lambda: None
        self.on_call: Callable[[], object] = lambda: None

    @property
    def slots(self) -> tuple[Slot, ...]:
        return tuple(self._slots)

    @property
    def arriving(self) -> int:
        """Calls whose input has not arrived whole."""
        return sum(s.state is SlotState.ARRIVING for s in self._slots)

    def announce(self, part: ToolPart) -> Slot:
        """Register a call whose input starts to arrive."""
        part = replace(part, title=self._pipeline.verb(part.tool))
        self._pipeline.preload(part.tool)
        self.on_call()
        slot = Slot(part, asyncio.get_running_loop().create_future())
        self._slots.append(slot)
        return slot

    def submit(self, slot: Slot, arguments: str) -> None:
        """Run the call, whose input is complete, as soon as the order allows."""
        slot.arguments = arguments
        resolved = self._pipeline.resolve(slot.part.tool, arguments, self._offered)
        slot.resolved = resolved
        slot.state = SlotState.QUEUED
        slot.part = replace(slot.part, title=self._pipeline.verb(slot.part.tool))
        if isinstance(resolved, ResolvedCall):
            slot.part = replace(slot.part, tool=resolved.name)
            slot.safe = resolved.safe
            watched = not resolved.polling
            key: JsonObject | str = resolved.input
        else:
            watched, key = True, arguments
        if watched:
            slot.repeated = self._calls.doom.observe(slot.part.id, slot.part.tool, key)
        self._pump()

    def _pump(self) -> None:
        """Start every call that can start now."""
        executing = [s for s in self._slots if s.state is SlotState.EXECUTING]
        for slot in self._slots:
            if slot.state in {SlotState.EXECUTING, SlotState.COMPLETED}:
                continue
            if slot.state is SlotState.ARRIVING or len(executing) >= MAX_PARALLEL:
                return
            if executing and not (slot.safe and all(s.safe for s in executing)):
                return
            self._start(slot)
            executing.append(slot)

    def _start(self, slot: Slot) -> None:
        slot.state = SlotState.EXECUTING
        if self._closed is None and isinstance(slot.resolved, ResolvedCall):
            self.started = True
        slot.task = asyncio.create_task(self._run(slot), name=f"tool {slot.part.tool}")

    async def _run(self, slot: Slot) -> None:
        outcome: CallOutcome
        slot.begun = True
        try:
            outcome = await self._outcome(slot)
        except asyncio.CancelledError:
            outcome = self._aborted(slot)
        except Exception as error:
            # The boundary of one tool call, including the code outside the pipeline.
            log.exception("the call of %s failed outside the tool", slot.part.tool)
            text = f"The call could not be run: {type(error).__name__}: {error}"
            outcome = CallFailed(kind="error", error=text)
        await self._finish(slot, outcome)

    async def _outcome(self, slot: Slot) -> CallOutcome:
        await self.pause.over()
        if self._closed is not None:
            return CallFailed(kind="aborted", error=self._closed)
        observer = _PartObserver(self._store, slot, self._clock)
        if slot.repeated:
            try:
                await self._calls.ask_repeat(slot.part, observer.on_decision)
            except PermissionRejected as error:
                kind: FailureKind = "aborted" if error.withdrawn else "denied"
                stop = not (error.feedback or error.by_rule or error.withdrawn)
                return CallFailed(kind=kind, error=str(error), stop_turn=stop)
            self._calls.doom.reset()
        if not isinstance(slot.resolved, ResolvedCall):
            return slot.resolved or CallFailed(kind="invalid", error=INCOMPLETE)
        context = self._calls.context(slot.part, observer.progress)
        return await self._pipeline.run(slot.resolved, context, observer)

    def _aborted(self, slot: Slot) -> CallFailed:
        state = slot.part.state
        reason = slot.cancelled_as or ABORTED
        if isinstance(state, Running) and state.waiting is None and not state.judging:
            reason = reason.replace("Not run:", "Interrupted:")  # it may have done much
        return CallFailed(
            kind="aborted",
            error=reason,
            input=state.input if isinstance(state, Running) else None,
            label=state.label if isinstance(state, Running) else ToolLabel(""),
            blocks=state.blocks if isinstance(state, Running) else (),
            output=state.output if isinstance(state, Running) else "",
        )

    async def _finish(self, slot: Slot, outcome: CallOutcome) -> None:
        """Store a call's end once; what comes later is ignored."""
        if slot.state is SlotState.COMPLETED:
            return
        slot.state = SlotState.COMPLETED
        if (
            self._closed is not None
            and isinstance(outcome, CallFailed)
            and outcome.kind == "denied"
        ):
            # A question that was withdrawn is no refusal of the user's.
            outcome = replace(outcome, kind="aborted", stop_turn=False)
        slot.part = replace(slot.part, state=self._final(slot, outcome))
        try:
            await asyncio.shield(self._store.save(slot.part))
        except OpencodePyError:
            # The end of the step fails on the same store and reports it; go through all calls. This
            # one is shown as ended now, and stored when the disk has space again.
            log.exception("the end of a call of %s could not be stored", slot.part.tool)
            self._store.stage(slot.part)
        finally:
            self._calls.doom.record_result(slot.part.id, result_text(slot.part)[0])
            if not slot.done.done():
                slot.done.set_result(outcome)
            self._after(slot, outcome)

    def _after(self, slot: Slot, outcome: CallOutcome) -> None:
        if outcome.stop_turn:
            self.stopped = True
            self._cancel_others(slot, REJECTED)
            self.on_stop()
        elif isinstance(outcome, CallCompleted) and outcome.cancels_siblings:
            self._cancel_others(slot, SIBLING_FAILED)
        self._pump()

    def _cancel_others(self, failed: Slot, reason: str) -> None:
        """End the step's calls that are queued, running or still arriving."""
        self._closed = self._closed or reason
        for slot in self._slots:
            # A task that has not begun would end without a word: it finds the step closed itself.
            if (
                slot is not failed
                and slot.state is SlotState.EXECUTING
                and slot.task is not None
                and slot.begun
            ):
                slot.cancelled_as = reason
                slot.task.cancel()

    def _final(self, slot: Slot, outcome: CallOutcome) -> Completed | Failed:
        state = slot.part.state
        now = self._clock()
        started = state.started if isinstance(state, Running) else now
        match outcome:
            case CallCompleted():
                return Completed(
                    input=outcome.input,
                    label=outcome.label,
                    started=started,
                    ended=now,
                    output=outcome.output,
                    blocks=outcome.blocks,
                    facts=outcome.facts,
                    exit_code=outcome.exit_code,
                    spill=outcome.spill,
                    files=outcome.files,
                    reminders=outcome.reminders,
                )
            case CallFailed():
                return Failed(
                    error=outcome.error,
                    kind=outcome.kind,
                    started=started,
                    ended=now,
                    input=outcome.input,
                    raw="" if outcome.input is not None else slot.arguments,
                    label=outcome.label,
                    blocks=outcome.blocks,
                    output=outcome.output,
                    reminders=outcome.reminders,
                )
            case _:
                assert_never(outcome)

    async def results(self) -> tuple[CallOutcome, ...]:
        """Wait for every submitted call, as long as it needs; outcomes in call order."""
        return tuple([await slot.done for slot in self._slots])

    async def settle_context(self) -> None:
        """Once all calls have ended: add, in call order, the instructions of the folders that they
        touched to their reminders."""
        for slot in self._slots:
            outcome, state = slot.done.result(), slot.part.state
            if not isinstance(outcome, CallCompleted) or not isinstance(state, Completed):
                continue
            found = await self._calls.attached(outcome.touched) if outcome.touched else ()
            if found:
                slot.part = replace(slot.part, state=with_instructions(state, found))
                await self._store.save(slot.part)

    async def break_off(self, reason: str) -> None:
        """The stream ended: nothing is started any more that was not submitted whole.

        Calls that run continue; calls whose input never arrived end with *reason*.
        """
        for slot in self._slots:
            if slot.state is SlotState.ARRIVING:
                await self._finish(slot, CallFailed(kind="error", error=reason))
        self._pump()

    async def stop_starting(self, reason: str = BROKEN_OFF) -> None:
        """The stream broke: calls that were not started yet never are."""
        for slot in self._slots:
            if slot.state in {SlotState.ARRIVING, SlotState.QUEUED}:
                await self._finish(slot, CallFailed(kind="error", error=reason))

    async def tear_down(self, reason: str = ABORTED) -> None:
        """End everything: waiting calls at once, running ones after a grace."""
        self._closed = self._closed or reason
        for slot in self._slots:
            if slot.state in {SlotState.ARRIVING, SlotState.QUEUED}:
                await self._finish(slot, CallFailed(kind="aborted", error=reason))
        running = [s.task for s in self._slots if s.task is not None and not s.task.done()]
        if running:
            _, pending = await asyncio.wait(running, timeout=GRACE)
            for task in pending:
                task.cancel()
            if pending:
                await asyncio.wait(pending, timeout=ENDING)
        for slot in self._slots:
            if slot.state is not SlotState.COMPLETED:
                log.warning("the tool %s ignored its cancel and was given up on", slot.part.tool)
                await self._finish(slot, self._aborted(slot))


# The tool calls of one turn: their executors, and the context in which each call runs.


class TurnCalls:
    """Creates the executor of each step of a turn."""

    def __init__(
        self,
        services: TurnServices,
        session: Session,
        lineage: Lineage,
        subagents: Subagents,
        tracker: ChangeTracker,
        pause: Pause,
    ) -> None:
        self.pause = pause
        self.services = services
        self.session = session
        self.lineage = lineage
        self.subagents = subagents
        self._tracker = tracker
        self.doom = DoomLoop(services.limits.max_repeats)
        self._extra: tuple[Usage, float | None] = (Usage(), None)

    def take_extra_usage(self) -> tuple[Usage, float | None]:
        """Return the usage and cost of sub-agents, and of calls that asked a model, since this was
        called last."""
        extra, self._extra = self._extra, (Usage(), None)
        return extra

    def add_extra_usage(self, usage: Usage, cost: float | None) -> None:
        """Add usage that belongs to no step of the turn."""
        before, known = self._extra
        self._extra = (before + usage, add_costs(known, cost))

    def executor(
        self, message: AssistantMessage, conversation: Conversation, offered: Collection[str]
    ) -> StepExecutor:
        """Return the executor of the step *message*, which follows *conversation* and offers the
        tools *offered*."""
        services, calls = self.services, _StepCalls(self, message, conversation, set())
        executor = StepExecutor(
            services.store, services.pipeline, calls, services.clock, offered, self.pause
        )
        if not self.lineage.callers:
            executor.on_call = self._tracker.begin
        return executor

    async def before_change(self, files: tuple[str, ...] | None, only: bool) -> None:
        """Prepare for a call that can change *files* (``ToolContext.before_change``)."""
        lineage = self.lineage
        await self._warn_of_shared(files or ())
        # A sub-agent's changes belong to its caller: they are undone together. A background task
        # outlives its caller's steps, and one in a worktree changes other files, so these track
        # their changes themselves.
        shares_files = lineage.callers and self.session.project == lineage.project
        if shares_files and self.subagents.background_tasks.run(self.session.id) is None:
            await self.services.trackers.keep(lineage.root_id, files or ())
            return
        self._tracker.begin()
        await self._tracker.before_change(files, only=only)

    async def _warn_of_shared(self, files: tuple[str, ...]) -> None:
        """Warn of files that another session is changing in this folder at the same time."""
        shared = self.services.trackers.claim(self.lineage.root_id, files)
        for path, others in shared.items():
            own = await self.services.store.session(self.lineage.root_id)
            other = await self.services.store.session(min(others))
            self.services.bus.publish(
                Notice(
                    f"“{own.title}” is about to change {path}, which “{other.title}” has also "
                    "changed. /new --worktree gives a session its own folder."
                )
            )

    async def save_user_edit(self, path: str) -> None:
        """Include a file of the user's editor that was saved for them in the snapshot."""
        await self.services.trackers.include_saved_file(self.lineage.root_id, path)


@frozen
class _StepCalls:
    """The calls of one step (``executor.CallSupport``)."""

    turn: TurnCalls
    message: AssistantMessage
    conversation: Conversation
    claimed: set[str]
    """Instruction files that a call of the step has attached already."""

    @property
    def doom(self) -> DoomLoop:
        return self.turn.doom

    async def ask_repeat(self, part: ToolPart, decided: Callable[[Decision], None]) -> None:
        await self.turn.services.permissions.ask(
            replace(self._ask_context(part), on_decision=decided),
            (PermissionNeed("doom_loop", part.tool, reason="the same call as before, again"),),
            "The same call is being repeated. Continue?",
            (),
        )

    async def attached(self, touched: tuple[str, ...]) -> tuple[Instruction, ...]:
        return await self.turn.services.system_prompt.nested_instructions(
            self.turn.session, self.conversation, touched, self.claimed
        )

    def _ask_context(self, part: ToolPart) -> PermissionContext:
        session, lineage = self.turn.session, self.turn.lineage
        return PermissionContext(
            session_id=session.id,
            root_id=lineage.root_id,
            message_id=self.message.id,
            call_id=part.call_id,
            agent=self.message.agent,
            callers=lineage.callers,
            tool=part.tool,
            folder=session.directory,
        )

    def context(self, part: ToolPart, progress: Callable[[str], None]) -> ToolContext:
        turn, services, message = self.turn, self.turn.services, self.message
        session, lineage = turn.session, turn.lineage
        context = self._ask_context(part)
        model = services.catalog.model(message.model)

        async def ask(
            needs: tuple[PermissionNeed, ...], heading: str, blocks: tuple[Block, ...] = (), /
        ) -> PermissionReply:
            reply = await services.permissions.ask(context, needs, heading, blocks)
            return reply or PermissionReply("once")

        caller = replace(session, agent=message.agent, model=message.model)
        used = turn.add_extra_usage
        spender = Spender(lineage.root_id, session.id, message.agent, model)
        return ToolContext(
            session_id=session.id,
            root_id=lineage.root_id,
            message_id=message.id,
            call_id=part.call_id,
            agent=message.agent,
            directory=session.directory,
            project=session.project,
            files=services.files,
            progress=progress,
            ask=ask,
            vision=model.vision,
            documents=model.documents,
            callers=lineage.callers,
            subagents=turn.subagents.for_caller(
                caller, used, partial(services.spending.check, spender)
            ),
            completer=services.completions.for_session(session.id, message.model, used),
            judge=services.judges.for_session(session.id, message.model, used),
            before_change=turn.before_change,
            file_checks=services.file_checks,
            on_saved=turn.save_user_edit,
            # Sub-agents' calls are not shown, and a terminal is there to be seen.
            terminals=None if lineage.callers else services.terminals,
        )
