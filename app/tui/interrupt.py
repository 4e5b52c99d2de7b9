"""Ctrl+C and Esc: what they stop or close, depending on what is open."""

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

from textual.app import App
from textual.screen import ModalScreen

from agent.records.amounts import count
from app.screens.main.screen import SessionScreen
from app.session_state.live import LiveSession
from app.session_state.live_sessions import LiveSessions
from app.terminal.tasks import Tasks

BACKGROUND_WINDOW = 3.0
"""Seconds within which a second press stops the background tasks too."""


@dataclass(slots=True, eq=False)
class TurnStopper:
    """Stops the turn of the open session, and its background tasks on a second press.

    *on_stopping* shows on the screen that the turn is being stopped.
    """

    app: App[int]
    live: LiveSession
    sessions: LiveSessions
    tasks: Tasks
    on_stopping: Callable[[], None]
    _: KW_ONLY
    clock: Callable[[], float] = time.monotonic
    _stopped: float = field(default=float("-inf"), init=False)

    def stop_turn(self) -> None:
        """Cancel the running turn; the screen shows it at once."""
        if self.stop_background():
            return
        self._stopped = self.clock()
        self.on_stopping()
        self.tasks.spawn(self.live.cancel(background=False), "cancelling")
        if left := self.background_count():
            verb, them = ("is", "it") if left == 1 else ("are", "them")
            self.app.notify(
                f"{count(left, 'sub-agent')} {verb} still working in the background. Press esc "
                f"again to stop {them} too.",
                timeout=BACKGROUND_WINDOW,
                markup=False,
            )

    def stop_background(self) -> bool:
        """Stop the background tasks if a turn was just stopped; return whether there are any."""
        if self.clock() - self._stopped > BACKGROUND_WINDOW or not self.background_count():
            return False
        self._stopped = float("-inf")
        self.tasks.spawn(self.live.cancel(), "stopping the background")
        return True

    def stop_requester(self, session_id: str) -> None:
        """Cancel the work that made a request: the open session's turn, the background task that
        the session *session_id* belongs to, or the turn of another session."""
        self.tasks.spawn(self._stop_requester(session_id), "cancelling")

    def background_count(self) -> int:
        view = self.live.view
        return len(view.background_tasks.running) if view is not None else 0

    async def _stop_requester(self, session_id: str) -> None:
        state = self.sessions.find(session_id)
        runtime = self.sessions.runtime_of(state.session) if state is not None else None
        sessions = (runtime or self.live.runtime).sessions
        caller_id = await sessions.subagents.background_root(session_id)
        if caller_id is None and state is not None and state.session.id != self.sessions.opened:
            caller_id = state.session.id
        open_id = self.live.session.id if self.live.session is not None else ""
        if caller_id is None or caller_id == open_id:
            self.stop_turn()
        else:
            await sessions.cancel(caller_id)


EXIT_WINDOW = 2.0
"""Seconds within which a second press on an empty prompt exits the program."""


DOUBLE_ESCAPE = 0.8
"""Seconds within which a second Esc counts as a double press."""


@dataclass(slots=True, eq=False)
class InterruptHandler:
    """Handles Ctrl+C and Esc.

    A dialog or picker is closed by its own ``interrupt``. On the main screen a turn is canceled,
    else a selection is copied, else the prompt is cleared, else exit is offered. *cleared* gets the
    text of a cleared prompt, *rewind* shows the session's prompts.
    """

    app: App[int]
    main: SessionScreen
    live: LiveSession
    stopper: TurnStopper
    _: KW_ONLY
    cleared: Callable[[str], None]
    rewind: Callable[[], None]
    clock: Callable[[], float] = time.monotonic
    _escaped: float = field(default=float("-inf"), init=False)
    _armed: float = field(default=float("-inf"), init=False)

    def press(self) -> None:
        screen = self.app.screen
        if screen is not self.main:
            close = getattr(screen, "interrupt", None)
            if callable(close):
                close()
            elif isinstance(screen, ModalScreen):
                screen.dismiss()
            return
        if self.live.busy:
            self.stopper.stop_turn()
        elif (
            not self.stopper.stop_background()
            and not self._copy_selection()
            and not self._clear_prompt()
        ):
            self._offer_exit()

    def escape(self) -> None:
        """Handle Esc with nothing left to close: stop a turn; pressed twice on an empty prompt,
        show the session's prompts to return to one."""
        if self.live.busy:
            self.stopper.stop_turn()
            return
        if self.stopper.stop_background():
            return
        now = self.clock()
        if self.main.prompt.text or self.live.session is None:
            self._escaped = float("-inf")
        elif now - self._escaped <= DOUBLE_ESCAPE:
            self._escaped = float("-inf")
            self.rewind()
        else:
            self._escaped = now

    def begin_escape(self) -> None:
        """Pause the turn and show that it is being stopped, if that is what Esc will do, which was
        probably pressed."""
        if self.app.screen is self.main and self.live.busy and not self.main.closes_on_escape:
            self.live.pause(paused=True)
            self.stopper.on_stopping()

    def take_back_escape(self) -> None:
        """Let the turn go on: another key was pressed."""
        self.live.pause(paused=False)

    def _copy_selection(self) -> bool:
        selected = self.main.get_selected_text() or self.main.prompt.selected_text
        if selected:
            self.app.copy_to_clipboard(selected)
            self.main.clear_selection()
            self.main.prompt.selection = type(self.main.prompt.selection).cursor(
                self.main.prompt.cursor_location
            )
        return bool(selected)

    def _clear_prompt(self) -> bool:
        if not self.main.prompt.text:
            return False
        text = self.main.prompt.take_text()
        self.main.prompt.remember(text)
        self.cleared(text)
        return True

    def _offer_exit(self) -> None:
        now = self.clock()
        if now - self._armed <= EXIT_WINDOW:
            self.app.exit(0)
        else:
            self._armed = now
            left = self.stopper.background_count()
            ends = f" This also ends {count(left, 'background sub-agent')}." if left else ""
            if others := sum(bool(one.busy) for one in self.stopper.sessions.others):
                ends += f" {count(others, 'other session')} will be interrupted."
            self.app.notify(f"Press ctrl+c again to exit.{ends}", timeout=EXIT_WINDOW, markup=False)
