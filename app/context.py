"""What an action may use."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.app import App

from app.live import LiveSession
from app.tasks import Tasks
from app.widgets.prompt import Prompt
from app.widgets.transcript.view import Transcript

if TYPE_CHECKING:  # the keymap is built from the registry, whose actions take a Context
    from app.keymap import Keymap


@dataclass(frozen=True, slots=True)
class Context:
    """*live* is the open session (with the runtime); the widgets are those of the session
    screen; *keymap* gives the keys in force. An action runs in a task of its own, so it may
    wait for dialogs."""

    app: App[int]
    live: LiveSession
    tasks: Tasks
    transcript: Transcript
    prompt: Prompt
    keymap: "Callable[[], Keymap]"

    def tell(self, sentence: str, *, warning: bool = False) -> None:
        """A short message that goes away by itself. Read literally, not as markup."""
        severity = "warning" if warning else "information"
        self.app.notify(sentence, severity=severity, markup=False)
