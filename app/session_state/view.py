"""The view of one session: a reducer over a snapshot and events.

No Textual in here. Live, resumed and reviewed sessions are drawn from a ``SessionView``, and one
built late from a snapshot equals one that saw every event. Messages are kept in the order of the
numbers that the store gave them, the parts of a message in that of their ids.
"""

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from typing import TypeVar, assert_never

from agent.records import events
from agent.records.blocks import TodoItem
from agent.records.frozen import frozen
from agent.records.messages import (
    Message,
    MessageWithParts,
    Part,
    Pending,
    ReasoningPart,
    Session,
    SessionStatus,
    TextPart,
    ToolPart,
)
from agent.records.requests import PermissionRequest, Question
from agent.session.api import BackgroundTaskList, SessionSnapshot

RequestT = TypeVar("RequestT", PermissionRequest, Question)


def without_request(requests: tuple[RequestT, ...], request_id: str) -> tuple[RequestT, ...]:
    """Return *requests* without that of the id; the same tuple if it is not one of them."""
    left = tuple(request for request in requests if request.id != request_id)
    return left if len(left) < len(requests) else requests


def with_request(
    requests: tuple[RequestT, ...], request: RequestT, session_id: str
) -> tuple[RequestT, ...]:
    """Return *requests* with one added once, if it belongs to the tree of the session."""
    ours = session_id in {request.session_id, request.root_id}
    is_new = ours and all(known.id != request.id for known in requests)
    return (*requests, request) if is_new else requests


def part_id(part: Part) -> str:
    return part.id


def part_position(parts: list[Part], part_id: str) -> int:
    """Return the index at which *part_id* is or belongs, searched from the end."""
    index = len(parts)
    while index and parts[index - 1].id > part_id:
        index -= 1
    return index - 1 if index and parts[index - 1].id == part_id else index


def growing_text(part: Part, name: str) -> str | None:
    """Return the text that deltas of field *name* extend, None if the part takes none now."""
    if name == "text" and isinstance(part, TextPart | ReasoningPart):
        return part.text
    if name == "raw" and isinstance(part, ToolPart) and isinstance(part.state, Pending):
        return part.state.raw
    return None


@frozen
class Change:
    """The messages and parts that an event touched. Join the changes of one frame with ``|``."""

    messages: frozenset[str] = frozenset()
    """Ids of messages that were added, removed or changed themselves."""
    parts: frozenset[str] = frozenset()
    """Ids of parts that were added, removed or changed."""
    parts_of: frozenset[str] = frozenset()
    """Ids of the messages that contain these parts."""
    other: bool = False
    """The session, its status, queue, todos or pending requests changed."""
    stale: bool = False
    """Events were missed: build a new view from a new snapshot."""

    def __or__(self, later: "Change") -> "Change":
        return Change(
            self.messages | later.messages,
            self.parts | later.parts,
            self.parts_of | later.parts_of,
            self.other or later.other,
            self.stale or later.stale,
        )

    def __bool__(self) -> bool:
        return bool(self.messages or self.parts or self.other or self.stale)


NO_CHANGE = Change()
_OTHER = Change(other=True)


@dataclass(slots=True)
class Entry:
    """A message and its parts, in order."""

    message: Message
    parts: list[Part] = field(default_factory=list[Part])
    number: int = 0
    """The place in the history."""


MAX_MESSAGES = 800
"""Messages in memory after which the oldest are dropped."""
KEPT_MESSAGES = 400
"""Messages that remain then, the newest: at least one page of them."""


