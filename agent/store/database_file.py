"""The database file before anything is read from it: created, checked, migrated, set aside if
damaged.

All of it runs under a lock on a file next to the database, so that of two processes that start
together neither sets aside the file that the other has just created.

A migration is a file ``NNNN_name.sql`` in the folder ``migrations``; they only go forward. ``PRAGMA
user_version`` is the number of the last one that ran. Each runs in one transaction with its own
number, so an interrupted one has no effect.
"""

import contextlib
import functools
import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from agent.config.private_file import locked
from agent.records.errors import StoreTooNew
from agent.records.frozen import frozen

MIGRATIONS = Path(__file__).with_name("migrations")


@frozen
class Migration:
    """One migration: *number* is the schema version that *sql* leads to."""

    number: int
    sql: str


@functools.cache
def packaged_migrations() -> tuple[Migration, ...]:
    """Return the migrations of this program, in order."""
    return tuple(
        Migration(int(file.name[:4]), file.read_text(encoding="utf-8"))
        for file in sorted(MIGRATIONS.glob("[0-9][0-9][0-9][0-9]_*.sql"))
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
    migrations = packaged_migrations() if migrations is None else migrations
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


MAX_FULLY_CHECKED = 32 * 1024 * 1024
"""Bytes up to which the whole file is checked at every start (some 0.5 ms per MiB). A larger one is
checked when an earlier session met damage and left a mark."""

BUSY_TIMEOUT = 5_000
"""Milliseconds for which SQLite waits for another process's lock."""

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether *error* says that the file's content is broken."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED


def mark_damaged(path: Path) -> None:
    """Leave a mark that makes the next start check the whole file."""
    with contextlib.suppress(OSError):
        _mark(path).touch(mode=0o600)


def _mark(path: Path) -> Path:
    return path.with_name(f"{path.name}.check")


def open_writer(path: Path, notices: list[str]) -> sqlite3.Connection:
    """Open the connection that writes, on an intact file with this program's schema.

    A damaged file is renamed, with its companions, and reported in *notices*. Raises ``OSError``,
    ``sqlite3.Error`` or ``StoreTooNew``.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with locked(path.with_name(f"{path.name}.lock")):
        connection = _open_intact(path, notices)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA journal_size_limit = 67108864")
            connection.execute("PRAGMA temp_store = MEMORY")
            migrate(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open a second connection, only for reading: it never waits for a write."""
    connection = _connect(path)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _connect(path: Path) -> sqlite3.Connection:
    # Made in one thread and used in another, never in two at once.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT}")
    return connection


def _open_intact(path: Path, notices: list[str]) -> sqlite3.Connection:
    if path.exists() and path.stat().st_size == 0:
        # SQLite would drop a log that belongs to an empty file: keep both.
        notices.append(_set_aside(path, "was empty"))
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    connection = _connect(path)
    try:
        damaged = not _is_whole(connection, path)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            connection.close()
            raise
        damaged = True
    if not damaged:
        return connection
    # Renamed before it is closed, as closing can write the log back into the file.
    notices.append(_set_aside(path, "was damaged"))
    connection.close()
    return _open_intact(path, notices)


def _is_whole(connection: sqlite3.Connection, path: Path) -> bool:
    tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    mark = _mark(path)
    if path.stat().st_size <= MAX_FULLY_CHECKED or mark.exists():
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        mark.unlink(missing_ok=True)
        return found == "ok"
    for (name,) in tables:
        connection.execute(f'SELECT 1 FROM "{name}" LIMIT 1').fetchone()  # our schema
    return True


def _set_aside(path: Path, reason: str) -> str:
    """Rename the file and its companions; return the sentence for the user."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    kept = path.with_name(f"{path.name}.damaged-{stamp}")
    count = 1
    while kept.exists():
        count += 1
        kept = path.with_name(f"{path.name}.damaged-{stamp}-{count}")
    for suffix in ("-wal", "-shm", ""):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(kept.with_name(kept.name + suffix))
    return (
        f"The session database {reason}, so a new one was started. The old file is kept as {kept}."
    )
