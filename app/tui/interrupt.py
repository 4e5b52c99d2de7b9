"""Ctrl+C and Esc: what they stop or close, depending on what is open."""

import time
from collections.abc import Callable

from textual.app import App
from textual.screen import ModalScreen

from app.screens.session.screen import SessionScreen
from app.session.live import LiveSession
from app.text.units import count
from app.toolkit.tasks import Tasks

BACKGROUND_WINDOW = 3.0
"""Seconds within which a second press stops the background tasks too."""


class TurnStopper:
    """Stops the turn of the open session, and its background tasks on a second press.

    *on_stopping* shows on the screen that the turn is being stopped.
    """

    def __init__(
        self,
        app: App[int],
        live: LiveSession,
        tasks: Tasks,
        on_stopping: Callable[[], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._live = live
        self._tasks = tasks
        self._on_stopping = on_stopping
        self._clock = clock
        self._stopped = float("-inf")

    def stop_turn(self) -> None:
        """Cancel the running turn; the screen shows it at once."""
        if self.stop_background():
            return
        self._stopped = self._clock()
        self._on_stopping()
        self._tasks.spawn(self._live.cancel(background=False), "cancelling")
        if left := self.background_count():
            works = "works" if left == 1 else "work"
            self._app.notify(
                f"{count(left, 'sub-agent')} still {works} in the background. Press esc again to "
                "stop that too.",
                timeout=BACKGROUND_WINDOW,
                markup=False,
            )

    def stop_background(self) -> bool:
        """Stop the background tasks if a turn was stopped just before; return whether there were
        any."""
        if self._clock() - self._stopped > BACKGROUND_WINDOW or not self.background_count():
            return False
        self._stopped = float("-inf")
        self._tasks.spawn(self._live.cancel(), "stopping the background")
        return True

    def stop_requester(self, session_id: str) -> None:
        """Cancel the work that made a request: the open session's turn, or the background task that
        the session *session_id* belongs to."""
        self._tasks.spawn(self._stop_requester(session_id), "cancelling")

    def background_count(self) -> int:
        """Return the number of sub-agents that work in the background of the open session."""
        view = self._live.view
        return len(view.background_tasks.running) if view is not None else 0

    async def _stop_requester(self, session_id: str) -> None:
        caller_id = await self._live.runtime.sessions.subagents.background_root(session_id)
        open_id = self._live.session.id if self._live.session is not None else ""
        if caller_id is None or caller_id == open_id:
            self.stop_turn()
        else:
            await self._live.runtime.sessions.cancel(caller_id)


EXIT_WINDOW = 2.0
"""Seconds within which a second press on an empty prompt exits the program."""


DOUBLE_ESCAPE = 0.8
"""Seconds within which a second Esc counts as a double press."""


class InterruptHandler:
    """Handles Ctrl+C and Esc.

    A dialog or picker is closed by its own ``interrupt``. On the main screen a turn is canceled,
    else a selection is copied, else the prompt is cleared, else exit is offered. *cleared* gets the
    text of a cleared prompt, *rewind* shows the session's prompts.
    """

    def __init__(
        self,
        app: App[int],
        main: SessionScreen,
        live: LiveSession,
        stopper: TurnStopper,
        *,
        cleared: Callable[[str], None],
        rewind: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._main = main
        self._live = live
        self._stopper = stopper
        self._cleared = cleared
        self._rewind = rewind
        self._escaped = float("-inf")
        self._clock = clock
        self._armed = float("-inf")

    def press(self) -> None:
        """Handle Ctrl+C."""
        screen = self._app.screen
        if screen is not self._main:
            close = getattr(screen, "interrupt", None)
            if callable(close):
                close()
            elif isinstance(screen, ModalScreen):
                screen.dismiss()
            return
        if self._live.busy:
            self._stopper.stop_turn()
        elif (
            not self._stopper.stop_background()
            and not self._copy_selection()
            and not self._clear_prompt()
        ):
            self._offer_exit()

    def escape(self) -> None:
        """Handle Esc with nothing left to close: stop a turn; pressed twice on an empty prompt,
        show the session's prompts to return to one."""
        if self._live.busy:
            self._stopper.stop_turn()
            return
        if self._stopper.stop_background():
            return
        now = self._clock()
        if self._main.prompt.text or self._live.session is None:
            self._escaped = float("-inf")
        elif now - self._escaped <= DOUBLE_ESCAPE:
            self._escaped = float("-inf")
            self._rewind()
        else:
            self._escaped = now

    def _copy_selection(self) -> bool:
        selected = self._main.get_selected_text() or self._main.prompt.selected_text
        if selected:
            self._app.copy_to_clipboard(selected)
            self._main.clear_selection()
            self._main.prompt.selection = type(self._main.prompt.selection).cursor(
                self._main.prompt.cursor_location
            )
        return bool(selected)

    def _clear_prompt(self) -> bool:
        if not self._main.prompt.text:
            return False
        text = self._main.prompt.take_text()
        self._main.prompt.remember(text)
        self._cleared(text)
        return True

    def _offer_exit(self) -> None:
        now = self._clock()
        if now - self._armed <= EXIT_WINDOW:
            self._app.exit(0)
        else:
            self._armed = now
            left = self._stopper.background_count()
            ends = f" {count(left, 'sub-agent')} in the background then ends." if left == 1 else ""
            ends = f" {count(left, 'sub-agent')} in the background then end." if left > 1 else ends
            self._app.notify(
                f"Press ctrl+c again to exit.{ends}", timeout=EXIT_WINDOW, markup=False
            )