class SessionView:
    """The current state of one session. Change it with ``apply`` only."""

    def __init__(self, snapshot: SessionSnapshot) -> None:
        self.session: Session = snapshot.session
        self.status: SessionStatus = snapshot.status
        self.queued: tuple[str, ...] = snapshot.queued
        self.permissions: tuple[PermissionRequest, ...] = snapshot.permissions
        self.questions: tuple[Question, ...] = snapshot.questions
        self.todos: tuple[TodoItem, ...] = snapshot.todos
        self.background_tasks: BackgroundTaskList = snapshot.background_tasks
        self.older: int = snapshot.older
        self.elsewhere: bool = snapshot.elsewhere
        self.deleted: bool = False
        self.stale: bool = False
        self._ids: list[str] = []
        self._entries: dict[str, Entry] = {}
        for item in snapshot.messages:
            self._insert(item.message, list(item.parts), item.number or self._end())

    @property
    def session_id(self) -> str:
        return self.session.id

    @property
    def message_ids(self) -> list[str]:
        """The ids of all messages that are shown, oldest first. Do not modify the list."""
        at = self.session.undone_at
        return self._ids if at is None else self._ids[: self._cut(at)]

    def entry(self, message_id: str) -> Entry | None:
        """Return a message with its parts, None if it is not there or was undone."""
        at = self.session.undone_at
        entry = self._entries.get(message_id)
        hidden = at is not None and entry is not None and self._place(entry.number) >= self._cut(at)
        return None if hidden else entry

    def index(self, message_id: str) -> int | None:
        """Return the position of a message among those in memory."""
        entry = self._entries.get(message_id)
        return None if entry is None else self._place(entry.number)

    def is_unloaded(self, message_id: str) -> bool:
        """Return whether a message can be one of a page of the history that was not loaded."""
        return bool(self.older) and message_id not in self._entries

    def _place(self, number: int) -> int:
        return bisect_left(self._ids, number, key=lambda known: self._entries[known].number)

    def _end(self) -> int:
        """Return the number of a message without one: after all others."""
        return self._entries[self._ids[-1]].number + 1 if self._ids else 1

    def _cut(self, undone_at: str | None) -> int:
        """Return the position at which the undone messages begin."""
        at = self.index(undone_at) if undone_at is not None else None
        if at is None:
            return 0 if undone_at is not None and self.older else len(self._ids)
        return at

    def snapshot(self) -> SessionSnapshot:
        """Return the state as a record; two views are equal when these are."""
        return SessionSnapshot(
            session=self.session,
            messages=tuple(
                MessageWithParts(entry.message, tuple(entry.parts), entry.number)
                for entry in map(self._entries.__getitem__, self._ids)
            ),
            status=self.status,
            queued=self.queued,
            permissions=self.permissions,
            questions=self.questions,
            todos=self.todos,
            older=self.older,
            background_tasks=self.background_tasks,
        )

    def prepend(self, messages: tuple[MessageWithParts, ...], older: int) -> Change:
        """Insert an older page of the history; *older* messages are left before it."""
        added: set[str] = set()
        first = self._entries[self._ids[0]].number if self._ids else 1
        for at, item in enumerate(messages):
            if item.message.id not in self._entries:
                number = item.number or first - len(messages) + at
                self._insert(item.message, list(item.parts), number)
                added.add(item.message.id)
        self.older = older
        return Change(messages=frozenset(added))

    def trim(self) -> None:
        """Keep the newest ``KEPT_MESSAGES`` messages once there are more than ``MAX_MESSAGES``.

        A session that continues all day thus takes no more memory than one that was opened late.
        Dropped messages are read again like any earlier page.
        """
        if len(self._ids) <= MAX_MESSAGES or self.session.undone_at is not None:
            return
        gone = self._ids[:-KEPT_MESSAGES]
        del self._ids[:-KEPT_MESSAGES]
        for message_id in gone:
            del self._entries[message_id]
        self.older += len(gone)

    def apply(self, event: events.Event) -> Change:
        """Apply *event*; events of other sessions change nothing."""
        match event:
            case events.PartDelta():
                return self._delta(event)
            case events.PartUpdated(part):
                return self._part(part)
            case events.MessageUpdated(message, number):
                return self._message(message, number)
            case events.PartRemoved() | events.MessageRemoved():
                return self._removed(event)
            case events.Resync():
                return self._lost()
            case events.PermissionAsked() | events.PermissionReplied():
                return self._permission(event)
            case events.QuestionAsked() | events.QuestionReplied():
                return self._question(event)
            case (
                events.SessionCreated()
                | events.SessionUpdated()
                | events.SessionDeleted()
                | events.SessionStatusChanged()
                | events.QueueChanged()
                | events.TodoUpdated()
                | events.BackgroundTaskProgress()
            ):
                return self._session(event)
            case (
                events.SessionIdle()
                | events.SessionError()
                | events.ShellChanged()
                | events.PermissionModeChanged()
                | events.SessionDiff()
                | events.Compacted()
                | events.ResponseEnded()
                | events.FileEdited()
                | events.McpChanged()
                | events.LspChanged()
                | events.PluginFailed()
                | events.Notice()
            ):
                return NO_CHANGE
            case _:
                assert_never(event)

    def _session(
        self,
        event: events.SessionCreated
        | events.SessionUpdated
        | events.SessionDeleted
        | events.SessionStatusChanged
        | events.QueueChanged
        | events.TodoUpdated
        | events.BackgroundTaskProgress,
    ) -> Change:
        named = (
            event.session.id
            if isinstance(event, events.SessionCreated | events.SessionUpdated)
            else event.session_id
        )
        if named != self.session_id:
            child = getattr(event, "session", None)
            if isinstance(child, Session) and child.parent_id == self.session_id:
                return _background_task_change(
                    self, named, self.background_tasks.with_session(child)
                )
            return NO_CHANGE
        match event:
            case events.BackgroundTaskProgress():
                return _background_task_change(
                    self, event.child_id, self.background_tasks.with_progress(event)
                )
            case events.SessionCreated(session) | events.SessionUpdated(session):
                before, self.session = self.session.undone_at, session
                if before != session.undone_at:
                    moved = self._ids[min(self._cut(before), self._cut(session.undone_at)) :]
                    return Change(messages=frozenset(moved), other=True)
            case events.SessionDeleted():
                self.deleted = True
            case events.SessionStatusChanged(status=status):
                self.status = status
                # Queued messages show when they are delivered, which depends on the status.
                queued = frozenset(self.queued) & self._entries.keys()
                return Change(messages=queued, other=True)
            case events.TodoUpdated(items=items):
                self.todos = items
            case events.QueueChanged(message_ids=message_ids):
                touched = frozenset(self.queued) ^ frozenset(message_ids)
                self.queued = message_ids
                return Change(messages=touched & self._entries.keys(), other=True)
            case _:
                assert_never(event)
        return _OTHER

    def _permission(self, event: events.PermissionAsked | events.PermissionReplied) -> Change:
        before = self.permissions
        if isinstance(event, events.PermissionReplied):
            self.permissions = without_request(before, event.request_id)
        else:
            self.permissions = with_request(before, event.request, self.session_id)
        return NO_CHANGE if self.permissions is before else _OTHER

    def _question(self, event: events.QuestionAsked | events.QuestionReplied) -> Change:
        before = self.questions
        if isinstance(event, events.QuestionReplied):
            self.questions = without_request(before, event.question_id)
        else:
            self.questions = with_request(before, event.question, self.session_id)
        return NO_CHANGE if self.questions is before else _OTHER

    def _message(self, message: Message, number: int) -> Change:
        if message.session_id != self.session_id:
            return NO_CHANGE
        entry = self._entries.get(message.id)
        if entry is None:
            first = self._entries[self._ids[0]].number if self._ids else 0
            if self.older and number < first:
                return NO_CHANGE  # of a page that was not loaded
            self._insert(message, [], number or self._end())
        elif number and number != entry.number:
            self._ids.remove(message.id)
            self._insert(message, entry.parts, number)
        else:
            entry.message = message
        return Change(messages=frozenset((message.id,)))

    def _part(self, part: Part) -> Change:
        if part.session_id != self.session_id:
            return NO_CHANGE
        entry = self._entries.get(part.message_id)
        if entry is None:
            return self._unknown(part.message_id)
        index = part_position(entry.parts, part.id)
        if index < len(entry.parts) and entry.parts[index].id == part.id:
            entry.parts[index] = part
        else:
            entry.parts.insert(index, part)
        return _touched(part)

    def _delta(self, event: events.PartDelta) -> Change:
        if event.session_id != self.session_id:
            return NO_CHANGE
        entry = self._entries.get(event.message_id)
        if entry is None:
            return self._unknown(event.message_id)
        index = part_position(entry.parts, event.part_id)
        part = entry.parts[index] if index < len(entry.parts) else None
        if part is None or part.id != event.part_id:
            return self._lost()
        text = growing_text(part, event.field)
        if text is None or event.offset + len(event.delta) <= len(text):
            return NO_CHANGE
        if event.offset > len(text):
            return self._lost()
        grown = text + event.delta[len(text) - event.offset :]
        if isinstance(part, TextPart | ReasoningPart):
            entry.parts[index] = replace(part, text=grown)
        elif isinstance(part, ToolPart):
            entry.parts[index] = replace(part, state=Pending(raw=grown))
        return _touched(part)

    def _removed(self, event: events.PartRemoved | events.MessageRemoved) -> Change:
        entry = self._entries.get(event.message_id)
        if event.session_id != self.session_id:
            return NO_CHANGE
        if entry is None:
            if isinstance(event, events.MessageRemoved) and self.older:
                self.older -= 1
            return NO_CHANGE
        if isinstance(event, events.MessageRemoved):
            self._ids.remove(event.message_id)
            del self._entries[event.message_id]
            return Change(messages=frozenset((event.message_id,)))
        index = part_position(entry.parts, event.part_id)
        if index == len(entry.parts) or entry.parts[index].id != event.part_id:
            return NO_CHANGE
        return _touched(entry.parts.pop(index))

    def _unknown(self, message_id: str) -> Change:
        """Return the change for a message not in memory: of an unloaded page, or missed."""
        return NO_CHANGE if self.is_unloaded(message_id) else self._lost()

    def _lost(self) -> Change:
        self.stale = True
        return Change(stale=True)

    def _insert(self, message: Message, parts: list[Part], number: int) -> None:
        self._ids.insert(self._place(number), message.id)
        parts.sort(key=part_id)
        self._entries[message.id] = Entry(message, parts, number)


def _background_task_change(view: SessionView, child_id: str, now: BackgroundTaskList) -> Change:
    """Set the state of the background tasks and return the change that this made."""
    if now == view.background_tasks:
        return NO_CHANGE
    view.background_tasks = now
    call = now.tasks[child_id].task.message_id
    return Change(messages=frozenset({call} if view.index(call) is not None else ()), other=True)


def _touched(part: Part) -> Change:
    return Change(parts=frozenset((part.id,)), parts_of=frozenset((part.message_id,)))
