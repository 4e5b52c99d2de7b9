"""The runner of turns: one at a time in a session, each with a lease, a cancel and an end.

A turn is an asyncio task that the runner owns. ``cancel`` ends that task; the clean-up runs in a
second task, which no other cancel reaches, and ``SessionIdle`` is published exactly once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from agent.records.errors import OpencodePyError, SessionBusy
from agent.records.events import SessionError, SessionIdle, SessionStatusChanged
from agent.records.messages import Busy, ErrorInfo, Idle, Outcome, SessionStatus
from agent.session.repository import discard_undone
from agent.session.subagents.background import continues_after, has_user_message
from agent.session.subagents.subagents import Subagents, lineage_of
from agent.session.turn.loop import run_turn
from agent.session.turn.state import TurnEnd, TurnTotals
from agent.session.turn.turn import Turn, store_end, tear_down
from agent.session.turn.turn_services import TurnServices
from agent.tracing import Tracing

CLOSE_TIMEOUT = 2.0
"""Seconds that program exit waits for running turns."""

TurnWork = Callable[[Turn, str], Awaitable[TurnEnd]]
"""The work of a turn, to its end; it gets the session's id too. Cancelling it leaves the
clean-up to the runner."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class RunningTurn:
    """The turn of a session."""

    turn: Turn
    work: TurnWork
    loop: "asyncio.Task[TurnEnd] | None" = None
    supervisor: "asyncio.Task[None] | None" = None
    cancelling: bool = False
    start_next: bool = False
    """True if messages were sent after the cancel: a new turn starts on them."""


