"""The goals of sessions."""

import dataclasses
import json
import sqlite3

from agent.records.goals import Goal
from agent.records.json import encodable

_FIELDS = frozenset(field.name for field in dataclasses.fields(Goal))


def goal(connection: sqlite3.Connection, session_id: str) -> Goal | None:
    row = connection.execute("SELECT data FROM goal WHERE session_id = ?", (session_id,)).fetchone()
    if row is None:
        return None
    # A newer version can have stored more.
    return Goal(**{name: value for name, value in json.loads(row[0]).items() if name in _FIELDS})


def save_goal(connection: sqlite3.Connection, session_id: str, goal: Goal) -> None:
    data = encodable(json.dumps(dataclasses.asdict(goal), ensure_ascii=False))
    connection.execute(
        "INSERT OR REPLACE INTO goal (session_id, data) SELECT ?1, ?2 "
        "WHERE EXISTS (SELECT 1 FROM session WHERE id = ?1)",
        (session_id, data),
    )
