"""What front ends know of a command in the background (spec 3, ``bash`` background)."""

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
