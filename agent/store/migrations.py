"""Numbered, forward-only schema migrations.

A migration is a file ``NNNN_name.sql`` in the folder ``migrations`` next to this module. ``PRAGMA
user_version`` is the number of the last one that ran. Each runs in one transaction with its own
number, so an interrupted one has no effect.
"""

import contextlib
import functools
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.records.errors import StoreTooNew

FOLDER = Path(__file__).with_suffix("")


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration: *number* is the schema version that *sql* leads to."""

    number: int
    sql: str


@functools.cache
def packaged() -> tuple[Migration, ...]:
    """Return the migrations of this program, in order."""
    return tuple(
        Migration(int(file.name[:4]), file.read_text(encoding="utf-8"))
        for file in sorted(FOLDER.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    )


def version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def migrate(
    connection: sqlite3.Connection, path: Path, migrations: Sequence[Migration] | None = None
) -> None:
    """Bring the database up to the last of *migrations* (default: those of this program).

    A database with data is copied first, to ``<name>.v<old version>``. Raises ``StoreTooNew`` for
    one of a later version, without touching it.
    """
    migrations = packaged() if migrations is None else migrations
    newest = migrations[-1].number
    found = version(connection)
    if found > newest:
        raise StoreTooNew(
            f"The session database {path} was written by a newer version of opencode-py "
            f"(its schema is {found}, this version knows {newest}). Install that version, or name "
            "another folder in OPENCODE_PY_DATA."
        )
    if 0 < found < newest:
        _back_up(connection, path.with_name(f"{path.name}.v{found}"))
    for migration in migrations:
        if migration.number > found:
            _run(connection, migration)


def _run(connection: sqlite3.Connection, migration: Migration) -> None:
    try:
        connection.executescript(
            f"BEGIN IMMEDIATE;\n{migration.sql}\nPRAGMA user_version = {migration.number};\nCOMMIT;"
        )
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _back_up(connection: sqlite3.Connection, path: Path) -> None:
    path.unlink(missing_ok=True)  # of an earlier try that was interrupted
    path.touch(mode=0o600)
    with contextlib.closing(sqlite3.connect(path)) as copy:
        connection.backup(copy)
