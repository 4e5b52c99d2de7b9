"""Small tables: goals, the origins of lines of memory files, comments of reviews that are not sent
yet, and spending with its caps."""

import dataclasses
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from agent.records.goals import Goal
from agent.records.json import encodable
from agent.records.memory import MemoryOrigin
from agent.records.review_comment import ReviewComment
from agent.records.spending import SpendingUnit
from agent.store.stats import QUARTER

Stored = TypeVar("Stored", Goal, ReviewComment)


def _known(kind: type[Stored], stored: dict[str, Any]) -> Stored:
    """Return *stored* as a record. A newer version can have stored more fields."""
    names = {field.name for field in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in stored.items() if name in names})


def goal(connection: sqlite3.Connection, session_id: str) -> Goal | None:
    row = connection.execute("SELECT data FROM goal WHERE session_id = ?", (session_id,)).fetchone()
    return _known(Goal, json.loads(row[0])) if row is not None else None


def save_goal(connection: sqlite3.Connection, session_id: str, goal: Goal) -> None:
    data = encodable(json.dumps(dataclasses.asdict(goal), ensure_ascii=False))
    connection.execute(
        "INSERT OR REPLACE INTO goal (session_id, data) SELECT ?1, ?2 "
        "WHERE EXISTS (SELECT 1 FROM session WHERE id = ?1)",
        (session_id, data),
    )


def origins(connection: sqlite3.Connection, file: str) -> dict[str, MemoryOrigin]:
    """Return the origins of the lines of *file* (its absolute path), by their text."""
    rows = connection.execute(
        "SELECT line, source, created, session_id, edited FROM memory_line WHERE file = ?",
        (encodable(file),),
    )
    return {
        line: MemoryOrigin(source, created, session_id, bool(edited))
        for line, source, created, session_id, edited in rows
    }


def save_origins(
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


def draft(connection: sqlite3.Connection, scope: str, title: str) -> tuple[ReviewComment, ...]:
    """Return the comments on the changes *title* of *scope*, a folder or a session."""
    row = connection.execute(
        "SELECT comments FROM review_draft WHERE scope = ? AND title = ?",
        (encodable(scope), encodable(title)),
    ).fetchone()
    found = [_known(ReviewComment, each) for each in json.loads(row[0])] if row is not None else []
    return tuple(dataclasses.replace(each, quoted=tuple(each.quoted)) for each in found)


def save_draft(
    connection: sqlite3.Connection, scope: str, title: str, comments: Sequence[ReviewComment]
) -> None:
    """Replace the comments on the changes *title* of *scope*."""
    key = (encodable(scope), encodable(title))
    if not comments:
        connection.execute("DELETE FROM review_draft WHERE scope = ? AND title = ?", key)
        return
    data = json.dumps([dataclasses.asdict(each) for each in comments], ensure_ascii=False)
    connection.execute(
        "INSERT OR REPLACE INTO review_draft (scope, title, comments) VALUES (?, ?, ?)",
        (*key, encodable(data)),
    )


StoredCaps = dict[tuple[str, SpendingUnit], float | None]
"""Amounts by scope (a session or a day) and unit; None for no cap."""


def spent_since(connection: sqlite3.Connection, since: float) -> dict[SpendingUnit, float]:
    """Return what was spent from *since* (seconds since the epoch, to a quarter of an hour) on."""
    tokens, cost = connection.execute(
        "SELECT coalesce(sum(tokens), 0), coalesce(sum(cost), 0) FROM spent WHERE quarter >= ?",
        (int(since // QUARTER),),
    ).fetchone()
    return {"cost": cost, "tokens": tokens}


def caps(connection: sqlite3.Connection, scopes: Iterable[str]) -> StoredCaps:
    """Return the caps that were set for *scopes*."""
    return {
        (scope, unit): amount
        for scope in scopes
        for unit, amount in connection.execute(
            "SELECT unit, amount FROM spending_cap WHERE scope = ?", (scope,)
        )
    }


def save_cap(
    connection: sqlite3.Connection, scope: str, unit: SpendingUnit, amount: float | None
) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO spending_cap (scope, unit, amount) VALUES (?, ?, ?)",
        (scope, unit, amount),
    )
