"""Sub-agents' sessions around the open one (spec 8, U12): up, down, and sideways."""

from collections.abc import Callable
from dataclasses import dataclass

from agent.records.errors import SessionNotFound
from agent.records.messages import Session
from app.live import LiveSession
from app.state import SessionView
from app.toolkit.tasks import Tasks


@dataclass(frozen=True, slots=True)
class Kin:
    """*above* are the sessions that lead to this one, the user's own first; *siblings* the
    children of the nearest of them, oldest first, this one among them."""

    session: Session
    above: tuple[Session, ...] = ()
    siblings: tuple[Session, ...] = ()

    @property
    def place(self) -> int:
        """Its position among its siblings, from 1."""
        ids = [one.id for one in self.siblings]
        return ids.index(self.session.id) + 1 if self.session.id in ids else 0

    def beside(self, step: int) -> Session | None:
        """The sibling *step* places on, around the end; None where there is no other."""
        others = len(self.siblings)
        return self.siblings[(self.place - 1 + step) % others] if others > 1 else None


async def kin_of(live: LiveSession, session: Session) -> Kin:
    """The kin of *session* as the store knows it; a parent that is gone ends the way up."""
    store = live.runtime.store
    above: list[Session] = []
    parent_id = session.parent_id
    while parent_id is not None:
        try:
            parent = await store.session(parent_id)
        except SessionNotFound:
            break
        above.insert(0, parent)
        parent_id = parent.parent_id
    siblings = await store.children(above[-1].id) if above else ()
    return Kin(session, tuple(above), tuple(siblings))


class Family:
    """Tells *show* of the kin of each session that is opened, None for one of the user's own."""

    def __init__(self, tasks: Tasks, live: LiveSession, show: Callable[[Kin | None], None]) -> None:
        self._tasks = tasks
        self._live = live
        self._show = show

    def opened(self, view: SessionView | None) -> None:
        if view is None or view.session.parent_id is None:
            self._show(None)
        else:
            # The row stands from the first frame on, so that nothing moves when its names come.
            self._show(Kin(view.session))
            self._tasks.spawn(self._read(view), "reading whose sub-agent this is")

    async def _read(self, view: SessionView) -> None:
        kin = await kin_of(self._live, view.session)
        if self._live.view is view:
            self._show(kin)

    def leave(self) -> bool:
        """Go back to the parent of a sub-agent's session; false in the user's own."""
        session = self._live.session
        if session is None or session.parent_id is None:
            return False
        self._tasks.spawn(self._live.open(session.parent_id), "going back")
        return True
