"""Terminals of another program, such as the user's editor, which runs and shows a command."""

from collections.abc import Mapping
from typing import Protocol

from agent.records.frozen import frozen


class TerminalMissing(Exception):
    """No terminal was opened and nothing was started: the command can run elsewhere."""


class TerminalRefused(Exception):
    """The command cannot run, or it is unknown whether it does; ``str(error)`` says why."""


class TerminalLost(Exception):
    """An open terminal does not respond; ``str(error)`` says why."""


@frozen(kw_only=True)
class TerminalCommand:
    """A command to run in a terminal."""

    argv: tuple[str, ...]
    directory: str
    """An absolute path."""
    env: Mapping[str, str]
    """Variables in addition to those of the terminal."""
    max_output: int
    """Bytes of output that the terminal keeps: the last ones."""


@frozen
class TerminalExit:
    """The end of a command; None and "" if it is not known."""

    exit_code: int | None
    signal: str = ""


@frozen
class TerminalText:
    """The text of a terminal."""

    text: str
    truncated: bool
    """True if more was printed."""


class Terminal(Protocol):
    """One command in a terminal. Always release it; ``kill`` and ``release`` never raise."""

    @property
    def id(self) -> str: ...

    async def exit(self) -> TerminalExit:
        """Wait for the end. Raises ``TerminalLost``."""
        ...

    async def text(self) -> TerminalText:
        """Return the output so far. Raises ``TerminalLost``."""
        ...

    async def kill(self) -> None:
        """End the command; its text stays."""
        ...

    async def release(self) -> None:
        """Release the terminal. What runs in it ends; the editor can still show it."""
        ...


class Terminals(Protocol):
    async def open(self, session_id: str, command: TerminalCommand) -> Terminal:
        """Start *command* in a new terminal, for the root session of a call.

        Raises ``TerminalMissing`` and ``TerminalRefused``. No terminal is left after a cancel.
        """
        ...
