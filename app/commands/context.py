"""The context of an action: everything that it can use."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from textual.app import App

from agent.records.messages import Delivery
from app.session.live import LiveSession
from app.session.permission_mode import PermissionModeCycle
from app.toolkit.tasks import Tasks
from app.widgets.input.prompt import Prompt
from app.widgets.transcript.paging import HistoryPager
from app.widgets.transcript.transcript import Transcript

BUSY = "The agent works. Try again when it is done."


@dataclass(frozen=True, slots=True)
class ActionContext:
    """The session, the widgets and the services of an action.

    An action runs in a task of its own, so it can wait for dialogs.
    """

    app: App[int]
    live: LiveSession
    """The open session, with the runtime."""
    paging: HistoryPager
    """Reads earlier messages."""
    tasks: Tasks
    transcript: Transcript
    """The widget of the session screen, as is ``prompt``."""
    prompt: Prompt
    keys_of: Callable[[str], tuple[str, ...]]
    """Returns the keys of an action by its id, as they are shown."""
    reopen: Callable[[], Awaitable[None]]
    """Opens the folder again with its present settings."""
    env: Mapping[str, str]
    """The environment that the program was started in."""
    send: Callable[[str, Delivery], Awaitable[None]]
    """Sends a prompt, which returns to the editor if it is refused."""
    refresh: Callable[[], None]
    """Updates the lines around the prompt."""
    modes: PermissionModeCycle
    """Cycles the permission modes."""

    def notify(self, sentence: str, *, warning: bool = False) -> None:
        """Show a short notice that disappears by itself. It is not parsed as markup."""
        severity = "warning" if warning else "information"
        self.app.notify(sentence, severity=severity, markup=False)
