"""The live sessions: those in which a turn ran since the program started, in any open folder.

Each is working, needs you, done or failed, with its sub-agents counted in. No Textual in here.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from agent.records import events
from agent.records.amounts import duration, money
from agent.records.errors import SessionNotFound
from agent.records.frozen import frozen
from agent.records.labels import label_of
from agent.records.messages import Idle, Running, Session, SessionStatus, ToolPart
from agent.records.requests import PermissionRequest, Question
from app.session_state.live import pump_events
from app.session_state.session_facts import session_cost
from app.text.sanitize import sanitize_line

if TYPE_CHECKING:  # the runtime loads the agent package, which the first frame is without
    from agent.bus import Subscription
    from agent.runtime.runtime import Runtime
    from app.terminal.tasks import Tasks

Request = PermissionRequest | Question
State = Literal["working", "needs you", "done", "failed", "interrupted"]

STATES: tuple[State, ...] = ("needs you", "failed", "interrupted", "done", "working")
"""The states, those that a user looks at first at the beginning."""
GLYPHS: dict[State, str] = {
    "working": "◐",
    "needs you": "◆",
    "done": "✓",
    "failed": "✕",
    "interrupted": "⊘",
}


@frozen(kw_only=True)
class LiveState:
    """One live session."""

    session: Session
    busy: frozenset[str] = frozenset()
    """The sessions of its tree in which a turn runs."""
    requests: tuple[Request, ...] = ()
    """The open requests of its tree, oldest first."""
    since: float = 0.0
    """When its last turn began or ended, in seconds since the epoch."""
    activity: str = ""
    """The running tool call."""
    failed: bool = False
    interrupted: bool = False
    """True if the program ended unexpectedly during its last turn."""
    seen: bool = False
    """True if the user has looked at the end of its last turn."""

    @property
    def state(self) -> State:
        if self.requests:
            return "needs you"
        if self.busy:
            return "working"
        if self.interrupted:
            return "interrupted"
        return "failed" if self.failed else "done"

    @property
    def title(self) -> str:
        return sanitize_line(self.session.title) or "Untitled"

    @property
    def folder_name(self) -> str:
        return sanitize_line(self.session.directory.rstrip("/").rpartition("/")[2]) or "/"

    @property
    def cost(self) -> str:
        """The cost as it is shown, "" if it is unknown."""
        cost = session_cost(self.session)
        return money(cost) if cost is not None else ""

    def lasting(self, now: float) -> str:
        """Return the state and its duration, for a list."""
        shown = f"{GLYPHS[self.state]} {self.state}"
        return f"{shown} {duration(now - self.since)}" if self.busy else shown

    @property
    def short_activity(self) -> str:
        """The running tool call for a list, "" for none."""
        return sanitize_line(self.activity)[:MAX_ACTIVITY] if self.busy else ""


MAX_ACTIVITY = 32
"""Characters of an activity in a list."""


class LiveSessions:
    """Follows the sessions of the open runtimes.

    *changed* is called after any of them changed, *happened* with each event that a user is
    notified of: the end of a turn, a request.
    """

    def __init__(
        self,
        tasks: "Tasks",
        changed: Callable[[], None],
        happened: Callable[[LiveState, events.Event], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._tasks = tasks
        self._changed = changed
        self._happened = happened
        self._clock = clock
        self._states: dict[str, LiveState] = {}
        self._sessions: dict[str, Session] = {}
        self._runtimes: dict[str, tuple[Runtime, Subscription]] = {}
        self.listeners: set[Callable[[], None]] = set()
        """Called as *changed* is: lists that are open."""
        self.opened = ""
        """The root of the open session, whose ends count as seen; "" for none."""

    def follow(self, runtime: "Runtime") -> None:
        """Follow the sessions of *runtime*, in place of an earlier one of the same folder."""
        folder = str(runtime.directory)
        if folder in self._runtimes:
            self._runtimes[folder][1].close()
        subscription = runtime.bus.subscribe(_matters)
        self._runtimes[folder] = runtime, subscription
        self._tasks.spawn(
            pump_events(subscription, lambda new: self._apply(runtime, new)), "following sessions"
        )
        if runtime.recovered:
            self._tasks.spawn(self._add_interrupted(runtime), "reading interrupted sessions")

    async def _add_interrupted(self, runtime: "Runtime") -> None:
        """Add the sessions of the folder whose turn was interrupted by the end of a program."""
        places = {str(runtime.directory), *await runtime.sessions.repository.elsewhere()}
        for session_id in runtime.recovered:
            try:
                session = await runtime.store.session(session_id)
            except SessionNotFound:
                continue
            known = session.parent_id is not None or session.id in self._states
            if known or session.archived or session.directory not in places:
                continue
            self._sessions[session.id] = session
            seen = session.id == self.opened
            self._states[session.id] = LiveState(
                session=session, since=session.updated, interrupted=True, seen=seen
            )
        self._report()

    @property
    def runtimes(self) -> tuple["Runtime", ...]:
        return tuple(runtime for runtime, _ in self._runtimes.values())

    @property
    def all(self) -> Sequence[LiveState]:
        """All live sessions; those that a user looks at first come first."""
        return sorted(self._states.values(), key=lambda one: (STATES.index(one.state), -one.since))

    @property
    def others(self) -> Sequence[LiveState]:
        """The sessions that are not open, without those whose end the user has seen."""
        return [
            one
            for one in self.all
            if one.session.id != self.opened and (one.busy or one.requests or not one.seen)
        ]

    @property
    def other_requests(self) -> tuple[Request, ...]:
        """The open requests of the sessions that are not open."""
        return tuple(one for state in self.others for one in state.requests)

    def works_in(self, folder: str) -> bool:
        """Return whether a turn runs in a session whose project is *folder*, or in one of its
        sub-agents."""
        busy = {one for state in self._states.values() for one in state.busy}
        return any(self._sessions[one].project == folder for one in busy if one in self._sessions)

    def find(self, session_id: str) -> LiveState | None:
        """Return the state of the tree that a session belongs to."""
        return self._states.get(self._root(session_id))

    def runtime_of(self, session: Session) -> "Runtime | None":
        found = self._runtimes.get(session.directory)
        return found[0] if found is not None else None

    def show(self, session: Session | None) -> None:
        """Note that *session* is open now: the user has seen how it ended."""
        if session is not None:
            self._sessions[session.id] = session
        self.opened = self._root(session.id) if session is not None else ""
        if (state := self._states.get(self.opened)) is not None:
            self._states[self.opened] = replace(state, seen=True)
        self._report()

    def _report(self) -> None:
        self._changed()
        for listener in tuple(self.listeners):
            listener()

    def _apply(self, runtime: "Runtime", new: Sequence[events.Event]) -> None:
        before = dict(self._states)
        for event in new:
            self._apply_one(runtime, event)
        if self._states != before:
            self._report()

    def _apply_one(self, runtime: "Runtime", event: events.Event) -> None:
        match event:
            case events.SessionCreated(session) | events.SessionUpdated(session):
                self._sessions[session.id] = session
                if (state := self._states.get(session.id)) is not None:
                    self._states[session.id] = replace(state, session=session)
            case events.SessionDeleted(session_id):
                self._states.pop(session_id, None)
                self._sessions.pop(session_id, None)
            case events.SessionStatusChanged(session_id, status):
                if self._is_known(session_id):
                    self._set_status(session_id, status)
                else:
                    self._tasks.spawn(self._learn(runtime, session_id), "reading a session")
            case events.SessionIdle(session_id, _, outcome):
                if (state := self._states.get(session_id)) is not None:
                    seen = session_id == self.opened or outcome == "cancelled"
                    ended = replace(state, failed=outcome == "failed", seen=seen)
                    self._states[session_id] = ended
                    self._happened(ended, event)
            case events.PermissionAsked(request) | events.QuestionAsked(request):
                if (state := self._states.get(request.root_id)) is not None:
                    asking = replace(state, requests=(*state.requests, request))
                    self._states[request.root_id] = asking
                    self._happened(asking, event)
            case events.PermissionReplied(request_id) | events.QuestionReplied(request_id):
                self._answered(request_id)
            case events.PartUpdated(part) if isinstance(part, ToolPart):
                if (state := self._states.get(part.session_id)) is not None:
                    label = label_of(part)
                    activity = f"{label.verb} {label.object}".strip()
                    self._states[part.session_id] = replace(state, activity=activity)
            case _:
                pass

    def _set_status(self, session_id: str, status: SessionStatus) -> None:
        root = self._root(session_id)
        state = self._states.get(root) or LiveState(session=self._sessions[root])
        busy = state.busy - {session_id} if isinstance(status, Idle) else state.busy | {session_id}
        if not state.busy and not busy:
            return
        if bool(busy) != bool(state.busy):
            state = replace(
                state, since=self._clock(), activity="", failed=False, interrupted=False, seen=False
            )
        self._states[root] = replace(state, busy=busy, seen=state.seen or root == self.opened)

    def _answered(self, request_id: str) -> None:
        for root, state in self._states.items():
            left = tuple(one for one in state.requests if one.id != request_id)
            if left != state.requests:
                self._states[root] = replace(state, requests=left)
                return

    async def _learn(self, runtime: "Runtime", session_id: str) -> None:
        """Read a session whose record was never published, and its parents."""
        wanted: str | None = session_id
        while wanted is not None and wanted not in self._sessions:
            try:
                session = await runtime.store.session(wanted)
            except SessionNotFound:
                return
            self._sessions[wanted] = session
            wanted = session.parent_id
        self._set_status(session_id, runtime.sessions.status(session_id))
        root = self._root(session_id)
        if (state := self._states.get(root)) is not None:
            asked = (*runtime.permissions.pending(root), *runtime.questions.pending(root))
            self._states[root] = replace(state, requests=asked)
        self._report()

    def _is_known(self, session_id: str) -> bool:
        session = self._sessions.get(session_id)
        return session is not None and (
            session.parent_id is None or self._is_known(session.parent_id)
        )

    def _root(self, session_id: str) -> str:
        session = self._sessions.get(session_id)
        parent = session.parent_id if session is not None else None
        return session_id if parent is None else self._root(parent)


def _matters(event: events.Event) -> bool:
    """Return whether *event* can change a live session: the running tool calls and what is not
    about a message."""
    if isinstance(event, events.PartUpdated):
        return isinstance(event.part, ToolPart) and isinstance(event.part.state, Running)
    return isinstance(
        event,
        events.SessionCreated
        | events.SessionUpdated
        | events.SessionDeleted
        | events.SessionStatusChanged
        | events.SessionIdle
        | events.PermissionAsked
        | events.PermissionReplied
        | events.QuestionAsked
        | events.QuestionReplied,
    )
