"""Navigation between the sessions of sub-agents and their parents."""

from collections.abc import Callable

from app.session.live import LiveSession, SessionFamily, family_of
from app.session.view import SessionView
from app.toolkit.tasks import Tasks


class SubagentNavigation:
    """Shows the family of each session that is opened, and goes back to its parent.

    *show* gets the family, or None for a session of the user's own.
    """

    def __init__(
        self, tasks: Tasks, live: LiveSession, show: Callable[[SessionFamily | None], None]
    ) -> None:
        self._tasks = tasks
        self._live = live
        self._show = show

    def opened(self, view: SessionView | None) -> None:
        """Show the family of the session that was opened."""
        if view is None or view.session.parent_id is None:
            self._show(None)
        else:
            # The row is there from the first frame, so that nothing moves when its names arrive.
            self._show(SessionFamily(view.session))
            self._tasks.spawn(self._read(view), "reading whose sub-agent this is")

    async def _read(self, view: SessionView) -> None:
        family = await family_of(self._live, view.session)
        if self._live.view is view:
            self._show(family)

    def leave(self) -> bool:
        """Go back to the parent of a sub-agent's session; return False in a session of the user's
        own."""
        session = self._live.session
        if session is None or session.parent_id is None:
            return False
        self._tasks.spawn(self._live.open(session.parent_id), "going back")
        return True
