"""The family of a sub-agent's session: the sessions above it and its siblings."""

from dataclasses import dataclass

from agent.records.errors import SessionNotFound
from agent.records.messages import Session
from app.session.live import LiveSession


@dataclass(frozen=True, slots=True)
class SessionFamily:
    """*above* are the sessions that lead to this one, the user's own first; *siblings* the
    children of the nearest of them, oldest first, this one among them."""

    session: Session
    ancestors: tuple[Session, ...] = ()
    siblings: tuple[Session, ...] = ()

    @property
    def position(self) -> int:
        """Its position among its siblings, from 1."""
        ids = [one.id for one in self.siblings]
        return ids.index(self.session.id) + 1 if self.session.id in ids else 0

    def sibling(self, step: int) -> Session | None:
        """The sibling *step* places on, around the end; None where there is no other."""
        others = len(self.siblings)
        return self.siblings[(self.position - 1 + step) % others] if others > 1 else None


async def family_of(live: LiveSession, session: Session) -> SessionFamily:
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
    return SessionFamily(session, tuple(above), tuple(siblings))
