"""What an action may use."""

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
    """*live* is the open session (with the runtime); the widgets are those of the session
    screen; *keys_of* gives an action's keys, as people say them, by its id; *reopen* opens the
    folder anew with the settings that hold now; *env* is the environment the program was started
    in; *send* sends a prompt, which comes back into the editor if it is refused; *refresh* brings
    the lines around the prompt up to date; *modes* knows what the plan mode goes back to;
    *paging* reads older messages. An action runs in a task of its own, so it may wait for
    dialogs."""

    app: App[int]
    live: LiveSession
    paging: HistoryPager
    tasks: Tasks
    transcript: Transcript
    prompt: Prompt
    keys_of: Callable[[str], tuple[str, ...]]
    reopen: Callable[[], Awaitable[None]]
    env: Mapping[str, str]
    send: Callable[[str, Delivery], Awaitable[None]]
    refresh: Callable[[], None]
    modes: PermissionModeCycle

    def notify(self, sentence: str, *, warning: bool = False) -> None:
        """A short message that goes away by itself. Read literally, not as markup."""
        severity = "warning" if warning else "information"
        self.app.notify(sentence, severity=severity, markup=False)
