"""Reading sessions and messages: the database's state with the open parts laid over it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from sqlite3 import Connection
from typing import TypeVar

from agent.records.errors import SessionNotFound
from agent.records.messages import MessageWithParts, Part, Session
from agent.store import queries
from agent.store.core import StoreCore
from agent.store.listing import Scope, SessionHit, SessionLine, found, lines
from agent.store.search import SearchHit, search
from agent.store.stats import Used, used

NO_SESSION = (
    "There is no session {session_id}. It may have been deleted; list the sessions to see which "
    "there are."
)
_TRIES = 5

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Some messages of a session, oldest first, and how many there are before them."""

    messages: tuple[MessageWithParts, ...]
    older: int


class Reads(StoreCore):
    """The reading half of the store. No read waits for a write."""

    async def session(self, session_id: str) -> Session:
        """Raises ``SessionNotFound``."""
        found = await self._database.read(partial(queries.session, session_id=session_id))
        if found is None:
            raise SessionNotFound(NO_SESSION.format(session_id=session_id))
        return found

    async def sessions(
        self,
        *,
        directory: str | None = None,
        include_children: bool = False,
        archived: bool = False,
        limit: int = 100,
        before: float | None = None,
    ) -> list[Session]:
        """Up to *limit* sessions, the one updated last first.

        *directory* keeps those opened there; sub-agents' sessions are left out unless
        *include_children*, archived ones unless *archived*; *before* (seconds since the
        epoch) keeps those updated earlier, for the next page.
        """
        wanted = queries.SessionFilter(directory, include_children, archived, limit, before)
        return await self._database.read(partial(queries.sessions, wanted=wanted))

    async def lines(self, scope: Scope) -> list[SessionLine]:
        """The sessions of *scope* as a list shows them, the pinned first, then newest first."""
        return await self._database.read(partial(lines, scope=scope))

    async def found(self, text: str, scope: Scope, limit: int = 100) -> list[SessionHit]:
        """Up to *limit* texts of sessions of *scope* that hold every word of *text*."""
        return await self._database.read(partial(found, text=text, scope=scope, limit=limit))

    async def children(self, session_id: str) -> list[Session]:
        """The sub-agents' sessions of a session, oldest first."""
        return await self._database.read(partial(queries.children, session_id=session_id))

    async def messages(
        self, session_id: str, *, before: str | None = None, limit: int | None = None
    ) -> list[MessageWithParts]:
        """The last *limit* messages before the message *before* (default: all), oldest first.

        A session that does not exist has none.
        """
        work = partial(queries.messages, session_id=session_id, before=before, limit=limit)
        found = await self._consistent(work, session_id)
        return self._overlaid(found, session_id)

    async def since_summary(
        self, session_id: str, *, before: str | None = None
    ) -> list[MessageWithParts]:
        """What a session goes on from, oldest first: the newest summary with the messages that it
        left as they are and all that came since, and what waits. All where it was never summed
        up. *before*: as it was before that message."""
        work = partial(queries.since_summary, session_id=session_id, before=before)
        return self._overlaid(await self._consistent(work, session_id), session_id)

    async def outlasting(self, session_id: str, before: str) -> list[MessageWithParts]:
        """Of the messages before the message *before* those that summaries keep word for word,
        oldest first (``agent.session.context.pins``)."""
        work = partial(queries.outlasting, session_id=session_id, before=before)
        return await self._database.read(work)

    async def page(self, session_id: str, *, before: str | None = None, limit: int) -> MessagePage:
        """The last *limit* messages before the message *before* (default: of all)."""
        messages = await self.messages(session_id, before=before, limit=limit)
        if len(messages) < limit:
            return MessagePage(tuple(messages), 0)
        first = messages[0].message.id
        work = partial(queries.message_count, session_id=session_id, before=first)
        return MessagePage(tuple(messages), await self._database.read(work))

    async def message(self, message_id: str) -> MessageWithParts | None:
        """One message with its parts, None if there is none."""
        work = partial(queries.message, message_id=message_id)
        found = await self._database.read(work)
        if found is None:
            return None
        session_id = found.message.session_id
        if self._parts.ids(session_id):
            found = await self._consistent(work, session_id)
        return self._overlaid([found], session_id)[0] if found is not None else None

    async def pinned(self, session_id: str) -> frozenset[str]:
        """The ids of the messages that the user pinned."""
        return await self._database.read(partial(queries.pinned, session_id=session_id))

    async def search(self, text: str, limit: int = 50) -> list[SearchHit]:
        """Up to *limit* finished texts that hold every word of *text*, newest first."""
        return await self._database.read(partial(search, text=text, limit=limit))

    async def used(self, since: float = 0.0, project: str | None = None) -> tuple[Used, ...]:
        """What models used from *since* on (seconds since the epoch), in *project* or in all."""
        return await self._database.read(partial(used, since=since, project=project))

    async def _consistent(self, work: Callable[[Connection], T], session_id: str) -> T:
        """Read again while a part leaves memory during the read: the state that was read may
        be from before it was committed, and memory no longer has it."""
        for _ in range(_TRIES):
            held = self._parts.ids(session_id)
            found = await self._database.read(work)
            if held <= self._parts.ids(session_id):
                return found
        return await self._database.read(work)

    def _overlaid(self, found: list[MessageWithParts], session_id: str) -> list[MessageWithParts]:
        by_message: dict[str, dict[str, Part]] = {}
        for part in self._parts.of_session(session_id):
            by_message.setdefault(part.message_id, {})[part.id] = part
        if not by_message:
            return found
        return [
            replace(entry, parts=_merged(entry.parts, by_message[entry.message.id]))
            if entry.message.id in by_message
            else entry
            for entry in found
        ]


def _merged(stored: tuple[Part, ...], held: dict[str, Part]) -> tuple[Part, ...]:
    parts = {part.id: part for part in stored} | held
    return tuple(sorted(parts.values(), key=lambda part: part.id))
