"""The session service: what every front end calls (spec 0). Events come back on the bus.

A turn is a plain asyncio task owned here (A5). ``cancel`` ends the loop's task; this
module then cleans up in a task of its own, which no second cancel reaches (L10), and
publishes ``SessionIdle`` exactly once (L15).
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from agent.bus import Bus, Subscription
from agent.errors import OpencodePyError, SessionBusy
from agent.events import (
    Event,
    MessageRemoved,
    MessageUpdated,
    PartUpdated,
    PermissionReplied,
    QuestionReplied,
    SessionCreated,
    SessionError,
    SessionIdle,
    SessionStatusChanged,
    SessionUpdated,
)
from agent.files import FileTracker
from agent.model import (
    Busy,
    ErrorInfo,
    Idle,
    SessionStatus,
    UserMessage,
)
from agent.session.directory import Directory
from agent.session.incoming import remembered, user_message
from agent.session.loop import run_turn
from agent.session.loop_state import TurnEnd
from agent.session.mentions import Mentions
from agent.session.subagents import Subagents, lineage_of
from agent.session.turn import Turn, TurnDeps
from agent.session.undo import Undo, settle_undone
from agent.session.view import PromptInput, SessionSnapshot
from agent.tracing import Tracing

PAGE = 400
"""Messages that a front end gets when it attaches; older ones are asked for."""

CLOSING = 2.0
"""Seconds that program exit waits for running turns (spec 1, L10a)."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Running:
    turn: Turn
    loop: "asyncio.Task[TurnEnd] | None" = None
    supervisor: "asyncio.Task[None] | None" = None
    cancelling: bool = False
    go_on: bool = False


