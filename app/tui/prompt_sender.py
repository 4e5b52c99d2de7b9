"""The sender of prompts."""

from collections.abc import Callable
from dataclasses import dataclass

from agent.records.errors import NoModelConnected, OpencodePyError
from agent.records.messages import Delivery
from app.screens.session.screen import SessionScreen
from app.session.live import LiveSession
from app.toolkit.tasks import Tasks


@dataclass(slots=True, eq=False)
class PromptSender:
    """Sends prompts to the open session; one that is refused returns to the editor.

    *refresh* updates the lines around the prompt, *offer_models* lets the user connect a model.
    """

    main: SessionScreen
    live: LiveSession
    tasks: Tasks
    refresh: Callable[[], None]
    offer_models: Callable[[], None]

    def send(self, text: str) -> None:
        self.tasks.spawn(self._send(text), "sending")
        self.refresh()

    async def _send(self, text: str) -> None:
        try:
            await self.send_now(text)
        except NoModelConnected:
            self.offer_models()

    async def send_now(self, text: str, delivery: Delivery = "steer") -> None:
        """Send a prompt. Raises ``OpencodePyError`` when it is refused."""
        try:
            await self.live.send(text, delivery)
        except OpencodePyError:
            typed = self.main.prompt.text
            self.main.prompt.set_text(f"{text}\n{typed}" if typed else text)
            raise
        finally:
            self.refresh()

    def store(self, text: str, directory: str) -> None:
        """Add a prompt that was cleared, not sent, to the history of *directory*."""
        if self.live.is_ready:
            store = self.live.runtime.store
            self.tasks.spawn(store.add_prompt_history(text, directory), "keeping a prompt")
