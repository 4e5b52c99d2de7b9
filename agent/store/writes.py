"""Writes of sessions and what belongs to them: plain functions that run inside a transaction."""

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, field
from typing import TypeAlias, assert_never

from agent.records.blocks import TodoItem
from agent.records.frozen import frozen
from agent.records.goals import Goal
from agent.records.json import JsonObject, encodable
from agent.records.memory import MemoryOrigin
from agent.records.messages import (
    AssistantMessage,
    Message,
    Part,
    ReasoningPart,
    Session,
    TextPart,
    ToolPart,
    UserMessage,
    is_open,
)
from agent.records.review_comment import ReviewComment
from agent.records.spending import SpendingUnit
from agent.store.codec import encode_message, encode_part, encode_session

Record: TypeAlias = Session | Message | Part

_SESSION = """
INSERT INTO session (id, directory, parent_id, title, updated, archived, pinned, data)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET rowid = CASE WHEN session.updated IS NOT excluded.updated
    THEN (SELECT max(rowid) + 1 FROM session) ELSE session.rowid END,
    directory = excluded.directory, parent_id = excluded.parent_id,
    title = excluded.title, updated = excluded.updated, archived = excluded.archived,
    pinned = excluded.pinned, data = excluded.data
"""

_MESSAGE = """
INSERT INTO message (id, session_id, created, role, turn_id, open, data)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET rowid = CASE
    WHEN message.role = 'user' AND message.turn_id IS NULL AND excluded.turn_id IS NOT NULL
    THEN (SELECT max(rowid) + 1 FROM message) ELSE message.rowid END,
    session_id = excluded.session_id, created = excluded.created, role = excluded.role,
    turn_id = excluded.turn_id, open = excluded.open, data = excluded.data
RETURNING rowid
"""
# A queued message enters the history when a turn takes it.

_PART_COLUMNS = "id, session_id, message_id, type, tool, status, open, indexed, data"

_PART_UPDATE = """
ON CONFLICT (id) DO UPDATE SET session_id = excluded.session_id,
    message_id = excluded.message_id, type = excluded.type, tool = excluded.tool,
    status = excluded.status, open = excluded.open, indexed = excluded.indexed,
    data = excluded.data
"""

_PART = (
    f"INSERT INTO part ({_PART_COLUMNS}) "  # constants
    f"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) {_PART_UPDATE}"
)

_PART_OF_STORED = (
    f"INSERT INTO part ({_PART_COLUMNS}) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ? "  # constants
    f"WHERE EXISTS (SELECT 1 FROM message WHERE id = ?3) {_PART_UPDATE}"
)


def user_message_ids(records: Iterable[Record]) -> set[str]:
    """Return the ids of the user messages among *records*: their text is never open."""
    return {record.id for record in records if isinstance(record, UserMessage)}


@frozen
class Written:
    """The effect of a write."""

    created: set[str] = field(default_factory=set[str])
    """The ids of sessions that did not exist before."""
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    """The places of the messages in the history, by id."""


def write_records(connection: sqlite3.Connection, records: Iterable[Record]) -> Written:
    """Insert or replace *records*."""
    records = tuple(records)
    users = user_message_ids(records)
    written = Written()
    # Sessions first: what a message used is counted for the project of its session.
    for record in sorted(records, key=lambda record: not isinstance(record, Session)):
        match record:
            case Session():
                if _write_session(connection, record):
                    written.created.add(record.id)
            case UserMessage() | AssistantMessage():
                written.numbers[record.id] = _write_message(connection, record)
            case _:
                connection.execute(_PART, _part_row(record, users))
    return written


def write_if_stored(
    connection: sqlite3.Connection, parts: Iterable[Part], messages: Iterable[AssistantMessage]
) -> None:
    """Write the current state of *parts* and *messages*, except those that are gone or whose
    message is: another process can delete a session at any time."""
    for part in parts:
        connection.execute(_PART_OF_STORED, _part_row(part, frozenset()))
    for message in messages:
        known = connection.execute("SELECT 1 FROM message WHERE id = ?", (message.id,))
        if known.fetchone() is not None:
            _write_message(connection, message)


def _write_session(connection: sqlite3.Connection, session: Session) -> bool:
    known = connection.execute("SELECT 1 FROM session WHERE id = ?", (session.id,)).fetchone()
    connection.execute(
        _SESSION,
        (
            session.id,
            encodable(session.directory),
            session.parent_id,
            encodable(session.title),
            session.updated,
            session.archived,
            session.pinned,
            encode_session(session),
        ),
    )
    return known is None


def _write_message(connection: sqlite3.Connection, message: Message) -> int:
    """Write *message* and return its place in the history."""
    match message:
        case UserMessage():
            unfinished = False
        case AssistantMessage():
            unfinished = message.completed is None
        case _:
            assert_never(message)
    (number,) = connection.execute(
        _MESSAGE,
        (
            message.id,
            message.session_id,
            message.created,
            message.role,
            message.turn_id,
            unfinished,
            encode_message(message),
        ),
    ).fetchone()
    return number


