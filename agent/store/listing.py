"""Sessions as a list shows them: read without their whole records, so that ten thousand are
there at once."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from agent.store.codec import clean_text
from agent.store.search import RawHit, SearchHit, find_hits, with_excerpts

MAX_SEARCHED_HITS = 1_000
"""Hits of a search that are looked through for the sessions that hold them, newest first."""

MAX_HITS_PER_SESSION = 3
"""Hits of one session that are told: a word that is everywhere in it hides no other."""

_COLUMNS = (
    "id, directory, title, updated, json_extract(data, '$.turns'), json_extract(data, '$.cost'), "
    "archived, pinned, parent_id"
)
_READABLE = "json_valid(data)"
"""One record that is no JSON would keep all others from being listed."""


@dataclass(frozen=True, slots=True)
class SessionListItem:
    """*updated* is seconds since the epoch, *cost* US dollars, None where it is not known."""

    id: str
    directory: str
    title: str
    updated: float
    turns: int
    cost: float | None
    archived: bool
    pinned: bool
    parent_id: str | None


@dataclass(frozen=True, slots=True)
class SessionHit:
    """A session and one of its texts that holds what was searched for."""

    session: SessionListItem
    hit: SearchHit


@dataclass(frozen=True, slots=True)
class SessionScope:
    """Which sessions count: those of *directory* (None: of every folder), with the *archived*
    ones or without."""

    directory: str | None = None
    archived: bool = False

    def includes(self, line: SessionListItem) -> bool:
        here = self.directory is None or line.directory == self.directory
        return here and (self.archived or not line.archived)


def session_list(connection: sqlite3.Connection, scope: SessionScope) -> list[SessionListItem]:
    """Sessions that were used, the pinned ones first, then the one updated last first.
    Sub-agents' sessions are left out."""
    conditions = [_READABLE, "+parent_id IS NULL"]
    values: list[str] = []
    if scope.directory is not None:
        conditions.append("directory = ?")
        values.append(clean_text(scope.directory))
    if not scope.archived:
        conditions.append("archived = 0")
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM session WHERE {' AND '.join(conditions)} "  # constants
        "ORDER BY pinned DESC, updated DESC, id DESC",
        values,
    )
    return [line for row in rows if (line := _list_item(row)).turns or line.title]


def search_sessions(
    connection: sqlite3.Connection, text: str, scope: SessionScope, limit: int
) -> list[SessionHit]:
    """Up to *limit* texts that hold every word of *text*, newest first, a few of each session;
    sub-agents' sessions too."""
    of_session: dict[str, list[RawHit]] = {}
    for hit in find_hits(connection, text, MAX_SEARCHED_HITS):
        of_session.setdefault(hit.session_id, []).append(hit)
    known = _list_items(connection, of_session)
    shown = [
        hit
        for id_, hits in of_session.items()
        if id_ in known and scope.includes(known[id_])
        for hit in hits[:MAX_HITS_PER_SESSION]
    ][:limit]
    return [SessionHit(known[hit.session_id], hit) for hit in with_excerpts(connection, shown)]


def _list_items(connection: sqlite3.Connection, ids: Iterable[str]) -> dict[str, SessionListItem]:
    wanted = list(ids)
    marks = ", ".join("?" * len(wanted))
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM session WHERE {_READABLE} AND id IN ({marks})",  # constants
        wanted,
    )
    return {line.id: line for line in map(_list_item, rows)}


def _list_item(
    row: tuple[str, str, str, float, int, float | None, int, int, str | None],
) -> SessionListItem:
    id_, directory, title, updated, turns, cost, archived, pinned, parent_id = row
    return SessionListItem(
        id_, directory, title, updated, turns or 0, cost, bool(archived), bool(pinned), parent_id
    )
