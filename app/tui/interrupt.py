"""Ctrl+C, by what is open (spec 8, U6)."""

import time
from collections.abc import Callable

from textual.app import App
from textual.screen import ModalScreen

from app.screens.session.screen import SessionScreen
from app.session.live import LiveSession
from app.text.units import count
from app.toolkit.tasks import Tasks

BACKGROUND_WINDOW = 3.0
"""Seconds within which a second press means the background too."""


class TurnStopper:
    """*stopping* says on the screen that the turn is being stopped."""

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
        self._stopping = on_stopping
        self._clock = clock
        self._stopped = float("-inf")

    def stop_turn(self) -> None:
        """Cancel the turn that runs; the screen says so at once."""
        if self.stop_background():
            return
        self._stopped = self._clock()
        self._stopping()
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
        """A second press soon after the first: end all that works; false if it is none, or
        nothing does."""
        if self._clock() - self._stopped > BACKGROUND_WINDOW or not self.background_count():
            return False
        self._stopped = float("-inf")
        self._tasks.spawn(self._live.cancel(), "stopping the background")
        return True

    def stop_requester(self, session_id: str) -> None:
        """Cancel what asks something: the open session's turn, or the sub-agent in the background
        in whose work the session *session_id* is."""
        self._tasks.spawn(self._asked(session_id), "cancelling")

    def background_count(self) -> int:
        """How many sub-agents work in the background of the open session."""
        view = self._live.view
        return len(view.background_tasks.running) if view is not None else 0

    async def _asked(self, session_id: str) -> None:
        behind = await self._live.runtime.sessions.subagents.behind(session_id)
        open_id = self._live.session.id if self._live.session is not None else ""
        if behind is None or behind == open_id:
            self.stop_turn()
        else:
            await self._live.runtime.sessions.cancel(behind)


EXIT_WINDOW = 2.0
"""Seconds within which a second press on an empty prompt leaves the program."""


DOUBLE_ESCAPE = 0.8
"""Seconds within which a second Esc counts as one of two: a person's double press."""


class InterruptHandler:
    """A dialog or picker closes by its own ``interrupt``; on the main screen a turn is
    cancelled, else a selection copied, else the prompt cleared, else leaving is offered."""

    def __init__(
        self,
        app: App[int],
        main: SessionScreen,
        live: LiveSession,
        stopping: TurnStopper,
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
            self._stopping.stop_turn()
        elif not self._stopping.stop_background() and not self._copies() and not self._clears():
            self._leaves()

    def escape(self) -> None:
        """Esc with nothing left to close: stops a turn; twice on an empty prompt shows the
        session's requests, to go back to one."""
        if self._live.busy:
            self._stopping.stop_turn()
            return
        if self._stopping.stop_background():
            return
        now = self._clock()
        if self._main.prompt.text or self._live.session is None:
            self._escaped = float("-inf")
        elif now - self._escaped <= DOUBLE_ESCAPE:
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
        text = self._main.prompt.take_text()
        self._main.prompt.remember(text)
        self._cleared(text)
        return True

    def _leaves(self) -> None:
        now = self._clock()
        if now - self._armed <= EXIT_WINDOW:
            self._app.exit(0)
        else:
            self._armed = now
            left = self._stopping.background_count()
            ends = f" {count(left, 'sub-agent')} in the background then ends." if left == 1 else ""
            ends = f" {count(left, 'sub-agent')} in the background then end." if left > 1 else ends
            self._app.notify(
                f"Press ctrl+c again to exit.{ends}", timeout=EXIT_WINDOW, markup=False
            )
