"""The spending of all sessions, and the caps that the user set."""

import sqlite3
from collections.abc import Iterable

from agent.records.spending import SpendingUnit
from agent.store.stats import QUARTER

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
