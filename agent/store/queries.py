"""Queries of sessions and what belongs to them: plain functions on one state of the database.

The order of messages, and of sessions by their last use, is the row number: ids and times come from
clocks that can be set back or differ. Only the parts of one message, which one process makes, are
ordered by their ids.
"""

import dataclasses
import json
import sqlite3
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from agent.records.frozen import frozen
from agent.records.goals import Goal
from agent.records.json import JsonObject, encodable
from agent.records.memory import MemoryOrigin
from agent.records.messages import CompactionPart, MessageWithParts, Session
from agent.records.review_comment import ReviewComment
from agent.records.spending import SpendingUnit
from agent.store.codec import decode_all, decode_message, decode_part, decode_session

Rows: TypeAlias = list[tuple[Any, ...]]

_MESSAGE = "id, data, rowid"

_NUMBER = "(SELECT rowid FROM message WHERE id = ?{})"
"""The place in the history of the message whose id is that parameter."""

_NO_LIMIT = 2**63 - 1


@frozen
class SessionFilter:
    """A selection of sessions; see ``Store.sessions``."""

    directory: str | None = None
    elsewhere: tuple[str, ...] = ()
    """Further directories."""
    include_children: bool = False
    archived: bool = False
    limit: int = 100
    before: str | None = None


def projects(connection: sqlite3.Connection) -> list[str]:
    """Return the projects of all sessions."""
    rows = connection.execute("SELECT DISTINCT json_extract(data, '$.project') FROM session")
    return [project for (project,) in rows]


def snapshot_trees(connection: sqlite3.Connection, project: str) -> set[str]:
    """Return the snapshots that an undo or redo in the sessions of *project* can need."""
    trees = connection.execute(
        "SELECT json_extract(part.data, '$.base'), json_extract(part.data, '$.tree') "
        "FROM session JOIN part ON part.session_id = session.id AND part.type = 'patch' "
        "WHERE json_extract(session.data, '$.project') = ?1 "
        "UNION SELECT json_extract(data, '$.undone_tree'), NULL FROM session "
        "WHERE json_extract(data, '$.project') = ?1",
        (encodable(project),),
    )
    return {tree for row in trees for tree in row if tree}


IN_FOLDERS = "directory IN (SELECT value FROM json_each(?))"
"""The condition for sessions of the folders in ``folders_json``."""


def folders_json(directory: str, elsewhere: Iterable[str]) -> str:
    return json.dumps([encodable(each) for each in (directory, *elsewhere)])


def place(connection: sqlite3.Connection, directory: str) -> tuple[str, str] | None:
    """Return the first commit of the repository of a folder, and the folder's path in it."""
    return connection.execute(
        "SELECT origin, folder FROM place WHERE directory = ?", (encodable(directory),)
    ).fetchone()


def places(connection: sqlite3.Connection, origin: str, folder: str) -> list[str]:
    """Return the folders that were recorded as that part of that repository."""
    rows = connection.execute(
        "SELECT directory FROM place WHERE origin = ? AND folder = ? ORDER BY directory",
        (origin, encodable(folder)),
    ).fetchall()
    return [directory for (directory,) in rows]


def session(connection: sqlite3.Connection, session_id: str) -> Session | None:
    row = connection.execute(
        "SELECT data FROM session WHERE id = ?", (encodable(session_id),)
    ).fetchone()
    return decode_session(row[0]) if row is not None else None


def sessions(connection: sqlite3.Connection, wanted: SessionFilter) -> list[Session]:
    """Return the sessions that match *wanted*, the last used first."""
    conditions = ["1"]
    values: list[str] = []
    if wanted.directory is not None:
        conditions.append(IN_FOLDERS)
        values.append(folders_json(wanted.directory, wanted.elsewhere))
    if not wanted.include_children:
        # The plus keeps SQLite from choosing the parents' index: nearly all have none.
        conditions.append("+parent_id IS NULL")
    if not wanted.archived:
        conditions.append("archived = 0")
    if wanted.before is not None:
        conditions.append("rowid < (SELECT rowid FROM session WHERE id = ?)")
        values.append(encodable(wanted.before))
    rows = connection.execute(
        f"SELECT data FROM session WHERE {' AND '.join(conditions)} "  # constants
        "ORDER BY rowid DESC LIMIT ?",
        (*values, wanted.limit),
    ).fetchall()
    return decode_all(decode_session, (data for (data,) in rows))


