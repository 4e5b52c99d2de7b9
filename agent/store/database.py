"""Two connections to one SQLite file, each in its own thread.

One writes, in short transactions that wait for other processes; the other only reads, so a read
never waits for a running turn. Each call runs one function in the thread, however many statements
it has: an awaited statement costs some 250 µs, a plain one 10.
"""

import asyncio
import contextlib
import errno
import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import aiosqlite

from agent.records.errors import StoreError, StoreUnavailable
from agent.store.database_file import is_damage, mark_damaged, open_reader, open_writer

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
