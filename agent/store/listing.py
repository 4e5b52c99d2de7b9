"""Sessions for lists: read without their whole records, so that ten thousand are listed at once."""

import sqlite3
from collections.abc import Iterable

from agent.records.frozen import frozen
from agent.store.queries import IN_FOLDERS, folders_json
from agent.store.search import RawHit, SearchHit, find_hits, with_excerpts

MAX_SEARCHED_HITS = 1_000
"""Hits of a search that are examined for their sessions, newest first."""

MAX_HITS_PER_SESSION = 3
"""Hits shown per session: a word that is everywhere in one session hides no other session."""

_COLUMNS = (
    "id, directory, title, updated, json_extract(data, '$.turns'), json_extract(data, '$.cost'), "
    "archived, pinned, parent_id"
)
_READABLE = "json_valid(data)"
"""Excludes records that are not JSON: one of them would fail the whole query."""


@frozen
class SessionListItem:
    """One row of a session list."""

    id: str
    directory: str
    title: str
    updated: float
    """Seconds since the epoch."""
    turns: int
    cost: float | None
    """US dollars; None where unknown."""
    archived: bool
    pinned: bool
    parent_id: str | None


@frozen
class SessionHit:
    """A session and one of its texts that matches a search."""

    session: SessionListItem
    hit: SearchHit


@frozen
class SessionScope:
    """A selection of sessions."""

    directory: str | None = None
    """The folder of the sessions; None for every folder."""
    archived: bool = False
    """True if archived sessions are included."""
    elsewhere: tuple[str, ...] = ()
    """Further folders (``agent.session.related_folders``)."""

    def includes(self, line: SessionListItem) -> bool:
        here = self.directory is None or line.directory in {self.directory, *self.elsewhere}
        return here and (self.archived or not line.archived)


def session_list(connection: sqlite3.Connection, scope: SessionScope) -> list[SessionListItem]:
    """Return the sessions that were used, the pinned ones first, then by last use. Sub-agents'
    sessions are excluded."""
    conditions = [_READABLE, "+parent_id IS NULL"]
    values: list[str] = []
    if scope.directory is not None:
        conditions.append(IN_FOLDERS)
        values.append(folders_json(scope.directory, scope.elsewhere))
    if not scope.archived:
        conditions.append("archived = 0")
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM session WHERE {' AND '.join(conditions)} "  # constants
        "ORDER BY pinned DESC, rowid DESC",
        values,
    )
    return [line for row in rows if (line := _list_item(row)).turns or line.title]


def search_sessions(
    connection: sqlite3.Connection, text: str, scope: SessionScope, limit: int
) -> list[SessionHit]:
    """Return up to *limit* texts that contain every word of *text*, newest first, a few per
    session; sub-agents' sessions included."""
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
