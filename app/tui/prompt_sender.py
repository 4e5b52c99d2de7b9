"""The sender of prompts."""

from collections.abc import Callable
from dataclasses import dataclass, field

from agent.records.errors import NoModelConnected, OpencodePyError
from agent.records.messages import Delivery
from app.screens.main.screen import SessionScreen
from app.session_state.live import LiveSession
from app.terminal.tasks import Tasks


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
    _returned: str = field(default="", init=False)
    """The prompts that returned since the last one was sent."""

    def send(self, text: str) -> None:
        self._returned = ""
        self.tasks.spawn(self._send(text), "sending")
        self.refresh()

    async def _send(self, text: str) -> None:
        try:
            await self.send_now(text)
        except NoModelConnected:
            if not self.live.unsent:  # else the next one is refused as well
                self.offer_models()

    async def send_now(self, text: str, delivery: Delivery = "steer") -> None:
        """Send a prompt. Raises ``OpencodePyError`` when it is refused."""
        try:
            await self.live.send(text, delivery)
        except OpencodePyError:
            self._return(text)
            raise
        finally:
            self.refresh()

    def _return(self, text: str) -> None:
        """Put *text* back: before what was typed since, after what returned before."""
        typed, before = self.main.prompt.text, self._returned
        if not (before and typed.startswith(before)):
            before = ""
        since = typed.removeprefix(before).removeprefix("\n")
        self._returned = f"{before}\n{text}" if before else text
        self.main.prompt.set_text(f"{self._returned}\n{since}" if since else self._returned)

    def store(self, text: str, directory: str) -> None:
        """Add a prompt that was cleared, not sent, to the history of *directory*."""
        if self.live.is_ready:
            store = self.live.runtime.store
            self.tasks.spawn(store.add_prompt_history(text, directory), "keeping a prompt")
