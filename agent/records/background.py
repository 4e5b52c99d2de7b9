"""Work in the background: sub-agents and shell commands that no tool call waits for."""

from dataclasses import dataclass
from typing import Literal

ShellState = Literal["running", "exited", "killed", "timed out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellInfo:
    """A background shell as it stands. *id* is what the model calls it by.

    *started* and *ended* are seconds since the epoch; *exit_code* is None while it runs and
    for one that a signal ended; *signal* is that signal's name or "".
    """

    id: str
    session_id: str
    root_id: str
    command: str
    description: str
    directory: str
    started: float
    state: ShellState = "running"
    ended: float | None = None
    exit_code: int | None = None
    signal: str = ""


BackgroundTaskState = Literal[
    "running", "completed", "cancelled", "rejected", "limit_reached", "failed", "interrupted"
]
"""How work in the background stands: it runs, or ended like a turn does, or with the program."""

SILENT_STATES: frozenset[BackgroundTaskState] = frozenset({"cancelled", "rejected", "interrupted"})
"""Ends that are the user's doing or nobody's: they are told, but nothing is begun for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundTask:
    """What a sub-agent's session does, or did last, in the background: the work of the call
    *call_id* of the message *message_id* of its parent, which did not wait for it. Times are
    seconds since the epoch; *facts* are short words about what it took."""

    message_id: str
    call_id: str
    started: float
    state: BackgroundTaskState = "running"
    ended: float | None = None
    facts: tuple[str, ...] = ()

    def was_started_by(self, message_id: str, call_id: str) -> bool:
        """Whether that call began it."""
        return (self.message_id, self.call_id) == (message_id, call_id)
