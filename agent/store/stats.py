"""Usage statistics, summed up in the database by day, model and project."""

import sqlite3
from collections.abc import Callable, Iterable

from agent.records.frozen import frozen
from agent.records.messages import Usage
from agent.records.spending import SpendingUnit

QUARTER = 900
"""Seconds that a row of the table covers: days begin with one, in every time zone."""

SUMS = """
SELECT date(quarter * 900, 'unixepoch', 'localtime') AS day, model, project,
       sum(steps) AS done, sum(turns), sum(input), sum(output), sum(reasoning),
       sum(cache_read), sum(cache_write),
       CASE WHEN sum(priced) > 0 THEN sum(cost) END
FROM used WHERE quarter >= ?1 AND (?2 IS NULL OR project = ?2)
GROUP BY day, model, project HAVING done > 0 ORDER BY day, model, project
"""


@frozen
class UsageRow:
    """The usage of one model in one project on one day."""

    day: str
    """``YYYY-MM-DD``, local time."""
    model: str
    project: str
    steps: int
    turns: int
    """A turn counts where its first step does."""
    usage: Usage
    cost: float | None
    """US dollars of the steps with a known cost; None without any."""


def usage_rows(
    connection: sqlite3.Connection, since: float, project: str | None
) -> tuple[UsageRow, ...]:
    """Return the usage from *since* (seconds since the epoch, to a quarter of an hour) on, of one
    project or of all."""
    rows = connection.execute(SUMS, (int(since // QUARTER), project))
    return tuple(
        UsageRow(day, model, place, steps, turns, Usage(*tokens), cost)
        for day, model, place, steps, turns, *tokens, cost in rows
    )


def spent_since(connection: sqlite3.Connection, since: float) -> dict[SpendingUnit, float]:
    """Return what was spent from *since* (seconds since the epoch, to a quarter of an hour) on."""
    tokens, cost = connection.execute(
        "SELECT coalesce(sum(tokens), 0), coalesce(sum(cost), 0) FROM spent WHERE quarter >= ?",
        (int(since // QUARTER),),
    ).fetchone()
    return {"cost": cost, "tokens": tokens}


@frozen
class UsageTotal:
    """A sum of rows under one name."""

    name: str
    steps: int = 0
    turns: int = 0
    usage: Usage = Usage()
    cost: float | None = None


def total(name: str, rows: Iterable[UsageRow]) -> UsageTotal:
    """Return the sum of *rows*."""
    given = list(rows)
    costs = [row.cost for row in given if row.cost is not None]
    return UsageTotal(
        name,
        sum(row.steps for row in given),
        sum(row.turns for row in given),
        sum((row.usage for row in given), Usage()),
        sum(costs) if costs else None,
    )


def totals(rows: Iterable[UsageRow], key: Callable[[UsageRow], str]) -> tuple[UsageTotal, ...]:
    """Return a sum for each value of *key*, in the order of the rows."""
    groups: dict[str, list[UsageRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return tuple(total(name, group) for name, group in groups.items())
