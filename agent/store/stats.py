"""What was used, summed up in the database: by day, model and project (spec 7, D6)."""

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agent.model import Usage

_SUMS = """
WITH place AS MATERIALIZED (SELECT id, json_extract(data, '$.project') AS project FROM session)
SELECT date(message.created, 'unixepoch', 'localtime') AS day,
       json_extract(message.data, '$.model') AS model,
       place.project AS project,
       count(*), count(DISTINCT message.session_id), count(DISTINCT message.turn_id),
       sum(coalesce(json_extract(message.data, '$.usage.input'), 0)),
       sum(coalesce(json_extract(message.data, '$.usage.output'), 0)),
       sum(coalesce(json_extract(message.data, '$.usage.reasoning'), 0)),
       sum(coalesce(json_extract(message.data, '$.usage.cache_read'), 0)),
       sum(coalesce(json_extract(message.data, '$.usage.cache_write'), 0)),
       sum(json_extract(message.data, '$.cost'))
FROM message JOIN place ON place.id = message.session_id
WHERE message.role = 'assistant' AND message.created >= ?1
      AND (?2 IS NULL OR place.project = ?2)
GROUP BY day, model, project ORDER BY day, model, project
"""


@dataclass(frozen=True, slots=True)
class Used:
    """The use of one model in one project on one day (``YYYY-MM-DD``, local time). *cost* in US
    dollars is of the steps whose cost is known, None where none is. A session counts once a
    row, so sums of *sessions* and *turns* over rows are upper bounds."""

    day: str
    model: str
    project: str
    steps: int
    sessions: int
    turns: int
    usage: Usage
    cost: float | None


def used(connection: sqlite3.Connection, since: float, project: str | None) -> tuple[Used, ...]:
    """What was used from *since* (seconds since the epoch) on, of one project or of all."""
    rows = connection.execute(_SUMS, (since, project))
    return tuple(
        Used(day, model, place, steps, sessions, turns, Usage(*tokens), cost)
        for day, model, place, steps, sessions, turns, *tokens, cost in rows
    )


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of rows under one name."""

    name: str
    steps: int = 0
    turns: int = 0
    usage: Usage = Usage()  # noqa: RUF009 - frozen
    cost: float | None = None


def total(name: str, rows: Iterable[Used]) -> Total:
    """The sum of *rows*."""
    given = list(rows)
    costs = [row.cost for row in given if row.cost is not None]
    return Total(
        name,
        sum(row.steps for row in given),
        sum(row.turns for row in given),
        sum((row.usage for row in given), Usage()),
        sum(costs) if costs else None,
    )


def totals(rows: Iterable[Used], key: Callable[[Used], str]) -> tuple[Total, ...]:
    """A sum for each value of *key*, in the order of the rows."""
    groups: dict[str, list[Used]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return tuple(total(name, group) for name, group in groups.items())
