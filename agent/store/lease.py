"""Leases: the process that runs a turn in a session.

An owner is a process, distinguished from a later one with the same number by its start time. Where
that can be read (Linux), an owner lives as long as its process does, even stopped; elsewhere, and
for owners on another machine or in another container, as long as its heartbeat is fresh.
"""

import asyncio
import contextlib
import functools
import logging
import os
import sqlite3
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from agent.records.errors import StoreError
from agent.records.frozen import frozen
from agent.store.database import Database

HEARTBEAT = 5.0
"""Seconds between two heartbeats of a held lease."""

STALE = 4 * HEARTBEAT
"""Seconds after which an owner that can only be judged by its heartbeat counts as dead."""

log = logging.getLogger(__name__)


@frozen
class Lease:
    """One lease of a session."""

    session_id: str
    token: str
    """Identifies one open store."""
    pid: int
    started: str
    """The start time of the process; "" where it cannot be read."""
    machine: str
    heartbeat: float
    """Seconds since the epoch."""

    def is_alive(self, now: float) -> bool:
        """Return whether the owner still runs."""
        fresh = now - self.heartbeat < STALE
        if self.machine != machine():
            return fresh
        if self.started:
            return process_start(self.pid) == self.started
        return fresh and process_exists(self.pid)


@functools.cache
def machine() -> str:
    """Return an id of this boot and process-number space: pids are comparable only within one."""
    parts = [os.uname().nodename]
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        parts += [boot.strip(), str(Path("/proc/self/ns/pid").readlink())]
    return " ".join(parts)


def process_start(pid: int) -> str:
    """Return the start time of a running process in clock ticks since boot; "" if it has ended or
    the time cannot be read."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return ""
    # Fields 3 (state) and 22 (start time) of proc(5), counted after the name in brackets.
    return "" if fields[0] in b"ZX" else fields[19].decode()


def process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


_SELECT = "SELECT session_id, owner, pid, started, machine, heartbeat FROM lease"


def read_lease(connection: sqlite3.Connection, session_id: str) -> Lease | None:
    row = connection.execute(f"{_SELECT} WHERE session_id = ?", (session_id,)).fetchone()
    return Lease(*row) if row is not None else None


def read_leases(connection: sqlite3.Connection) -> list[Lease]:
    return [Lease(*row) for row in connection.execute(_SELECT)]


def _acquire(connection: sqlite3.Connection, lease: Lease) -> bool:
    present = read_lease(connection, lease.session_id)
    if present is not None and present.token != lease.token and present.is_alive(lease.heartbeat):
        return False
    connection.execute(
        "INSERT OR REPLACE INTO lease (session_id, owner, pid, started, machine, heartbeat) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (
            lease.session_id,
            lease.token,
            lease.pid,
            lease.started,
            lease.machine,
            lease.heartbeat,
        ),
    )
    return True


def _release(connection: sqlite3.Connection, token: str, session_ids: Iterable[str]) -> None:
    connection.executemany(
        "DELETE FROM lease WHERE session_id = ? AND owner = ?",
        [(session_id, token) for session_id in session_ids],
    )


def _beat(connection: sqlite3.Connection, token: str, now: float) -> int:
    return connection.execute(
        "UPDATE lease SET heartbeat = ? WHERE owner = ?", (now, token)
    ).rowcount


class Leases:
    """The leases of one open store, kept alive while there are any."""

    def __init__(self, database: Database, token: str) -> None:
        self._database = database
        self._token = token
        self._beating: asyncio.Task[None] | None = None
        self.held: set[str] = set()

    async def acquire(self, session_id: str) -> bool:
        """Take the lease; false while another living process has it. A canceled call takes no
        lease that the store did not have before."""
        pid = os.getpid()
        lease = Lease(session_id, self._token, pid, process_start(pid), machine(), time.time())
        try:
            taken = await self._database.write(partial(_acquire, lease=lease))
        except asyncio.CancelledError:
            # The database still carries the write out, so the lease has to be released.
            if session_id not in self.held:
                await self._give_back((session_id,))
            raise
        if not taken:
            return False
        self.held.add(session_id)
        if self._beating is None or self._beating.done():
            self._beating = asyncio.create_task(self._beat(), name="store heartbeat")
        return True

    async def release(self, session_id: str) -> None:
        """Release the lease, if it is held."""
        if session_id not in self.held:
            return
        self.held.discard(session_id)
        if not self.held:
            self._stop()
        await self._give_back((session_id,))

    async def close(self) -> None:
        """Release every lease."""
        self._stop()
        held, self.held = self.held, set()
        if held:
            await self._give_back(held)

    async def _give_back(self, session_ids: Iterable[str]) -> None:
        await self._database.write(partial(_release, token=self._token, session_ids=session_ids))

    def _stop(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None

    async def _beat(self) -> None:
        while self.held:
            await asyncio.sleep(HEARTBEAT)
            try:
                kept = await self._database.write(
                    partial(_beat, token=self._token, now=time.time())
                )
            except StoreError as error:
                log.warning("the heartbeat of %d sessions failed: %s", len(self.held), error)
                continue
            if kept < len(self.held):
                log.warning(
                    "%d of %d leases were taken over", len(self.held) - kept, len(self.held)
                )
