"""Terminals of somebody else's, such as the user's editor: it runs a command and shows it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


class TerminalMissing(Exception):
    """No terminal was opened and nothing was started: the command can run elsewhere."""


class TerminalRefused(Exception):
    """The command is not to run, or nobody knows whether it does; ``str(error)`` says why."""


class TerminalLost(Exception):
    """An open terminal does not answer; ``str(error)`` says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminalCommand:
    """*argv* is to run in *directory* (absolute), with *env* beside what the terminal has by
    itself. *kept* is how many bytes of output are wanted, the last ones."""

    argv: tuple[str, ...]
    directory: str
    env: Mapping[str, str]
    max_output: int


@dataclass(frozen=True, slots=True)
class TerminalExit:
    """The end of a command; None and "" where it is not known."""

    exit_code: int | None
    signal: str = ""


@dataclass(frozen=True, slots=True)
class TerminalText:
    """The text of a terminal; *truncated* if more was printed."""

    text: str
    truncated: bool


class Terminal(Protocol):
    """One command. To be released, whatever happened; the last two never raise."""

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
        """Give the terminal up. What runs in it ends; it may still be shown."""
        ...


class Terminals(Protocol):
    async def open(self, session_id: str, command: TerminalCommand) -> Terminal:
        """Start *command* in a new terminal, for a session of the user's (the root of a tree).

        Raises ``TerminalMissing`` and ``TerminalRefused``. Cancelled, it leaves no terminal.
        """
        ...