def children(connection: sqlite3.Connection, session_id: str) -> list[Session]:
    rows = connection.execute(
        "SELECT data FROM session WHERE parent_id = ? ORDER BY "
        "(SELECT min(rowid) FROM message WHERE session_id = session.id) NULLS LAST, rowid",
        (session_id,),
    ).fetchall()
    return decode_all(decode_session, (data for (data,) in rows))


def message(connection: sqlite3.Connection, message_id: str) -> MessageWithParts | None:
    rows = connection.execute(
        f"SELECT {_MESSAGE} FROM message WHERE id = ?",  # constants
        (encodable(message_id),),
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
    """Return the last *limit* messages before the message *before*, oldest first; before none that
    is not there."""
    rows = connection.execute(
        f"SELECT {_MESSAGE} FROM message "  # constants
        f"WHERE session_id = ?1 AND (?2 IS NULL OR rowid < {_NUMBER.format(2)}) "
        "ORDER BY rowid DESC LIMIT ?3",
        (session_id, before, -1 if limit is None else limit),
    ).fetchall()
    rows.reverse()
    return _with_parts(rows, _parts_of(connection, session_id, rows))


def messages_after(
    connection: sqlite3.Connection, session_id: str, after: str
) -> list[MessageWithParts]:
    """Return the messages of a session that were stored after the message *after*, which can be one
    of another session, oldest first."""
    rows = connection.execute(
        f"SELECT {_MESSAGE} FROM message "  # constants
        f"WHERE session_id = ?1 AND rowid > {_NUMBER.format(2)} ORDER BY rowid",
        (session_id, after),
    ).fetchall()
    return _with_parts(rows, _parts_of(connection, session_id, rows))


PINNED = "CASE WHEN json_valid(data) THEN json_extract(data, '$.pinned') END = 1"
"""Spelled exactly as in the index."""


def context_messages(
    connection: sqlite3.Connection, session_id: str, before: str | None
) -> list[MessageWithParts]:
    """Return the messages that a turn continues from, of those before the id *before*, oldest
    first: all from the tail of the newest compaction on, and queued ones wherever they are; every
    message where the session was never compacted."""
    end = _place(connection, before) or _NO_LIMIT
    start = _start(connection, session_id, end)
    rows = connection.execute(
        f"SELECT {_MESSAGE} FROM message "  # constants
        "WHERE session_id = ?1 AND rowid >= ?2 AND rowid < ?3 "
        # As the index of those that wait has it, word for word.
        f"UNION ALL SELECT {_MESSAGE} FROM message WHERE session_id = ?1 "
        "AND (rowid < ?2 OR rowid >= ?3) AND role = 'user' AND turn_id IS NULL "
        "ORDER BY rowid",
        (session_id, start, end),
    ).fetchall()
    return _with_parts(rows, _parts_of(connection, session_id, rows))


def _place(connection: sqlite3.Connection, message_id: str | None) -> int | None:
    """Return the row number of a message, None if it does not exist."""
    row = connection.execute(
        "SELECT rowid FROM message WHERE id = ?", (encodable(message_id or ""),)
    ).fetchone()
    return row[0] if row is not None else None


def _start(connection: sqlite3.Connection, session_id: str, end: int) -> int:
    """Return the place of the first message that the newest compaction before *end* keeps as it is;
    0 without one."""
    rows = connection.execute(
        "SELECT message.rowid, part.data FROM part JOIN message ON message.id = part.message_id "
        "WHERE part.session_id = ?1 AND part.type = 'compaction' AND message.rowid < ?2 "
        "ORDER BY message.rowid DESC",
        (session_id, end),
    )
    for marker, data in rows:
        for part in decode_all(decode_part, (data,)):
            if isinstance(part, CompactionPart):
                return min(_place(connection, part.first_kept_id) or marker, marker)
    return 0


def preserved_messages(
    connection: sqlite3.Connection, session_id: str, before: str
) -> list[MessageWithParts]:
    """Return the messages before the id *before* that a compaction keeps word for word, oldest
    first: the first request, the pinned ones, those that loaded a skill."""
    rows = connection.execute(
        f"SELECT {_MESSAGE} FROM message WHERE rowid < ?2 AND id IN ("  # constants
        "SELECT * FROM (SELECT id FROM message WHERE session_id = ?1 AND role = 'user' "
        "AND turn_id IS NOT NULL AND CASE WHEN json_valid(data) "
        "THEN coalesce(json_extract(data, '$.synthetic'), 0) END = 0 ORDER BY rowid LIMIT 1) "
        f"UNION SELECT id FROM message WHERE session_id = ?1 AND {PINNED} "
        "UNION SELECT message_id FROM part WHERE session_id = ?1 AND tool = 'skill') "
        "ORDER BY rowid",
        (session_id, _place(connection, before) or _NO_LIMIT),
    ).fetchall()
    return _with_parts(rows, _parts_of(connection, session_id, rows))


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
        "SELECT COUNT(*) FROM message WHERE session_id = ?1 "
        f"AND rowid < {_NUMBER.format(2)}",  # constants
        (session_id, before),
    ).fetchone()
    return int(row[0])


