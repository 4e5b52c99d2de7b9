"""Sub-agents in the background: followed to their end, which is told once.

A call began each and did not wait for it. What comes of it is stored as a message that waits in
the session that it is for, together with its end: the turn that runs there takes it up at its
next step, an idle session begins a turn with it. The session's lease is held meanwhile, so that
no other program takes it for one whose program died.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from agent.bus import Bus
from agent.records.background import SILENT_STATES, BackgroundTask, BackgroundTaskState
from agent.records.context_parts import ReportPart
from agent.records.errors import OpencodePyError, SessionNotFound, ToolError
from agent.records.events import BackgroundTaskProgress, QueueChanged, SessionError, SessionIdle
from agent.records.messages import ErrorInfo, MessageWithParts, Outcome, Session, UserMessage
from agent.records.usage import Usage
from agent.session.queue import Queues
from agent.store.background_reports import background_report, queued_report
from agent.store.store import Store
from agent.tools.core.subagents import SpawnRequest, SpawnResult
from agent.tools.core.truncate import Truncator
from agent.tools.task import usage_facts

MAX_BACKGROUND_TASKS = 10
"""Sub-agents that work in the background for one session at once."""

TOO_MANY = (
    "{count} sub-agents work in the background already, the most allowed. Wait for a report, or "
    "stop one with task_output."
)
CLOSED = "The program was closed before it was done. It may have done a part."

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class BackgroundRun:
    """The turn of *child* for a call of *caller*. *work* does it and ends the child when it is
    cancelled. *tell* is told what it does; *started* is in seconds since the epoch."""

    child: Session
    caller: Session
    request: SpawnRequest
    started: float
    on_activity: Callable[[str], None]
    work: "asyncio.Task[SpawnResult] | None" = None
    activity: str = ""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def report_activity(self, activity: str) -> None:
        if activity != self.activity:
            self.activity = activity
            self.on_activity(activity)


class BackgroundTasks:
    """Those of all sessions."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        queues: Queues,
        truncator: Truncator,
        *,
        start_turn: Callable[[str], Awaitable[None]],
        release: Callable[[str], Awaitable[None]],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """*start_turn* begins a turn in a session that has queued messages, if it may; *release*
        gives up the claim on a session in which nothing runs any more."""
        self._store = store
        self._bus = bus
        self._queues = queues
        self._truncator = truncator
        self._start_turn = start_turn
        self._release = release
        self._clock = clock
        self._runs: dict[str, BackgroundRun] = {}
        self._followers: set[asyncio.Task[None]] = set()
        self._beginning: dict[str, str] = {}
        self._closing = False

    def running(self, session_id: str) -> tuple[str, ...]:
        """The sub-agents that work in the background for a session, the first begun first."""
        return tuple(key for key, job in self._runs.items() if job.caller.id == session_id)

    def run(self, child_id: str) -> BackgroundRun | None:
        """What a sub-agent does in the background; None once that is told."""
        return self._runs.get(child_id)

    def activity(self, session_id: str) -> dict[str, str]:
        """What the sub-agents in the background of a session do, by their sessions."""
        return {key: self._runs[key].activity for key in self.running(session_id)}

    @contextmanager
    def reserve_slot(self, session_id: str, child_id: str) -> Generator[None]:
        """Room for the child to begin to work for a session. Raises ``ToolError`` if too many do
        already."""
        begin = {child for child, parent in self._beginning.items() if parent == session_id}
        others = {*self.running(session_id), *begin} - {child_id}
        if len(others) >= MAX_BACKGROUND_TASKS:
            raise ToolError(TOO_MANY.format(count=len(others)))
        self._beginning[child_id] = session_id
        try:
            yield
        finally:
            self._beginning.pop(child_id, None)

    async def start(self, job: BackgroundRun) -> None:
        """Leave *job* to the background: from here on it is followed."""
        request = job.request
        task = BackgroundTask(
            message_id=request.message_id, call_id=request.call_id, started=job.started
        )
        await self._store.update(job.child.id, lambda s: replace(s, background_task=task))
        self._runs[job.child.id] = job
        job.on_activity = lambda activity: self._bus.publish(
            BackgroundTaskProgress(job.caller.id, job.child.id, activity)
        )
        follower = asyncio.create_task(self._follow(job), name=f"background task of {job.child.id}")
        self._followers.add(follower)
        follower.add_done_callback(self._followers.discard)

    async def wait_for_end(self, job: BackgroundRun, wait: float) -> None:
        """Wait up to *wait* seconds for the end of *job*, or until the user says something."""
        session_id = job.caller.id
        with self._bus.subscribe(lambda event: _queued(event, session_id)) as news:

            async def spoken_to() -> None:
                while not has_user_message(self._queues, session_id):
                    await news.wait()
                    news.drain()

            waiting = {
                asyncio.create_task(job.ended.wait(), name="background task's end"),
                asyncio.create_task(spoken_to(), name="message of the user"),
            }
            try:
                await asyncio.wait(waiting, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in waiting:
                    task.cancel()

    async def wait_for_message(self, session_id: str) -> None:
        """Return when something waits in a session, or the end of an task could not be told."""
        with self._bus.subscribe(lambda event: _queued(event, session_id)) as news:
            if self.running(session_id) and not self._queues.ids(session_id):
                await news.wait()

    async def take_report(self, session_id: str, child_id: str) -> ReportPart | None:
        """The report of a sub-agent that waits in a session, which waits no more."""
        for item in self._queues.queued(session_id):
            report = report_in(item)
            if report is not None and report.child_id == child_id:
                await self._queues.remove(session_id, item.message.id)
                return report
        return None

    def continues(self, end: SessionIdle) -> bool:
        """Whether the turn that ended is followed by one on what waits."""
        return continues_after(self._queues, end.session_id, end.outcome)

    async def settle(self, session_id: str) -> None:
        """Wait until all is told of what was stopped in a session and below."""
        for child_id in self.running(session_id):
            await self.settle(child_id)
            job = self._runs.get(child_id)
            if job is not None:
                await job.ended.wait()

    async def close(self) -> None:
        """Wait for the ends of all: they were stopped, as the program ends."""
        if self._followers:
            await asyncio.wait(set(self._followers))

    def begin_closing(self) -> None:
        """From here on what ends is interrupted, and begins nothing."""
        self._closing = True

    async def _follow(self, job: BackgroundRun) -> None:
        """Wait for the end of *job*, store it with its report, and have that taken up."""
        work = job.work
        assert work is not None  # set before a job is begun
        await asyncio.wait([work])
        parent_id = job.caller.id
        outcome: BackgroundTaskState = "failed"
        try:
            outcome = await self._store_report(job, work)
        except OpencodePyError as error:
            if not isinstance(error, SessionNotFound):  # deleted meanwhile: nobody is to know
                log.exception(
                    "the end of the background task of %s could not be told", job.child.id
                )
                info = ErrorInfo(type(error).__name__, error.message)
                self._bus.publish(SessionError(parent_id, info))
            # Who waits for a report is not to wait for ever.
            self._bus.publish(QueueChanged(parent_id, self._queues.ids(parent_id)))
        finally:
            del self._runs[job.child.id]
            job.ended.set()
        if outcome not in SILENT_STATES and not self._closing:
            await self._start_turn(parent_id)
        await self._release(parent_id)

    async def _store_report(
        self, job: BackgroundRun, work: "asyncio.Task[SpawnResult]"
    ) -> BackgroundTaskState:
        report, facts = self._make_report(job, work)
        if report.text:
            cut = await asyncio.to_thread(self._truncator.apply, report.text, "head")
            report = replace(report, text=cut.text)
        now = self._clock()
        parent = await self._store.session(job.caller.id)
        message, report, told = queued_report(parent, report, now)

        def ended(session: Session) -> Session:
            task = session.background_task
            if task is None:
                return session
            done = replace(task, state=report.outcome, ended=now, facts=facts)
            return replace(session, background_task=done)

        with self._queues.adding(MessageWithParts(message, (report, told))):
            await self._store.update(job.child.id, ended, message, report, told)
        return report.outcome

    def _make_report(
        self, job: BackgroundRun, work: "asyncio.Task[SpawnResult]"
    ) -> tuple[ReportPart, tuple[str, ...]]:
        if work.cancelled() or (self._closing and _cancelled(work)):
            return background_report(job.child, "interrupted", CLOSED), ()
        if (error := work.exception()) is not None:
            log.error("the background task of %s failed", job.child.id, exc_info=error)
            return background_report(job.child, "failed", f"{type(error).__name__}: {error}"), ()
        done = work.result()
        report = replace(
            background_report(job.child, done.outcome, done.error),
            agent=job.request.agent,
            description=job.request.description,
            text=done.text,
            facts=usage_facts(done),
            usage=done.usage,
            cost=done.cost,
        )
        return report, report.facts


def _cancelled(work: "asyncio.Task[SpawnResult]") -> bool:
    return work.exception() is None and work.result().outcome == "cancelled"


def _queued(event: object, session_id: str) -> bool:
    return isinstance(event, QueueChanged) and event.session_id == session_id


def report_in(item: MessageWithParts) -> ReportPart | None:
    """The report that a message brings, if it does."""
    return next((part for part in item.parts if isinstance(part, ReportPart)), None)


def continues_after(queues: Queues, session_id: str, outcome: Outcome) -> bool:
    """Whether what waits in a session begins a turn by itself after one that ended so."""
    waits = any(begins_turn(item) for item in queues.queued(session_id))
    return waits and outcome in {"completed", "failed"}


def begins_turn(item: MessageWithParts) -> bool:
    """Whether a message that waits may begin a turn by itself: not a report of something that the
    user stopped."""
    report = report_in(item)
    return report is None or report.outcome not in SILENT_STATES


def has_user_message(queues: Queues, session_id: str) -> bool:
    """Whether a message of the user waits in a session."""
    return any(
        isinstance(item.message, UserMessage) and not item.message.synthetic
        for item in queues.queued(session_id)
    )


def reported_usage(items: list[MessageWithParts]) -> list[tuple[Usage, float | None]]:
    """What the sub-agents have taken whose reports are among *items*."""
    reports = (report_in(item) for item in items)
    return [(report.usage, report.cost) for report in reports if report is not None]