class Runner:
    """Knows which sessions are busy. ``claim`` makes one so, ``launch`` begins its turn."""

    def __init__(self, services: TurnServices, subagents: Subagents) -> None:
        self._services = services
        self._subagents = subagents
        self._bus = services.bus
        self._running: dict[str, RunningTurn] = {}
        self._status: dict[str, SessionStatus] = {}
        self._following: set[str] = set()
        self._last: dict[str, tuple[Outcome, TurnTotals]] = {}
        self._closing = False

    @property
    def busy(self) -> bool:
        """True if a turn runs in any session, or is about to start on queued messages."""
        return bool(self._running or self._following)

    def running(self, session_id: str) -> RunningTurn | None:
        return self._running.get(session_id)

    def status(self, session_id: str) -> SessionStatus:
        return self._status.get(session_id, Idle())

    def set_status(self, session_id: str, status: SessionStatus) -> None:
        """Publish a status; an idle session has no entry. A cancel is not undone."""
        running = self._running.get(session_id)
        if running is not None and running.cancelling and isinstance(status, Busy):
            status = replace(status, cancelling=True)
        if isinstance(status, Idle):
            self._status.pop(session_id, None)
        else:
            self._status[session_id] = status
        self._bus.publish(SessionStatusChanged(session_id, status))

    async def claim(self, session_id: str, work: TurnWork | None = None) -> RunningTurn | None:
        """Make the session busy; return None if a turn runs already, which will dequeue messages.

        *work* replaces the usual work of a turn. Raises ``SessionBusy`` when another
        instance of the program runs a turn in this session.
        """
        record = await self._services.store.session(session_id)
        lineage = await lineage_of(self._services.store, record)
        if session_id in self._running or self._closing:
            return None
        turn = Turn(
            self._services,
            record,
            lineage,
            lambda status: self.set_status(session_id, status),
            self._subagents,
        )
        running = RunningTurn(turn, work or run_turn)
        self._running[session_id] = running
        leased = False
        try:
            leased = await self._services.store.acquire_lease(session_id)
        finally:
            if not leased:
                del self._running[session_id]
        if not leased:
            raise SessionBusy(
                "Another opencode-py is working in this session. Wait until it is done, "
                "or fork the session."
            )
        known = self._services.queues.ids(session_id)
        try:
            stored = await self._services.store.context_messages(
                session_id, before=record.undone_at
            )
        except BaseException:
            await self.unclaim(session_id)
            raise
        self._services.queues.reload(session_id, stored, known=known)
        turn.load(stored)
        return running

    async def unclaim(self, session_id: str) -> None:
        """Make the session idle again: the turn that was to run never began. A prompt that came
        meanwhile and relied on it gets one of its own."""
        running = self._running.pop(session_id, None)
        if self.status(session_id) != Idle():
            self.set_status(session_id, Idle())
        await self.release_if_idle(session_id)
        if running is not None and running.start_next and self._services.queues.ids(session_id):
            await self.start_queued(session_id)

    def launch(self, session_id: str, running: RunningTurn) -> None:
        running.start_next = (
            running.start_next and running.cancelling
        )  # else it picks up what waits
        running.supervisor = asyncio.create_task(
            self._supervise(session_id, running), name=f"supervisor of {running.turn.id}"
        )

    async def _supervise(self, session_id: str, running: RunningTurn) -> None:
        """Run the loop in a task of its own, then clean up, whatever happened to it."""
        turn = running.turn
        self.set_status(session_id, Busy(turn.started))
        running.loop = asyncio.create_task(
            _traced(self._services.tracing, running, session_id), name=f"turn {turn.id}"
        )
        if running.cancelling:
            running.loop.cancel()
        try:
            await asyncio.wait([running.loop])
        except asyncio.CancelledError:
            # The event loop is closing: the turn is still ended in order.
            running.cancelling = True
            running.loop.cancel()
            await asyncio.wait([running.loop])
        await _wait_uncancelled(asyncio.create_task(self._finish(session_id, running)))

    async def _finish(self, session_id: str, running: RunningTurn) -> None:
        end = await self._end(session_id, running)
        await self._finalize(session_id, running, end)

    async def _end(self, session_id: str, running: RunningTurn) -> TurnEnd:
        """The turn's end, after its teardown. The one boundary of a turn for any fault."""
        loop = running.loop
        assert loop is not None  # set by the supervisor before it waits
        fault: ErrorInfo | None = None
        if loop.cancelled():
            end = TurnEnd("cancelled")
        elif (error := loop.exception()) is not None:
            if not isinstance(error, OpencodePyError):
                log.error("a turn of %s failed", session_id, exc_info=error)
            fault = ErrorInfo(type(error).__name__, str(error) or type(error).__name__)
            end = TurnEnd("failed", "error", fault)
        else:
            end = loop.result()
        try:
            is_prompted = running.work is run_turn
            await tear_down(running.turn, fault, is_prompted=is_prompted)
            if is_prompted or end.error is not None:
                await store_end(running.turn, end)
        except Exception as error:
            log.exception("cleaning up after a turn of %s failed", session_id)
            fault = ErrorInfo(type(error).__name__, str(error))
            end = TurnEnd("failed", "error", fault)
        return end

    async def _finalize(self, session_id: str, running: RunningTurn, end: TurnEnd) -> None:
        """Store the end, publish that the turn is over, start the next one on queued messages."""
        await self._services.queues.wait_until_moved()
        store = self._services.store
        for last in (
            store.flush,
            lambda: self._services.update(
                session_id, lambda s: replace(s, turns=s.turns + 1, updated=self._services.clock())
            ),
            lambda: self._release(session_id),
        ):
            try:  # one by one: a full disk must not keep the lease
                await last()
            except OpencodePyError as error:
                log.exception("the end of a turn of %s could not be stored", session_id)
                error_info = ErrorInfo("StoreError", str(error))
                self._bus.publish(SessionError(session_id, error_info))
        self._running.pop(session_id, None)
        self.set_status(session_id, Idle())
        self._bus.publish(
            SessionIdle(session_id, running.turn.id, end.outcome, end.finish, end.error)
        )
        used = running.turn.totals
        self._last[session_id] = (end.outcome, used)
        queues = self._services.queues
        waits = bool(queues.ids(session_id))
        if (waits and running.start_next) or continues_after(queues, session_id, end.outcome):
            await self.start_queued(
                session_id, None if has_user_message(queues, session_id) else used
            )

    async def start_on_report(self, session_id: str) -> None:
        """Start a turn on a queued report, unless the turn before was stopped by the user or
        by a limit; a running turn dequeues it itself. The usage since the last user message counts
        for the limits of the new turn."""
        outcome, used = self._last.get(session_id, ("completed", TurnTotals()))
        if not continues_after(self._services.queues, session_id, outcome):
            return
        if (running := self._running.get(session_id)) is None:
            await self.start_queued(session_id, used)
        elif running.supervisor is None:
            running.start_next = True

    async def release_if_idle(self, session_id: str) -> None:
        """Release the lease of a session in which nothing runs."""
        if session_id not in self._running:
            await self._release(session_id)

    async def _release(self, session_id: str) -> None:
        # A background task will store its end here, so the lease is kept.
        if not self._subagents.background_tasks.running(session_id):
            await self._services.store.release_lease(session_id)

    async def start_queued(self, session_id: str, used: TurnTotals | None = None) -> bool:
        """Start a turn on queued messages, true if one began; if that fails, they stay queued and
        a ``SessionError`` is published."""
        self._following.add(session_id)
        try:
            following = await self.claim(session_id)
            if following is not None:
                await self._discard_undone(session_id)
        except OpencodePyError as error:
            self._bus.publish(SessionError(session_id, ErrorInfo("session", error.message)))
            return False
        finally:
            self._following.discard(session_id)
        if following is None:
            return False
        if used is not None:
            following.turn.totals = used.carried_over()
        self.launch(session_id, following)
        return True

    async def _discard_undone(self, session_id: str) -> None:
        """Discard the undone messages of a claimed session; release it if that fails."""
        try:
            await discard_undone(self._services.store, session_id)
        except BaseException:
            await self.unclaim(session_id)
            raise

    async def cancel(self, session_id: str, *, background: bool = True) -> bool:
        """Cancel the running turn; return true if there was something to cancel. Acknowledged on
        the bus at once.

        Its sub-agents are canceled with it, those in the *background* only if it
        is true.
        """
        stopped = False
        for child in self._subagents.running(session_id, background=background):
            stopped = await self.cancel(child) or stopped
        running = self._running.get(session_id)
        if running is None:
            return stopped
        if running.cancelling:
            return True
        running.cancelling, running.start_next = True, False
        self.set_status(session_id, Busy(running.turn.started, cancelling=True))
        self._services.permissions.cancel_session(session_id)
        self._services.questions.cancel_session(session_id)
        if running.loop is not None:
            running.loop.cancel()
        return True

    def pause(self, session_id: str, *, paused: bool) -> None:
        """Pause the running turn and those of its sub-agents, or let them go on."""
        for child in self._subagents.running(session_id, background=False):
            self.pause(child, paused=paused)
        if (running := self._running.get(session_id)) is not None:
            pause = running.turn.pause
            pause.begin() if paused else pause.end()

    async def wait(self, session_id: str) -> None:
        """Wait until no turn runs in a session."""
        running = self._running.get(session_id)
        if running is not None and running.supervisor is not None:
            await asyncio.wait([running.supervisor])

    async def close(self) -> None:
        """Cancel every turn and wait a little for their clean-up."""
        self._closing = True
        for session_id in list(self._running):
            await self.cancel(session_id)
        tasks = [r.supervisor for r in self._running.values() if r.supervisor is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_TIMEOUT)


async def _traced(tracing: Tracing, running: RunningTurn, session_id: str) -> TurnEnd:
    with tracing.span(
        "invoke_agent",
        gen_ai__operation__name="invoke_agent",
        gen_ai__conversation__id=session_id,
    ) as span:
        end = await running.work(running.turn, session_id)
        asked = running.turn.conversation.all
        agent = asked[-1].message.agent if asked else running.turn.session.agent
        span.set(gen_ai__agent__name=agent, opencode_py__outcome=end.outcome)
        if end.error is not None:
            span.failed(end.error.kind, "")
        return end


async def _wait_uncancelled(work: "asyncio.Task[None]") -> None:
    """Wait for *work* even if the waiter is canceled: the clean-up is short and must complete."""
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            continue
