"""Ctrl+C, by what is open (spec 8, U6)."""

import time
from collections.abc import Callable

from textual.app import App
from textual.screen import ModalScreen

from app.live import LiveSession
from app.screens.session import SessionScreen
from app.stopping import Stopping
from app.text.units import count

AGAIN = 2.0
"""Seconds within which a second press on an empty prompt leaves the program."""


TWICE = 0.8
"""Seconds within which a second Esc counts as one of two: a person's double press."""


class Interrupting:
    """A dialog or picker closes by its own ``interrupt``; on the main screen a turn is
    cancelled, else a selection copied, else the prompt cleared, else leaving is offered."""

    def __init__(
        self,
        app: App[int],
        main: SessionScreen,
        live: LiveSession,
        stopping: Stopping,
        *,
        cleared: Callable[[str], None],
        rewind: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._main = main
        self._live = live
        self._stopping = stopping
        self._cleared = cleared
        self._rewind = rewind
        self._escaped = float("-inf")
        self._clock = clock
        self._armed = float("-inf")

    def press(self) -> None:
        screen = self._app.screen
        if screen is not self._main:
            close = getattr(screen, "interrupt", None)
            if callable(close):
                close()
            elif isinstance(screen, ModalScreen):
                screen.dismiss()
            return
        if self._live.busy:
            self._stopping.turn()
        elif not self._stopping.again() and not self._copies() and not self._clears():
            self._leaves()

    def escape(self) -> None:
        """Esc with nothing left to close: stops a turn; twice on an empty prompt shows the
        session's requests, to go back to one."""
        if self._live.busy:
            self._stopping.turn()
            return
        if self._stopping.again():
            return
        now = self._clock()
        if self._main.prompt.text or self._live.session is None:
            self._escaped = float("-inf")
        elif now - self._escaped <= TWICE:
            self._escaped = float("-inf")
            self._rewind()
        else:
            self._escaped = now

    def _copies(self) -> bool:
        selected = self._main.get_selected_text() or self._main.prompt.selected_text
        if selected:
            self._app.copy_to_clipboard(selected)
            self._main.clear_selection()
            self._main.prompt.selection = type(self._main.prompt.selection).cursor(
                self._main.prompt.cursor_location
            )
        return bool(selected)

    def _clears(self) -> bool:
        if not self._main.prompt.text:
            return False
        text = self._main.prompt.take()
        self._main.prompt.remember(text)
        self._cleared(text)
        return True

    def _leaves(self) -> None:
        now = self._clock()
        if now - self._armed <= AGAIN:
            self._app.exit(0)
        else:
            self._armed = now
            left = self._stopping.left()
            ends = f" {count(left, 'sub-agent')} in the background then ends." if left == 1 else ""
            ends = f" {count(left, 'sub-agent')} in the background then end." if left > 1 else ends
            self._app.notify(f"Press ctrl+c again to exit.{ends}", timeout=AGAIN, markup=False)
