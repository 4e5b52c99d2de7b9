"""The commands of ``--plain``: what one is, and what it can use."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from agent.records.errors import NothingToDo
from agent.records.messages import Session

if TYPE_CHECKING:  # loads the agent package
    from agent.permission.trust.trust import TrustAnswer, TrustQuestion
    from agent.runtime.folder_controls import FolderControls
    from agent.runtime.runtime import Runtime


WIDTH = 80
"""Cells of a page of text."""


class Console(Protocol):
    """The conversation, as far as commands use it."""

    runtime: "Runtime"
    env: Mapping[str, str]

    @property
    def session(self) -> Session | None:
        """The open session."""
        ...

    @property
    def model(self) -> str:
        """The full name of the model that answers the next prompt."""
        ...

    @property
    def agent(self) -> str:
        """The agent that answers the next prompt."""
        ...

    def say(self, text: str) -> None:
        """Print *text*."""
        ...

    async def ask(self, question: str) -> str:
        """Return the line that answers *question*; empty at the end of the input."""
        ...

    async def ask_trust(self, question: "TrustQuestion") -> "TrustAnswer":
        """Return the answer to the question about trust in the folder."""
        ...

    async def ensure_session(self) -> Session:
        """Return the open session, a new one if none is open."""
        ...

    async def open(self, session: Session) -> None:
        """Continue with *session*."""
        ...

    async def start_over(self, folder: Path | None = None) -> None:
        """Have the next prompt begin a session, in *folder* if one is given."""
        ...

    async def send(self, given: str) -> None:
        """Send a prompt and print what happens until the turn is over."""
        ...

    async def run_shell(self, command: str) -> None:
        """Run a command of the user's."""
        ...

    async def interruptible(self, work: Coroutine[object, object, str]) -> str:
        """Return the result of *work*. Raises ``NothingToDo`` if Ctrl+C stops it."""
        ...

    async def follow_until(self, ended: Coroutine[object, object, None]) -> None:
        """Print what happens in the open session until *ended* returns."""
        ...

    async def run_command(self, name: str, argument: str) -> None:
        """Send the prompt of a user's slash command."""
        ...

    async def follow(self, work: Awaitable[object]) -> None:
        """Start *work* in the open session and print what happens until it is over."""
        ...


def controls_of(console: Console) -> "FolderControls":
    from agent.runtime.local_controls import LocalControls  # loads the agent package

    return LocalControls(console.runtime)


class Command(NamedTuple):
    """A command in ``COMMANDS``."""

    argument: str
    summary: str
    run: Callable[[Console, str], Awaitable[None]]
    aliases: tuple[str, ...] = ()


def open_session(console: Console) -> Session:
    if console.session is None:
        raise NothingToDo("No session is open yet: send a prompt first.")
    return console.session
