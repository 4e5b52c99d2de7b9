"""What an action may use."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from textual.app import App

from app.live import LiveSession
from app.tasks import Tasks
from app.widgets.prompt import Prompt
from app.widgets.transcript.view import Transcript


@dataclass(frozen=True, slots=True)
class Context:
    """*live* is the open session (with the runtime); the widgets are those of the session
    screen; *keys_of* gives an action's keys, as people say them, by its id; *reopen* opens the
    folder anew with the settings that hold now. An action runs in a task of its own, so it may
    wait for dialogs."""

    app: App[int]
    live: LiveSession
    tasks: Tasks
    transcript: Transcript
    prompt: Prompt
    keys_of: Callable[[str], tuple[str, ...]]
    reopen: Callable[[], Awaitable[None]]

    def tell(self, sentence: str, *, warning: bool = False) -> None:
        """A short message that goes away by itself. Read literally, not as markup."""
        severity = "warning" if warning else "information"
        self.app.notify(sentence, severity=severity, markup=False)