def _part_row(part: Part, users: AbstractSet[str]) -> tuple[str | int | None, ...]:
    unfinished = is_open(part) and part.message_id not in users
    tool = status = None
    if isinstance(part, ToolPart):
        tool, status = encodable(part.tool), part.state.status
    elif isinstance(part, TextPart | ReasoningPart):
        status = "open" if unfinished else "ended"
    searchable = isinstance(part, TextPart) and not (unfinished or part.synthetic or not part.text)
    return (
        part.id,
        part.session_id,
        part.message_id,
        part.type,
        tool,
        status,
        unfinished,
        searchable,
        encode_part(part),
    )


def delete_session(connection: sqlite3.Connection, session_id: str) -> list[str]:
    """Delete a session and its descendants; return their ids, children before parents."""
    rows = connection.execute(
        """
        WITH RECURSIVE tree (id, depth) AS (
            SELECT id, 0 FROM session WHERE id = ?
            UNION
            SELECT session.id, depth + 1 FROM session JOIN tree ON session.parent_id = tree.id
            WHERE depth < 100
        )
        SELECT id FROM tree GROUP BY id ORDER BY max(depth) DESC, id
        """,
        (encodable(session_id),),
    ).fetchall()
    for row in rows:
        connection.execute("DELETE FROM session WHERE id = ?", row)
        connection.execute("DELETE FROM lease WHERE session_id = ?", row)
    return [id_ for (id_,) in rows]


def delete_message(connection: sqlite3.Connection, message_id: str) -> None:
    connection.execute("DELETE FROM message WHERE id = ?", (message_id,))


def delete_part(connection: sqlite3.Connection, part_id: str) -> None:
    connection.execute("DELETE FROM part WHERE id = ?", (part_id,))


def write_todos(
    connection: sqlite3.Connection, session_id: str, items: tuple[TodoItem, ...]
) -> None:
    connection.execute("DELETE FROM todo WHERE session_id = ?", (session_id,))
    connection.executemany(
        "INSERT INTO todo (session_id, position, content, status, priority) VALUES (?, ?, ?, ?, ?)",
        [
            (session_id, position, encodable(item.content), item.status, item.priority)
            for position, item in enumerate(items)
        ],
    )


def save_place(connection: sqlite3.Connection, directory: str, origin: str, folder: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO place (directory, origin, folder) VALUES (?, ?, ?)",
        (encodable(directory), origin, encodable(folder)),
    )


def add_session_rule(
    connection: sqlite3.Connection, root_id: str, permission: str, pattern: str
) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO session_rule (root_id, permission, pattern) VALUES (?, ?, ?)",
        (root_id, permission, encodable(pattern)),
    )


def delete_session_rule(
    connection: sqlite3.Connection, root_id: str, permission: str, pattern: str
) -> None:
    connection.execute(
        "DELETE FROM session_rule WHERE root_id = ? AND permission = ? AND pattern = ?",
        (root_id, permission, encodable(pattern)),
    )


def add_prompt_history(connection: sqlite3.Connection, text: str, directory: str) -> None:
    last = connection.execute(
        "SELECT text FROM prompt_history ORDER BY number DESC LIMIT 1"
    ).fetchone()
    if last is None or last[0] != text:
        connection.execute(
            "INSERT INTO prompt_history (text, directory, created) VALUES (?, ?, ?)",
            (text, encodable(directory), time.time()),
        )


def save_goal(connection: sqlite3.Connection, session_id: str, goal: Goal) -> None:
    data = encodable(json.dumps(asdict(goal), ensure_ascii=False))
    connection.execute(
        "INSERT OR REPLACE INTO goal (session_id, data) SELECT ?1, ?2 "
        "WHERE EXISTS (SELECT 1 FROM session WHERE id = ?1)",
        (session_id, data),
    )


def save_request_head(connection: sqlite3.Connection, session_id: str, head: JsonObject) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO request_head (session_id, data) SELECT ?1, ?2 "
        "WHERE EXISTS (SELECT 1 FROM session WHERE id = ?1)",
        (session_id, encodable(json.dumps(head, ensure_ascii=False))),
    )


def save_memory_origins(
    connection: sqlite3.Connection, file: str, lines: Mapping[str, MemoryOrigin]
) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO memory_line (file, line, source, created, session_id, edited) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [
            (encodable(file), encodable(line), o.source, o.created, o.session_id, o.edited)
            for line, o in lines.items()
        ],
    )


def save_review_draft(
    connection: sqlite3.Connection, scope: str, title: str, comments: Sequence[ReviewComment]
) -> None:
    """Replace the comments on the changes *title* of *scope*."""
    key = (encodable(scope), encodable(title))
    if not comments:
        connection.execute("DELETE FROM review_draft WHERE scope = ? AND title = ?", key)
        return
    data = json.dumps([asdict(each) for each in comments], ensure_ascii=False)
    connection.execute(
        "INSERT OR REPLACE INTO review_draft (scope, title, comments) VALUES (?, ?, ?)",
        (*key, encodable(data)),
    )


def save_spending_cap(
    connection: sqlite3.Connection, scope: str, unit: SpendingUnit, amount: float | None
) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO spending_cap (scope, unit, amount) VALUES (?, ?, ?)",
        (scope, unit, amount),
    )
