"""Reading sessions, messages and parts: plain functions on one state of the database."""

import sqlite3
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from agent.model import MessageWithParts, Session
from agent.store.codec import clean, decode_all, decode_message, decode_part, decode_session


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions to list. Times are seconds since the epoch; see ``Store.sessions``."""

    directory: str | None = None
    include_children: bool = False
    archived: bool = False
    limit: int = 100
    before: float | None = None


def session(connection: sqlite3.Connection, session_id: str) -> Session | None:
    row = connection.execute(
        "SELECT data FROM session WHERE id = ?", (clean(session_id),)
    ).fetchone()
    return decode_session(row[0]) if row is not None else None


def sessions(connection: sqlite3.Connection, wanted: SessionFilter) -> list[Session]:
    """The sessions that fit *wanted*, the one updated last first."""
    conditions = ["1"]
    values: list[str | float] = []
    if wanted.directory is not None:
        conditions.append("directory = ?")
        values.append(clean(wanted.directory))
    if not wanted.include_children:
        # The plus keeps SQLite from choosing the parents' index: nearly all have none.
        conditions.append("+parent_id IS NULL")
    if not wanted.archived:
        conditions.append("archived = 0")
    if wanted.before is not None:
        conditions.append("updated < ?")
        values.append(wanted.before)
    rows = connection.execute(
        f"SELECT data FROM session WHERE {' AND '.join(conditions)} "  # noqa: S608 - constants
        "ORDER BY updated DESC, id DESC LIMIT ?",
        (*values, wanted.limit),
    ).fetchall()
    return decode_all(decode_session, (data for (data,) in rows))


def children(connection: sqlite3.Connection, session_id: str) -> list[Session]:
    rows = connection.execute(
        "SELECT data FROM session WHERE parent_id = ? ORDER BY id", (session_id,)
    ).fetchall()
    return decode_all(decode_session, (data for (data,) in rows))


def message(connection: sqlite3.Connection, message_id: str) -> MessageWithParts | None:
    rows = connection.execute(
        "SELECT id, data FROM message WHERE id = ?", (clean(message_id),)
    ).fetchall()
    if not rows:
        return None
    parts = connection.execute(
        "SELECT message_id, data FROM part WHERE message_id = ? ORDER BY id", (rows[0][0],)
    ).fetchall()
    found = _with_parts(rows, parts)
    return found[0] if found else None


def messages(
    connection: sqlite3.Connection, session_id: str, before: str | None, limit: int | None
) -> list[MessageWithParts]:
    """The last *limit* messages before the id *before*, oldest first."""
    rows = connection.execute(
        "SELECT id, data FROM message WHERE session_id = ? AND (?2 IS NULL OR id < ?2) "
        "ORDER BY id DESC LIMIT ?",
        (session_id, before, -1 if limit is None else limit),
    ).fetchall()
    if not rows:
        return []
    rows.reverse()
    parts = connection.execute(
        "SELECT message_id, data FROM part WHERE session_id = ? "
        "AND message_id BETWEEN ? AND ? ORDER BY message_id, id",
        (session_id, rows[0][0], rows[-1][0]),
    ).fetchall()
    return _with_parts(rows, parts)


def pinned(connection: sqlite3.Connection, session_id: str) -> frozenset[str]:
    """The ids of the messages of a session that are pinned."""
    rows = connection.execute(
        "SELECT id FROM message WHERE session_id = ? AND json_extract(data, '$.pinned') = 1",
        (session_id,),
    ).fetchall()
    return frozenset(message_id for (message_id,) in rows)


def message_count(connection: sqlite3.Connection, session_id: str, before: str) -> int:
    """How many messages of a session come before the id *before*."""
    row = connection.execute(
        "SELECT COUNT(*) FROM message WHERE session_id = ? AND id < ?", (session_id, before)
    ).fetchone()
    return int(row[0])


def _with_parts(
    rows: list[tuple[str, str]], parts: list[tuple[str, str]]
) -> list[MessageWithParts]:
    by_message = {
        message_id: tuple(decode_all(decode_part, (data for _, data in group)))
        for message_id, group in groupby(parts, key=itemgetter(0))
    }
    found = decode_all(decode_message, (data for _, data in rows))
    return [MessageWithParts(record, by_message.get(record.id, ())) for record in found]