def in_stored_order(connection: sqlite3.Connection, part_ids: list[str]) -> list[str]:
    """Return *part_ids* in the order in which the parts were first stored."""
    rows = connection.execute(
        "SELECT id FROM part WHERE id IN (SELECT value FROM json_each(?)) ORDER BY number",
        (json.dumps(part_ids),),
    ).fetchall()
    return [part_id for (part_id,) in rows]


def _parts_of(
    connection: sqlite3.Connection, session_id: str, rows: list[tuple[str, str, int]]
) -> list[tuple[str, str]]:
    """Return the parts of the messages of a session in *rows*, grouped by message."""
    return connection.execute(
        "SELECT message_id, data FROM part WHERE session_id = ? "
        "AND message_id IN (SELECT value FROM json_each(?)) ORDER BY message_id, id",
        (session_id, json.dumps([message_id for message_id, _, _ in rows])),
    ).fetchall()


def _with_parts(
    rows: list[tuple[str, str, int]], parts: list[tuple[str, str]]
) -> list[MessageWithParts]:
    by_message = {
        message_id: tuple(decode_all(decode_part, (data for _, data in group)))
        for message_id, group in groupby(parts, key=itemgetter(0))
    }
    places = {message_id: number for message_id, _, number in rows}
    found = decode_all(decode_message, (data for _, data, _ in rows))
    return [
        MessageWithParts(record, by_message.get(record.id, ()), places.get(record.id, 0))
        for record in found
    ]


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


Stored = TypeVar("Stored", Goal, ReviewComment)


def _known(kind: type[Stored], stored: dict[str, Any]) -> Stored:
    """Return *stored* as a record. A newer version can have stored more fields."""
    names = {field.name for field in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in stored.items() if name in names})


def goal(connection: sqlite3.Connection, session_id: str) -> Goal | None:
    row = connection.execute("SELECT data FROM goal WHERE session_id = ?", (session_id,)).fetchone()
    return _known(Goal, json.loads(row[0])) if row is not None else None


def request_head(connection: sqlite3.Connection, session_id: str) -> JsonObject | None:
    """Return the digests of a session's last request."""
    row = connection.execute(
        "SELECT data FROM request_head WHERE session_id = ?", (session_id,)
    ).fetchone()
    return json.loads(row[0]) if row is not None else None


def memory_origins(connection: sqlite3.Connection, file: str) -> dict[str, MemoryOrigin]:
    """Return the origins of the lines of *file* (its absolute path), by their text."""
    rows = connection.execute(
        "SELECT line, source, created, session_id, edited FROM memory_line WHERE file = ?",
        (encodable(file),),
    )
    return {
        line: MemoryOrigin(source, created, session_id, bool(edited))
        for line, source, created, session_id, edited in rows
    }


def review_draft(
    connection: sqlite3.Connection, scope: str, title: str
) -> tuple[ReviewComment, ...]:
    """Return the comments on the changes *title* of *scope*, a folder or a session."""
    row = connection.execute(
        "SELECT comments FROM review_draft WHERE scope = ? AND title = ?",
        (encodable(scope), encodable(title)),
    ).fetchone()
    found = [_known(ReviewComment, each) for each in json.loads(row[0])] if row is not None else []
    return tuple(dataclasses.replace(each, quoted=tuple(each.quoted)) for each in found)


StoredCaps = dict[tuple[str, SpendingUnit], float | None]
"""Amounts by scope (a session or a day) and unit; None for no cap."""


def spending_caps(connection: sqlite3.Connection, scopes: Iterable[str]) -> StoredCaps:
    """Return the caps that were set for *scopes*."""
    return {
        (scope, unit): amount
        for scope in scopes
        for unit, amount in connection.execute(
            "SELECT unit, amount FROM spending_cap WHERE scope = ?", (scope,)
        )
    }
