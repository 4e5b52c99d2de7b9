"""Ending what works in the open session (spec 8, U6): its turn first, and what it left to the
background only when that is asked for again."""

import time
from collections.abc import Callable

from textual.app import App

from app.live import LiveSession
from app.text.units import count
from app.toolkit.tasks import Tasks

AGAIN = 3.0
"""Seconds within which a second press means the background too."""


class Stopping:
    """*stopping* says on the screen that the turn is being stopped."""

    def __init__(
        self,
        app: App[int],
        live: LiveSession,
        tasks: Tasks,
        stopping: Callable[[], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._live = live
        self._tasks = tasks
        self._stopping = stopping
        self._clock = clock
        self._stopped = float("-inf")

    def turn(self) -> None:
        """Cancel the turn that runs; the screen says so at once."""
        if self.again():
            return
        self._stopped = self._clock()
        self._stopping()
        self._tasks.spawn(self._live.cancel(background=False), "cancelling")
        if left := self.left():
            works = "works" if left == 1 else "work"
            self._app.notify(
                f"{count(left, 'sub-agent')} still {works} in the background. Press esc again to "
                "stop that too.",
                timeout=AGAIN,
                markup=False,
            )

    def again(self) -> bool:
        """A second press soon after the first: end all that works; false if it is none, or
        nothing does."""
        if self._clock() - self._stopped > AGAIN or not self.left():
            return False
        self._stopped = float("-inf")
        self._tasks.spawn(self._live.cancel(), "stopping the background")
        return True

    def asked(self, session_id: str) -> None:
        """Cancel what asks something: the open session's turn, or the sub-agent in the background
        in whose work the session *session_id* is."""
        self._tasks.spawn(self._asked(session_id), "cancelling")

    def left(self) -> int:
        """How many sub-agents work in the background of the open session."""
        view = self._live.view
        return len(view.errands.running) if view is not None else 0

    async def _asked(self, session_id: str) -> None:
        behind = await self._live.runtime.sessions.subagents.behind(session_id)
        open_id = self._live.session.id if self._live.session is not None else ""
        if behind is None or behind == open_id:
            self.turn()
        else:
            await self._live.runtime.sessions.cancel(behind)
