"""The family of a sub-agent's session: the sessions above it and its siblings."""

from dataclasses import dataclass

from agent.records.errors import SessionNotFound
from agent.records.messages import Session
from app.session.live import LiveSession


@dataclass(frozen=True, slots=True)
class SessionFamily:
    """A session with its ancestors and siblings."""

    session: Session
    ancestors: tuple[Session, ...] = ()
    """The sessions that lead to this one, the user's own first."""
    siblings: tuple[Session, ...] = ()
    """The children of the nearest ancestor, oldest first, this session among them."""

    @property
    def position(self) -> int:
        """The position among its siblings, from 1; 0 if it is not one of them."""
        ids = [one.id for one in self.siblings]
        return ids.index(self.session.id) + 1 if self.session.id in ids else 0

    def sibling(self, step: int) -> Session | None:
        """Return the sibling *step* positions further, wrapping around; None if there is no
        other."""
        total = len(self.siblings)
        return self.siblings[(self.position - 1 + step) % total] if total > 1 else None


async def family_of(live: LiveSession, session: Session) -> SessionFamily:
    """Return the family of *session* as stored; a parent that was deleted ends the ancestors."""
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