class SessionService:
    """Prompts, cancels and describes the sessions of one folder."""

    def __init__(
        self, deps: TurnDeps, bus: Bus, directory: Directory, clock: Callable[[], float] = time.time
    ) -> None:
        self._deps = deps
        self._bus = bus
        self._directory = directory
        self._clock = clock
        self._running: dict[str, _Running] = {}
        self._status: dict[str, SessionStatus] = {}
        self._files = FileTracker()
        self._mentions = Mentions(deps.registry, self._files)
        self._subagents = Subagents(self, deps.store, bus, directory, deps.agents)
        self._closing = False
        self._undo = Undo(deps.store, deps.snapshots, directory, self)

    @property
    def directory(self) -> Directory:
        """Creating, listing, renaming, forking and deleting sessions."""
        return self._directory

    @property
    def busy(self) -> bool:
        """Whether a turn runs in any session."""
        return bool(self._running)

    def status(self, session_id: str) -> SessionStatus:
        return self._status.get(session_id, Idle())

    def set_status(self, session_id: str, status: SessionStatus) -> None:
        """Publish a status; an idle session has no entry. A cancel is not taken back."""
        running = self._running.get(session_id)
        if running is not None and running.cancelling and isinstance(status, Busy):
            status = replace(status, cancelling=True)
        if isinstance(status, Idle):
            self._status.pop(session_id, None)
        else:
            self._status[session_id] = status
        self._bus.publish(SessionStatusChanged(session_id, status))

    async def prompt(self, session_id: str, prompt: PromptInput) -> str:
        """Store a prompt; it starts a turn, or waits in the queue of the one that runs (L3).

        Returns the message's id. Raises ``SessionNotFound``, ``ModelNotFound``, ``MissingKey``,
        ``ToolError`` for a file it names that cannot be read, and
        ``SessionBusy`` when another instance of the program runs a turn in this session.
        """
        session = await self._deps.store.session(session_id)
        item = user_message(session, prompt, self._deps.catalog.default_model(), self._clock())
        message = item.message
        assert isinstance(message, UserMessage)  # noqa: S101 - made just above
        # Refused before it is stored: a prompt that cannot be sent stays in the editor.
        model = self._deps.catalog.model(message.model)
        self._deps.clients.client_for(model)
        item = await self._mentions.added(item, prompt.mentions, session, model)
        await settle_undone(self._deps.store, self._directory, session)
        claimed = await self._claim(session_id)
        try:
            await self._deps.store.save(message, *item.parts)
            if prompt.text.strip():
                await self._deps.store.add_history(prompt.text, session.directory)
            await self._directory.update(
                session_id, lambda s: remembered(s, message, prompt.text, self._clock())
            )
        except BaseException:
            if claimed is not None:
                await self._disclaim(session_id)
            raise
        self._deps.queues.add(item)
        # The turn that was to take it up may have ended while it was stored.
        claimed = claimed or await self._claim(session_id)
        if claimed is not None:
            self._launch(session_id, claimed)
        elif (running := self._running.get(session_id)) is not None and running.cancelling:
            running.go_on = True  # sent after the cancel: it is what the user wants next (L10)
        return message.id

    async def _claim(self, session_id: str) -> _Running | None:
        """Make the session busy; None if a turn runs already, which will take up the queue."""
        record = await self._deps.store.session(session_id)
        lineage = await lineage_of(self._deps.store, record)
        if session_id in self._running or self._closing:
            return None
        turn = Turn(
            self._deps,
            record,
            lineage,
            self._files,
            lambda status: self.set_status(session_id, status),
            self._subagents.spawn,
        )
        running = _Running(turn)
        self._running[session_id] = running
        leased = False
        try:
            leased = await self._deps.store.acquire_lease(session_id)
        finally:
            if not leased:
                del self._running[session_id]
        if not leased:
            raise SessionBusy(
                "Another opencode-py is working in this session. Wait until it is done, "
                "or fork the session."
            )
        try:
            stored = await self._deps.store.messages(session_id)
        except BaseException:
            await self._disclaim(session_id)
            raise
        self._deps.queues.reload(session_id, stored)
        turn.begin_with(stored)
        return running

    async def _disclaim(self, session_id: str) -> None:
        """Make the session idle again: the turn that was to run never began."""
        self._running.pop(session_id, None)
        if self.status(session_id) != Idle():
            self.set_status(session_id, Idle())
        await self._deps.store.release_lease(session_id)

    def _launch(self, session_id: str, running: _Running) -> None:
        running.supervisor = asyncio.create_task(
            self._supervise(session_id, running), name=f"supervisor of {running.turn.id}"
        )

    async def _supervise(self, session_id: str, running: _Running) -> None:
        """Run the loop in a task of its own, then clean up, whatever happened to it (L10)."""
        turn = running.turn
        self.set_status(session_id, Busy(turn.started))
        running.loop = asyncio.create_task(
            _traced(self._deps.tracing, turn, session_id), name=f"turn {turn.id}"
        )
        if running.cancelling:
            running.loop.cancel()
        try:
            await asyncio.wait([running.loop])
        except asyncio.CancelledError:
            # The event loop is going down: the turn is ended in order all the same (L10).
            running.cancelling = True
            running.loop.cancel()
            await asyncio.wait([running.loop])
        await _undisturbed(asyncio.create_task(self._finish(session_id, running)))

    async def _finish(self, session_id: str, running: _Running) -> None:
        end = await self._end(session_id, running)
        await self._settle(session_id, running, end)

    async def _end(self, session_id: str, running: _Running) -> TurnEnd:
        """The turn's end, after its teardown. The one boundary of a turn for any fault (A7)."""
        loop = running.loop
        assert loop is not None  # noqa: S101 - set by the supervisor before it waits
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
            await running.turn.teardown(fault)
            await running.turn.tell(end)
        except Exception as error:
            log.exception("cleaning up after a turn of %s failed", session_id)
            fault = ErrorInfo(type(error).__name__, str(error))
            end = TurnEnd("failed", "error", fault)
        return end

    async def _settle(self, session_id: str, running: _Running, end: TurnEnd) -> None:
        """Store the last facts, say that the turn is over, go on with what waits."""
        await self._deps.queues.settle()
        store = self._deps.store
        for last in (
            store.flush,
            lambda: self._directory.update(
                session_id, lambda s: replace(s, turns=s.turns + 1, updated=self._clock())
            ),
            lambda: store.release_lease(session_id),
        ):
            try:  # each for itself: a full disk must not keep the lease
                await last()
            except OpencodePyError as error:
                log.exception("the end of a turn of %s could not be stored", session_id)
                told = ErrorInfo("StoreError", str(error))
                self._bus.publish(SessionError(session_id, told))
        self._running.pop(session_id, None)
        self.set_status(session_id, Idle())
        self._bus.publish(
            SessionIdle(session_id, running.turn.id, end.outcome, end.finish, end.error)
        )
        waits = bool(self._deps.queues.ids(session_id))
        if waits and (running.go_on or end.outcome in {"completed", "failed"}):
            await self._go_on(session_id)

    async def _go_on(self, session_id: str) -> None:
        """Start a turn on what still waits; if that fails, it goes on waiting."""
        try:
            following = await self._claim(session_id)
        except OpencodePyError as error:
            self._bus.publish(SessionError(session_id, ErrorInfo("session", error.message)))
            return
        if following is not None:
            self._launch(session_id, following)

    async def cancel(self, session_id: str) -> bool:
        """Cancel the turn that runs; true if there was one. Acknowledged on the bus at once.

        Its sub-agents are cancelled with it (L11).
        """
        for child in self._subagents.running(session_id):
            await self.cancel(child)
        running = self._running.get(session_id)
        if running is None:
            return False
        if running.cancelling:
            return True
        running.cancelling = True
        self.set_status(session_id, Busy(running.turn.started, cancelling=True))
        self._deps.permissions.cancel_session(session_id)
        self._deps.questions.cancel_session(session_id)
        if running.loop is not None:
            running.loop.cancel()
        return True

    @property
    def undo(self) -> Undo:
        """Taking prompts and what they changed back, and bringing them back."""
        return self._undo

    async def attach(
        self, session_id: str, loaded: int = 0
    ) -> tuple[Subscription, SessionSnapshot]:
        """A subscription to a session's events, and how it stands now, in one step (L16): with
        its last page of messages, or the *loaded* ones if these were more.

        The subscription is made first: what happens while the snapshot is read comes again
        as events, and both forms of it agree.
        """
        subscription = self._bus.subscribe(lambda event: concerns(event, session_id))
        try:
            return subscription, await self.snapshot(session_id, max(PAGE, loaded))
        except BaseException:
            subscription.close()
            raise

    async def snapshot(self, session_id: str, limit: int = PAGE) -> SessionSnapshot:
        store = self._deps.store
        session = await store.session(session_id)
        lineage = await lineage_of(store, session)
        page = await store.page(session_id, limit=limit)
        if not await store.leased_elsewhere(session_id):
            self._deps.queues.restore(session_id, list(page.messages))
        return SessionSnapshot(
            session=session,
            messages=page.messages,
            status=self.status(session_id),
            queued=self._deps.queues.ids(session_id),
            permissions=self._deps.permissions.pending(lineage.root_id),
            questions=self._deps.questions.pending(lineage.root_id),
            todos=await store.todos(session_id),
            older=page.older,
        )

    async def delete(self, session_id: str) -> None:
        """End what runs in a session, then remove it with its children."""
        await self.cancel(session_id)
        await self.wait(session_id)
        self._deps.queues.forget(session_id)
        self._files.forget(session_id)
        await self._deps.shells.end_session(session_id)
        await self._deps.store.delete_session(session_id)

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
            await asyncio.wait(tasks, timeout=CLOSING)
        await self._deps.snapshots.close()


async def _traced(tracing: Tracing, turn: Turn, session_id: str) -> TurnEnd:
    with tracing.span(
        "invoke_agent",
        gen_ai__operation__name="invoke_agent",
        gen_ai__conversation__id=session_id,
    ) as span:
        end = await run_turn(turn, session_id)
        span.set(opencode_py__outcome=end.outcome)
        if end.error is not None:
            span.failed(end.error.kind, "")
        return end


async def _undisturbed(work: "asyncio.Task[None]") -> None:
    """Wait for *work* whatever cancels the waiter: cleaning up is short and must not be cut."""
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            continue


def concerns(event: Event, session_id: str) -> bool:
    """Whether an event is of a session or of no session at all."""
    match event:
        case SessionCreated() | SessionUpdated():
            return event.session.id == session_id
        case MessageUpdated():
            return event.message.session_id == session_id
        case PartUpdated():
            return event.part.session_id == session_id
        case MessageRemoved():
            return event.session_id == session_id
        case PermissionReplied() | QuestionReplied():
            return True  # routes go by tree: a child's question is shown here too (A4)
        case _:
            return getattr(event, "session_id", session_id) in {session_id, None}
