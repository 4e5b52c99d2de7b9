"""Todo lists, a session's permission rules, and the prompt history."""

import sqlite3
import time
from functools import partial
from typing import Any

from agent.records.blocks import TodoItem
from agent.records.events import TodoUpdated
from agent.store.codec import clean
from agent.store.core import StoreCore

Rows = list[tuple[Any, ...]]


class SideRecords(StoreCore):
    """The part of the store that is not messages."""

    async def todos(self, session_id: str) -> tuple[TodoItem, ...]:
        """The session's todo list, in order."""
        rows = await self._database.read(partial(_todos, session_id=session_id))
        return tuple(TodoItem(*row) for row in rows)

    async def save_todos(self, session_id: str, items: tuple[TodoItem, ...]) -> None:
        """Replace the session's todo list and publish ``TodoUpdated``."""
        await self._finished(self._save_todos(session_id, items))

    async def _save_todos(self, session_id: str, items: tuple[TodoItem, ...]) -> None:
        await self._database.write(partial(_write_todos, session_id=session_id, items=items))
        self._bus.publish(TodoUpdated(session_id, items))

    async def session_rules(self, root_id: str) -> tuple[tuple[str, str], ...]:
        """What the user allowed for a session's tree, as ``(permission, pattern)`` in the
        order it was given."""
        rows = await self._database.read(partial(_rules, root_id=root_id))
        return tuple((permission, pattern) for permission, pattern in rows)

    async def add_session_rule(self, root_id: str, permission: str, pattern: str) -> None:
        """Keep one rule; one that is there already is kept once."""
        await self._database.write(
            partial(_add_rule, root_id=root_id, permission=permission, pattern=pattern)
        )

    async def drop_session_rule(self, root_id: str, permission: str, pattern: str) -> None:
        """Forget one rule; nothing happens when it is not there."""
        await self._database.write(
            partial(_drop_rule, root_id=root_id, permission=permission, pattern=pattern)
        )

    async def history(self, limit: int = 500) -> list[str]:
        """The last prompts of all sessions, newest first."""
        rows = await self._database.read(partial(_history, limit=limit))
        return [text for (text,) in rows]

    async def add_history(self, text: str, directory: str) -> None:
        """Keep one prompt, unless it repeats the last one."""
        await self._database.write(partial(_add_history, text=clean(text), directory=directory))


def _todos(connection: sqlite3.Connection, session_id: str) -> Rows:
    return connection.execute(
        "SELECT content, status, priority FROM todo WHERE session_id = ? ORDER BY position",
        (session_id,),
    ).fetchall()


def _write_todos(
    connection: sqlite3.Connection, session_id: str, items: tuple[TodoItem, ...]
) -> None:
    connection.execute("DELETE FROM todo WHERE session_id = ?", (session_id,))
    connection.executemany(
        "INSERT INTO todo (session_id, position, content, status, priority) VALUES (?, ?, ?, ?, ?)",
        [
            (session_id, position, clean(item.content), item.status, item.priority)
            for position, item in enumerate(items)
        ],
    )


def _rules(connection: sqlite3.Connection, root_id: str) -> Rows:
    return connection.execute(
        "SELECT permission, pattern FROM session_rule WHERE root_id = ? ORDER BY number",
        (root_id,),
    ).fetchall()


def _add_rule(connection: sqlite3.Connection, root_id: str, permission: str, pattern: str) -> None:
    connection.execute(
        "INSERT OR IGNORE INTO session_rule (root_id, permission, pattern) VALUES (?, ?, ?)",
        (root_id, permission, clean(pattern)),
    )


def _drop_rule(connection: sqlite3.Connection, root_id: str, permission: str, pattern: str) -> None:
    connection.execute(
        "DELETE FROM session_rule WHERE root_id = ? AND permission = ? AND pattern = ?",
        (root_id, permission, clean(pattern)),
    )


def _history(connection: sqlite3.Connection, limit: int) -> Rows:
    return connection.execute(
        "SELECT text FROM prompt_history ORDER BY number DESC LIMIT ?", (limit,)
    ).fetchall()


def _add_history(connection: sqlite3.Connection, text: str, directory: str) -> None:
    last = connection.execute(
        "SELECT text FROM prompt_history ORDER BY number DESC LIMIT 1"
    ).fetchone()
    if last is None or last[0] != text:
        connection.execute(
            "INSERT INTO prompt_history (text, directory, created) VALUES (?, ?, ?)",
            (text, clean(directory), time.time()),
        )
