"""Queries of sessions, messages and parts: plain functions on one state of the database."""

import json
import sqlite3
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from agent.records.json import encodable
from agent.records.messages import CompactionPart, MessageWithParts, Session
from agent.store.codec import decode_all, decode_message, decode_part, decode_session

Rows: TypeAlias = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """A selection of sessions. Times are seconds since the epoch; see ``Store.sessions``."""

    directory: str | None = None
    include_children: bool = False
    archived: bool = False
    limit: int = 100
    before: float | None = None


def session(connection: sqlite3.Connection, session_id: str) -> Session | None:
    row = connection.execute(
        "SELECT data FROM session WHERE id = ?", (encodable(session_id),)
    ).fetchone()
    return decode_session(row[0]) if row is not None else None


def sessions(connection: sqlite3.Connection, wanted: SessionFilter) -> list[Session]:
    """Return the sessions that match *wanted*, the last updated first."""
    conditions = ["1"]
    values: list[str | float] = []
    if wanted.directory is not None:
        conditions.append("directory = ?")
        values.append(encodable(wanted.directory))
    if not wanted.include_children:
        # The plus keeps SQLite from choosing the parents' index: nearly all have none.
        conditions.append("+parent_id IS NULL")
    if not wanted.archived:
        conditions.append("archived = 0")
    if wanted.before is not None:
        conditions.append("updated < ?")
        values.append(wanted.before)
    rows = connection.execute(
        f"SELECT data FROM session WHERE {' AND '.join(conditions)} "  # constants
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
        "SELECT id, data FROM message WHERE id = ?", (encodable(message_id),)
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
    """Return the last *limit* messages before the id *before*, oldest first."""
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


PINNED = "CASE WHEN json_valid(data) THEN json_extract(data, '$.pinned') END = 1"
"""Spelled exactly as in the index."""


def context_messages(
    connection: sqlite3.Connection, session_id: str, before: str | None
) -> list[MessageWithParts]:
    """Return the messages that a turn continues from, of those before the id *before*, oldest
    first: all from the tail of the newest compaction on, and queued ones wherever they are; every
    message where the session was never compacted."""
    start = _start(connection, session_id, before)
    rows = connection.execute(
        "SELECT id, data FROM message "
        "WHERE session_id = ?1 AND id >= ?2 AND (?3 IS NULL OR id < ?3) "
        # As the index of those that wait has it, word for word.
        "UNION ALL SELECT id, data FROM message "
        "WHERE session_id = ?1 AND (id < ?2 OR id >= ?3) AND role = 'user' AND turn_id IS NULL "
        "ORDER BY id",
        (session_id, start, before),
    ).fetchall()
    return _with_parts(rows, _parts_of(connection, rows))


def _start(connection: sqlite3.Connection, session_id: str, before: str | None) -> str:
    """Return the id of the first message that the newest compaction keeps as it is; "" without
    one."""
    rows = connection.execute(
        "SELECT message_id, data FROM part WHERE session_id = ?1 AND type = 'compaction' "
        "AND (?2 IS NULL OR message_id < ?2) ORDER BY message_id DESC",
        (session_id, before),
    )
    for _message_id, data in rows:
        for part in decode_all(decode_part, (data,)):
            if isinstance(part, CompactionPart):
                return part.first_kept_id
    return ""


def preserved_messages(
    connection: sqlite3.Connection, session_id: str, before: str
) -> list[MessageWithParts]:
    """Return the messages before the id *before* that a compaction keeps word for word, oldest
    first: the first request, the pinned ones, those that loaded a skill."""
    rows = connection.execute(
        "SELECT id, data FROM message WHERE id IN ("  # constants
        "SELECT * FROM (SELECT id FROM message WHERE session_id = ?1 AND id < ?2 AND role = 'user' "
        "AND turn_id IS NOT NULL AND CASE WHEN json_valid(data) "
        "THEN coalesce(json_extract(data, '$.synthetic'), 0) END = 0 ORDER BY id LIMIT 1) "
        f"UNION SELECT id FROM message WHERE session_id = ?1 AND id < ?2 AND {PINNED} "
        "UNION SELECT message_id FROM part "
        "WHERE session_id = ?1 AND message_id < ?2 AND tool = 'skill') ORDER BY id",
        (session_id, before),
    ).fetchall()
    return _with_parts(rows, _parts_of(connection, rows))


def pinned_ids(connection: sqlite3.Connection, session_id: str) -> frozenset[str]:
    """Return the ids of the pinned messages of a session."""
    rows = connection.execute(
        f"SELECT id FROM message WHERE session_id = ? AND {PINNED}",  # constants
        (session_id,),
    ).fetchall()
    return frozenset(message_id for (message_id,) in rows)


def message_count(connection: sqlite3.Connection, session_id: str, before: str) -> int:
    """Return the number of messages of a session before the id *before*."""
    row = connection.execute(
        "SELECT COUNT(*) FROM message WHERE session_id = ? AND id < ?", (session_id, before)
    ).fetchone()
    return int(row[0])


def _parts_of(connection: sqlite3.Connection, rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the parts of the messages in *rows*, grouped by message."""
    return connection.execute(
        "SELECT message_id, data FROM part WHERE message_id IN (SELECT value FROM json_each(?)) "
        "ORDER BY message_id, id",
        (json.dumps([message_id for message_id, _ in rows]),),
    ).fetchall()


def _with_parts(
    rows: list[tuple[str, str]], parts: list[tuple[str, str]]
) -> list[MessageWithParts]:
    by_message = {
        message_id: tuple(decode_all(decode_part, (data for _, data in group)))
        for message_id, group in groupby(parts, key=itemgetter(0))
    }
    found = decode_all(decode_message, (data for _, data in rows))
    return [MessageWithParts(record, by_message.get(record.id, ())) for record in found]


def todos(connection: sqlite3.Connection, session_id: str) -> Rows:
    return connection.execute(
        "SELECT content, status, priority FROM todo WHERE session_id = ? ORDER BY position",
        (session_id,),
    ).fetchall()


def session_rules(connection: sqlite3.Connection, root_id: str) -> Rows:
    return connection.execute(
        "SELECT permission, pattern FROM session_rule WHERE root_id = ? ORDER BY number",
        (root_id,),
    ).fetchall()


def prompt_history(connection: sqlite3.Connection, limit: int) -> Rows:
    return connection.execute(
        "SELECT text FROM prompt_history ORDER BY number DESC LIMIT ?", (limit,)
    ).fetchall()
