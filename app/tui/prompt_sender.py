"""The sender of prompts."""

from collections.abc import Callable

from agent.records.errors import OpencodePyError
from agent.records.messages import Delivery
from app.screens.session.screen import SessionScreen
from app.session.live import LiveSession
from app.toolkit.tasks import Tasks


class PromptSender:
    """Sends prompts to the open session; one that is refused returns to the editor.

    *refresh* updates the lines around the prompt.
    """

    def __init__(
        self, main: SessionScreen, live: LiveSession, tasks: Tasks, refresh: Callable[[], None]
    ) -> None:
        self._main = main
        self._live = live
        self._tasks = tasks
        self._refresh = refresh

    def send(self, text: str) -> None:
        """Send a prompt in a task."""
        self._tasks.spawn(self.send_now(text), "sending")
        self._refresh()

    async def send_now(self, text: str, delivery: Delivery = "steer") -> None:
        """Send a prompt. Raises ``OpencodePyError`` when it is refused."""
        try:
            await self._live.send(text, delivery)
        except OpencodePyError:
            typed = self._main.prompt.text
            self._main.prompt.set_text(f"{text}\n{typed}" if typed else text)
            raise
        finally:
            self._refresh()

    def store(self, text: str, directory: str) -> None:
        """Add a prompt that was cleared, not sent, to the history of *directory*."""
        if self._live.is_ready:
            store = self._live.runtime.store
            self._tasks.spawn(store.add_prompt_history(text, directory), "keeping a prompt")
