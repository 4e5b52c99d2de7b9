"""Work in the background: sub-agents and shell commands that no tool call waits for."""

from typing import Literal

from agent.records.frozen import frozen

ShellState = Literal["running", "exited", "killed", "timed out"]


@frozen(kw_only=True)
class ShellInfo:
    """The current state of a background shell."""

    id: str
    """The name by which the model refers to the shell."""
    session_id: str
    root_id: str
    command: str
    description: str
    directory: str
    started: float
    """Seconds since the epoch, as *ended*."""
    state: ShellState = "running"
    ended: float | None = None
    exit_code: int | None = None
    """None while the shell runs, and for one that a signal ended."""
    signal: str = ""
    """The name of the signal that ended the shell, or ""."""


BackgroundTaskState = Literal[
    "running", "completed", "cancelled", "rejected", "limit_reached", "failed", "interrupted"
]
"""The state of a background task: running, or how it ended. It ends like a turn, or is interrupted
when the program ends."""

SILENT_STATES: frozenset[BackgroundTaskState] = frozenset({"cancelled", "rejected", "interrupted"})
"""States for which no turn is started: the user ended the task, or it was interrupted. They
are still reported."""


@frozen(kw_only=True)
class BackgroundTask:
    """The background task of a sub-agent's session: the work of a tool call that did not wait for
    its end."""

    message_id: str
    """The message of the parent session that contains the call."""
    call_id: str
    """The call that started the task."""
    started: float
    """Seconds since the epoch, as *ended*."""
    state: BackgroundTaskState = "running"
    ended: float | None = None
    facts: tuple[str, ...] = ()
    """Short phrases about what the task used, for users."""

    def was_started_by(self, message_id: str, call_id: str) -> bool:
        """Return whether that call started the task."""
        return (self.message_id, self.call_id) == (message_id, call_id)
