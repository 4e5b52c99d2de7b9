"""The closed union of events on the bus. Each is frozen and carries a type tag.

``SessionIdle`` is the only end-of-turn signal: it is published once per turn, after the store
contains everything and the status is Idle. Handle the union with ``match`` and ``assert_never`` so
that the type checker lists every place that a new event concerns.
"""

from dataclasses import field
from typing import Literal, TypeAlias

from agent.records.background import ShellInfo
from agent.records.blocks import TodoItem
from agent.records.frozen import frozen
from agent.records.messages import ErrorInfo, Finish, Message, Outcome, Part, Session, SessionStatus
from agent.records.requests import (
    PermissionMode,
    PermissionReply,
    PermissionRequest,
    Question,
    QuestionReply,
)
from agent.records.usage import Usage


@frozen
class SessionCreated:
    session: Session
    type: Literal["session.created"] = "session.created"


@frozen
class SessionUpdated:
    session: Session
    type: Literal["session.updated"] = "session.updated"


@frozen
class SessionDeleted:
    session_id: str
    type: Literal["session.deleted"] = "session.deleted"


@frozen
class SessionStatusChanged:
    session_id: str
    status: SessionStatus
    type: Literal["session.status"] = "session.status"


@frozen
class SessionIdle:
    """The end of a turn. Exit codes and notifications follow from *outcome*."""

    session_id: str
    turn_id: str
    outcome: Outcome
    finish: Finish | None = None
    error: ErrorInfo | None = None
    type: Literal["session.idle"] = "session.idle"


@frozen
class SessionError:
    """A failure that belongs to a session (or to none) but does not end a turn."""

    session_id: str | None
    error: ErrorInfo
    type: Literal["session.error"] = "session.error"


@frozen
class MessageUpdated:
    message: Message
    number: int = field(default=0, compare=False)
    """The place in the history, as in ``MessageWithParts``; 0 where it did not change."""
    type: Literal["message.updated"] = "message.updated"


@frozen
class ResponseEnded:
    """The end of a model's response. Calls of it can still run; the message is saved again once
    they have ended. Nothing of it is discarded for another attempt from now on."""

    session_id: str
    message_id: str
    usage: Usage | None
    """None if the provider reports none."""
    finish: Finish | None = None
    type: Literal["response.ended"] = "response.ended"


@frozen
class MessageRemoved:
    session_id: str
    message_id: str
    type: Literal["message.removed"] = "message.removed"


@frozen
class PartUpdated:
    """A new state of a part. It replaces the consumer's previous state as a whole."""

    part: Part
    type: Literal["part.updated"] = "part.updated"


DeltaField = Literal["text", "raw"]


@frozen
class PartDelta:
    """Text to append to an open part: ``text`` of text and reasoning, ``raw`` of a pending tool
    call."""

    session_id: str
    message_id: str
    part_id: str
    field: DeltaField
    offset: int
    """The length (in characters) before the delta. A consumer drops the overlap with the text that
    it has, and reads the part from the store where there is a gap."""
    delta: str
    type: Literal["part.delta"] = "part.delta"


@frozen
class PartRemoved:
    session_id: str
    message_id: str
    part_id: str
    type: Literal["part.removed"] = "part.removed"


@frozen
class PermissionAsked:
    request: PermissionRequest
    type: Literal["permission.asked"] = "permission.asked"


@frozen
class PermissionReplied:
    """The end of a permission request. *reply* is None when it was withdrawn (cancel, session
    deleted, exit)."""

    request_id: str
    session_id: str
    reply: PermissionReply | None
    type: Literal["permission.replied"] = "permission.replied"


@frozen
class PermissionModeChanged:
    mode: PermissionMode
    type: Literal["permission.mode"] = "permission.mode"


@frozen
class QuestionAsked:
    question: Question
    type: Literal["question.asked"] = "question.asked"


@frozen
class QuestionReplied:
    question_id: str
    session_id: str
    reply: QuestionReply | None
    type: Literal["question.replied"] = "question.replied"


@frozen
class TodoUpdated:
    session_id: str
    items: tuple[TodoItem, ...]
    type: Literal["todo.updated"] = "todo.updated"


@frozen
class ShellChanged:
    """The current state of a background shell that was started or ended."""

    session_id: str
    shell: ShellInfo
    type: Literal["shell.changed"] = "shell.changed"


@frozen
class QueueChanged:
    """The ids of the queued user messages of a session, oldest first."""

    session_id: str
    message_ids: tuple[str, ...]
    type: Literal["queue.changed"] = "queue.changed"


@frozen
class SessionDiff:
    """The files that a step changed: paths relative to the project, lines added and removed."""

    session_id: str
    files: tuple[tuple[str, int, int], ...]
    type: Literal["session.diff"] = "session.diff"


@frozen
class Compacted:
    session_id: str
    type: Literal["session.compacted"] = "session.compacted"


@frozen
class BackgroundTaskProgress:
    """The current activity of a background task, for the session that it works for. Its start and
    end are published as ``SessionUpdated`` of the sub-agent's own session."""

    session_id: str
    child_id: str
    activity: str
    type: Literal["background_task.progress"] = "background_task.progress"


@frozen
class FileEdited:
    """A step changed the file at *path* (relative to the project), with whatever tool."""

    session_id: str
    path: str
    change: Literal["create", "modify", "delete"] = "modify"
    type: Literal["file.edited"] = "file.edited"


@frozen
class McpChanged:
    server: str
    type: Literal["mcp.changed"] = "mcp.changed"


@frozen
class LspChanged:
    server: str
    type: Literal["lsp.changed"] = "lsp.changed"


@frozen
class PluginFailed:
    plugin: str
    message: str
    type: Literal["plugin.failed"] = "plugin.failed"


@frozen
class Notice:
    """A sentence for the user: a config fault, a missing program, a cap that is nearly reached."""

    message: str
    level: Literal["info", "warning", "error"] = "warning"
    session_id: str | None = None
    """The session that it concerns, if it is about one."""
    type: Literal["notice"] = "notice"


@frozen
class Resync:
    """The subscriber fell too far behind and its queue was dropped: it must rebuild from the
    store."""

    type: Literal["resync"] = "resync"


Event: TypeAlias = (
    SessionCreated
    | SessionUpdated
    | SessionDeleted
    | SessionStatusChanged
    | SessionIdle
    | SessionError
    | MessageUpdated
    | ResponseEnded
    | MessageRemoved
    | PartUpdated
    | PartDelta
    | PartRemoved
    | PermissionAsked
    | PermissionReplied
    | PermissionModeChanged
    | QuestionAsked
    | QuestionReplied
    | TodoUpdated
    | ShellChanged
    | QueueChanged
    | SessionDiff
    | Compacted
    | BackgroundTaskProgress
    | FileEdited
    | McpChanged
    | LspChanged
    | PluginFailed
    | Notice
    | Resync
)
