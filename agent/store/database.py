"""Two connections to one SQLite file, each in its own thread.

One writes, in short transactions that wait for other processes; the other only reads, so a read
never waits for a running turn. Each call runs one function in the thread, however many statements
it has: an awaited statement costs some 250 µs, a plain one 10.
"""

import asyncio
import contextlib
import errno
import functools
import logging
import os
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import aiosqlite

from agent.config.private_file import locked
from agent.records.errors import StoreError, StoreTooNew, StoreUnavailable
from agent.records.frozen import frozen

WRITE_TIMEOUT = 60.0
"""Seconds for which a write is retried while other processes hold the lock."""

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_REFUSED = (
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_AUTH,
)

T = TypeVar("T")

# Its debug messages hold the arguments of every call: the user's texts, perhaps secrets.
logging.getLogger("aiosqlite").setLevel(logging.INFO)


class _Connection(aiosqlite.Connection):
    """An aiosqlite connection that can run a whole function in its thread."""

    def __init__(self, opened: sqlite3.Connection) -> None:
        super().__init__(lambda: opened, iter_chunk_size=64)
        # What was committed is safe whenever the process ends; a program that fails before
        # it closes the store must not hang on this thread.
        self._thread.daemon = True

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        execute = cast("Callable[..., Awaitable[T]]", self._execute)  # pyright: ignore[reportUnknownMemberType] - untyped there
        return await execute(work, self._conn)


async def _connected(opener: Callable[[], sqlite3.Connection]) -> _Connection:
    # Opened before the connection's own thread starts: one that fails to open would leave
    # that thread to end after the event loop, which prints a traceback.
    connection = _Connection(await asyncio.to_thread(opener))
    await connection
    return connection


class Database:
    """The open file. Make one with ``open``; every failure is a ``StoreError``."""

    def __init__(self, path: Path, writer: _Connection, reader: _Connection) -> None:
        self.path = path
        self._writer = writer
        self._reader = reader
        self._closed = False

    @classmethod
    async def open(cls, path: Path, notices: list[str]) -> "Database":
        """Open or create the database at *path*. A file that was set aside is reported in
        *notices*."""
        try:
            writer = await _connected(partial(open_writer, path, notices))
        except (OSError, sqlite3.Error) as error:
            raise store_error(error, path) from error
        try:
            reader = await _connected(partial(open_reader, path))
        except (OSError, sqlite3.Error) as error:
            await writer.close()
            raise store_error(error, path) from error
        return cls(path, writer, reader)

    async def write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run *work* in one write transaction. It can run more than once if the database is busy,
        and runs to its end even when the caller is canceled."""
        return await self._run(self._writer, partial(_transaction, work))

    async def read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run *work* on one consistent state of the database."""
        return await self._run(self._reader, partial(_snapshot, work))

    async def foreign_version(self) -> int:
        """Return a number that changes when another process has committed."""
        return await self._run(self._writer, _data_version)

    async def _run(self, connection: _Connection, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._closed:
            raise StoreUnavailable("The session database is closed, as the program is ending.")
        try:
            return await connection.run(work)
        except sqlite3.Error as error:
            if is_damage(error):
                mark_damaged(self.path)
            raise store_error(error, self.path) from error

    async def close(self) -> None:
        """Finish queued writes and close both connections."""
        if self._closed:
            return
        self._closed = True
        await asyncio.gather(self._reader.close(), return_exceptions=True)
        try:
            await self._writer.close()
        except sqlite3.Error as error:
            raise store_error(error, self.path) from error


def _data_version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA data_version").fetchone()[0]


def _snapshot(work: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection) -> T:
    connection.execute("BEGIN")
    try:
        return work(connection)
    finally:
        if connection.in_transaction:
            connection.execute("COMMIT")


def _transaction(work: Callable[[sqlite3.Connection], T], connection: sqlite3.Connection) -> T:
    deadline = time.monotonic() + WRITE_TIMEOUT
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
        else:
            return result


def _is_busy(error: BaseException) -> bool:
    return isinstance(error, sqlite3.Error) and _code(error) in _BUSY


def _code(error: sqlite3.Error) -> int:
    """The primary result code, 0 for an error of the Python module itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def store_error(error: OSError | sqlite3.Error, path: Path) -> StoreError:
    """Return the error as a ``StoreError`` with a sentence for the user."""
    where = f"The session database {path}"
    remedy = "or set OPENCODE_PY_DATA to a folder that you can write to."
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC:
            return StoreUnavailable(
                f"{where} cannot be written: the disk is full. Free some space."
            )
        reason = error.strerror or str(error)
        return StoreUnavailable(
            f"{where} cannot be opened: {reason}. Check its folder's permissions, {remedy}"
        )
    code = _code(error)
    if code == sqlite3.SQLITE_FULL:
        return StoreUnavailable(f"{where} cannot be written: the disk is full. Free some space.")
    if code == sqlite3.SQLITE_IOERR:
        return StoreUnavailable(
            f"{where} cannot be written or read: the disk reports an error or is full."
        )
    if code in _REFUSED:
        return StoreUnavailable(
            f"{where} cannot be written. Check the permissions of the file and its folder, {remedy}"
        )
    if code in _BUSY:
        return StoreUnavailable(
            f"{where} stays locked by another program. Close that program and try again."
        )
    if is_damage(error):
        return StoreUnavailable(
            f"{where} is damaged. Restart opencode-py: it will rename the damaged file and start a "
            "new one."
        )
    if code == sqlite3.SQLITE_CONSTRAINT:
        return StoreError("The session was deleted while it was in use, so nothing was saved.")
    return StoreError(f"{where} failed: {error}.")


# The database file before anything is read from it: created, checked, migrated, set aside if
# damaged.
#
# All of it runs under a lock on a file next to the database, so that of two processes that start
# together neither sets aside the file that the other has just created.
#
# A migration is a file ``NNNN_name.sql`` in the folder ``migrations``; they only go forward.
# ``PRAGMA user_version`` is the number of the last one that ran. Each runs in one transaction with
# its own number, so an interrupted one has no effect.

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
