"""Background tasks: sub-agents that are followed to their end, which is reported once.

A call started each and did not wait for it. Its report is stored as a queued message of the parent
session, together with its end: a running turn takes it at its next step, an idle session starts a
turn with it. The parent's lease is held meanwhile, so that no other program takes the session for
one whose program died.
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
from agent.tools.core.subagents import SpawnRequest, SpawnResult, usage_facts
from agent.tools.core.truncate import Truncator

MAX_BACKGROUND_TASKS = 10
"""Background tasks of one session at once."""

TOO_MANY = (
    "{count} sub-agents are already working in the background, the maximum. Wait for a report, or "
    "end one with bash_output and kill."
)
CLOSED = "The program was closed before it was done. It may be partly done."

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class BackgroundRun:
    """The turn of *child* for a call of *caller*."""

    child: Session
    caller: Session
    request: SpawnRequest
    started: float
    """Seconds since the epoch."""
    on_activity: Callable[[str], None]
    """Called with each new activity."""
    work: "asyncio.Task[SpawnResult] | None" = None
    """Does the task, and ends the child when it is canceled."""
    activity: str = ""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def report_activity(self, activity: str) -> None:
        if activity != self.activity:
            self.activity = activity
            self.on_activity(activity)


class BackgroundTasks:
    """The background tasks of all sessions."""

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
        """*start_turn* begins a turn in a session that has queued messages, if it can; *release*
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
        """Return the sub-agents that work in the background for a session, the first started
        first."""
        return tuple(key for key, run in self._runs.items() if run.caller.id == session_id)

    def run(self, child_id: str) -> BackgroundRun | None:
        """Return the background run of a sub-agent; None once it is reported."""
        return self._runs.get(child_id)

    def activity(self, session_id: str) -> dict[str, str]:
        """Return the activity of the background tasks of a session, by child session."""
        return {key: self._runs[key].activity for key in self.running(session_id)}

    @contextmanager
    def reserve_slot(self, session_id: str, child_id: str) -> Generator[None]:
        """Reserve a slot for a child to start. Raises ``ToolError`` if too many tasks run."""
        begin = {child for child, parent in self._beginning.items() if parent == session_id}
        others = {*self.running(session_id), *begin} - {child_id}
        if len(others) >= MAX_BACKGROUND_TASKS:
            raise ToolError(TOO_MANY.format(count=len(others)))
        self._beginning[child_id] = session_id
        try:
            yield
        finally:
            self._beginning.pop(child_id, None)

    async def start(self, run: BackgroundRun) -> None:
        """Move *run* to the background: from here on it is followed."""
        request = run.request
        task = BackgroundTask(
            message_id=request.message_id, call_id=request.call_id, started=run.started
        )
        await self._store.update(run.child.id, lambda s: replace(s, background_task=task))
        self._runs[run.child.id] = run
        run.on_activity = lambda activity: self._bus.publish(
            BackgroundTaskProgress(run.caller.id, run.child.id, activity)
        )
        follower = asyncio.create_task(self._follow(run), name=f"background task of {run.child.id}")
        self._followers.add(follower)
        follower.add_done_callback(self._followers.discard)

    async def wait_for_end(self, run: BackgroundRun, wait: float) -> None:
        """Wait up to *wait* seconds for the end of *run*, or until the user queues a message."""
        session_id = run.caller.id
        with self._bus.subscribe(lambda event: _queued(event, session_id)) as news:

            async def spoken_to() -> None:
                while not has_user_message(self._queues, session_id):
                    await news.wait()
                    news.drain()

            waiting = {
                asyncio.create_task(run.ended.wait(), name="background task's end"),
                asyncio.create_task(spoken_to(), name="message of the user"),
            }
            try:
                await asyncio.wait(waiting, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in waiting:
                    task.cancel()

    async def wait_for_message(self, session_id: str) -> None:
        """Return when a session has a queued message, or a report could not be stored."""
        with self._bus.subscribe(lambda event: _queued(event, session_id)) as news:
            if self.running(session_id) and not self._queues.ids(session_id):
                await news.wait()

    async def take_report(self, session_id: str, child_id: str) -> ReportPart | None:
        """Remove the report of a sub-agent from the queue of a session and return it."""
        for item in self._queues.queued(session_id):
            report = report_in(item)
            if report is not None and report.child_id == child_id:
                await self._queues.remove(session_id, item.message.id)
                return report
        return None

    def continues(self, end: SessionIdle) -> bool:
        """Return whether a queued message starts a turn after the one that ended."""
        return continues_after(self._queues, end.session_id, end.outcome)

    async def settle(self, session_id: str) -> None:
        """Wait until all stopped tasks in and below a session are reported."""
        for child_id in self.running(session_id):
            await self.settle(child_id)
            run = self._runs.get(child_id)
            if run is not None:
                await run.ended.wait()

    async def close(self) -> None:
        """Wait for the ends of all: they were stopped, as the program ends."""
        if self._followers:
            await asyncio.wait(set(self._followers))

    def begin_closing(self) -> None:
        """From here on tasks end as interrupted, and start no turn."""
        self._closing = True

    async def _follow(self, run: BackgroundRun) -> None:
        """Wait for the end of *run*, store it with its report, and have that handled."""
        work = run.work
        assert work is not None  # set before the run starts
        await asyncio.wait([work])
        parent_id = run.caller.id
        outcome: BackgroundTaskState = "failed"
        try:
            outcome = await self._store_report(run, work)
        except OpencodePyError as error:
            if not isinstance(error, SessionNotFound):  # the session was deleted meanwhile
                log.exception(
                    "the end of the background task of %s could not be reported", run.child.id
                )
                info = ErrorInfo(type(error).__name__, error.message)
                self._bus.publish(SessionError(parent_id, info))
            # Ends the wait of those that wait for the report.
            self._bus.publish(QueueChanged(parent_id, self._queues.ids(parent_id)))
        finally:
            del self._runs[run.child.id]
            run.ended.set()
        if outcome not in SILENT_STATES and not self._closing:
            await self._start_turn(parent_id)
        await self._release(parent_id)

    async def _store_report(
        self, run: BackgroundRun, work: "asyncio.Task[SpawnResult]"
    ) -> BackgroundTaskState:
        report, facts = self._make_report(run, work)
        if report.text:
            cut = await asyncio.to_thread(self._truncator.apply, report.text, "head")
            report = replace(report, text=cut.text)
        now = self._clock()
        parent = await self._store.session(run.caller.id)
        message, report, text = queued_report(parent, report, now)

        def ended(session: Session) -> Session:
            task = session.background_task
            if task is None:
                return session
            done = replace(task, state=report.outcome, ended=now, facts=facts)
            return replace(session, background_task=done)

        with self._queues.adding(MessageWithParts(message, (report, text))):
            await self._store.update(run.child.id, ended, message, report, text)
        return report.outcome

    def _make_report(
        self, run: BackgroundRun, work: "asyncio.Task[SpawnResult]"
    ) -> tuple[ReportPart, tuple[str, ...]]:
        if work.cancelled() or (self._closing and _cancelled(work)):
            return background_report(run.child, "interrupted", CLOSED), ()
        if (error := work.exception()) is not None:
            log.error("the background task of %s failed", run.child.id, exc_info=error)
            return background_report(run.child, "failed", f"{type(error).__name__}: {error}"), ()
        done = work.result()
        report = replace(
            background_report(run.child, done.outcome, done.error),
            agent=run.request.agent,
            description=run.request.description,
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
    """Return the report of a message, if it has one."""
    return next((part for part in item.parts if isinstance(part, ReportPart)), None)


def continues_after(queues: Queues, session_id: str, outcome: Outcome) -> bool:
    """Return whether a queued message starts a turn after one with that outcome."""
    waits = any(begins_turn(item) for item in queues.queued(session_id))
    return waits and outcome in {"completed", "failed"}


def begins_turn(item: MessageWithParts) -> bool:
    """Return whether a queued message can start a turn: not a report of a task that the user
    stopped."""
    report = report_in(item)
    return report is None or report.starts_turn


def has_user_message(queues: Queues, session_id: str) -> bool:
    """Return whether a message of the user is queued in a session."""
    return any(
        isinstance(item.message, UserMessage) and not item.message.synthetic
        for item in queues.queued(session_id)
    )


def reported_usage(items: list[MessageWithParts]) -> list[tuple[Usage, float | None]]:
    """Return the usage of the sub-agents whose reports are among *items*."""
    reports = (report_in(item) for item in items)
    return [(report.usage, report.cost) for report in reports if report is not None]
