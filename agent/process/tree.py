"""The processes that a call started, including those that left its session.

Each call runs in its own session and carries ``OPENCODE_PY_CALL=<id>`` in its environment.
On Linux this program is made a *child subreaper*: orphans of a call become our
descendants, so a process that left the session (setsid, double fork) is found by its marker
among our own descendants. One kind of process is missed: one that left the session *and*
cleared its environment *and* lost its parent before it was first seen. On other systems only
the process group is ended.
"""

import contextlib
import os
import signal
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

MARKER = "OPENCODE_PY_CALL"
LINUX = sys.platform == "linux"
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


@lru_cache(maxsize=1)
def become_subreaper() -> bool:
    """Adopt orphans of our children from now on. False where the system can't."""
    if not LINUX:
        return False
    import ctypes  # needed once, when the first command runs

    return ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


@dataclass(frozen=True, slots=True)
class ProcessInfo:
    """A line of the process table."""

    pid: int
    parent: int
    session: int
    started: int
    """In clock ticks since boot; distinguishes two processes that had the same *pid*."""
    zombie: bool


def _info(pid: int) -> ProcessInfo | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The program's name is in parentheses and can contain anything, parentheses too.
    fields = stat[stat.rfind(b")") + 2 :].split()
    if len(fields) < 20:
        return None
    return ProcessInfo(
        pid=pid,
        parent=int(fields[1]),
        session=int(fields[3]),
        started=int(fields[19]),
        zombie=fields[0] in {b"Z", b"X"},
    )


def descendants() -> list[ProcessInfo]:
    """All descendants of this process, parents before their children (Linux)."""
    children: dict[int, list[ProcessInfo]] = {}
    for name in os.listdir("/proc"):  # a thousand Path objects are not needed
        if name.isdigit() and (info := _info(int(name))) is not None:
            children.setdefault(info.parent, []).append(info)
    found: list[ProcessInfo] = []
    waiting = [os.getpid()]
    while waiting:
        below = children.pop(waiting.pop(), [])
        found.extend(below)
        waiting.extend(info.pid for info in below)
    return found


def _all_processes() -> list[ProcessInfo]:
    names = os.listdir("/proc")  # as above
    return [info for name in names if name.isdigit() and (info := _info(int(name))) is not None]


def _has_marker(pid: int, marker: bytes) -> bool:
    try:
        return marker in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


class ProcessTree:
    """The processes of one call. *session* is the pid of its shell, which leads the session."""

    def __init__(self, call_id: str, session: int) -> None:
        self._marker = f"{MARKER}={call_id}".encode()
        self._session = session
        self._seen: dict[int, int] = {}
        self.shell_reaped = False

    def scan(self) -> list[ProcessInfo]:
        """Return the live processes of the call, the shell included; dead orphans are reaped.

        Walks the process table, so call it in a thread. Empty elsewhere than on Linux.
        """
        if not LINUX:
            return []
        members: set[int] = set()
        alive: list[ProcessInfo] = []
        for info in descendants():
            if not (
                info.session == self._session
                or info.parent in members
                or self._seen.get(info.pid) == info.started
                or _has_marker(info.pid, self._marker)
            ):
                continue
            members.add(info.pid)
            self._seen[info.pid] = info.started
            if not info.zombie:
                alive.append(info)
            elif info.parent == os.getpid() and info.pid != self._session:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(info.pid, os.WNOHANG)
        return alive

    def has_leftovers(self) -> bool:
        """Return whether any process except the shell still lives."""
        return any(info.pid != self._session for info in self.scan())

    def signal_group(self, number: signal.Signals) -> None:
        """Signal the shell's group; at once, without a look at the process table."""
        if LINUX and self.shell_reaped:
            return  # The number may be another's by now; members are signaled one by one.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._session, number)

    def signal_all(self, number: signal.Signals) -> bool:
        """Signal everything that lives; false when nothing does."""
        self.signal_group(number)
        if not LINUX:
            return self._group_lives()
        alive = self.scan()
        for info in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(info.pid, number)
        return bool(alive)

    def _group_lives(self) -> bool:
        try:
            os.killpg(self._session, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


class ForeignProcessTree(ProcessTree):
    """The processes of a call that another program started: those with its marker, and what
    came of those, on the whole machine (Linux; elsewhere nothing is found)."""

    def __init__(self, call_id: str) -> None:
        super().__init__(call_id, session=-1)
        self.shell_reaped = True  # there is no group of ours, only processes with the marker

    def scan(self) -> list[ProcessInfo]:
        if not LINUX:
            return []
        every = _all_processes()
        members = {info.pid for info in every if self._carries(info)}
        grew = True
        while grew:
            below = {info.pid for info in every if info.parent in members} - members
            members |= below
            grew = bool(below)
        found = [info for info in every if info.pid in members and not info.zombie]
        self._seen.update((info.pid, info.started) for info in found)
        return found

    def signal_all(self, number: signal.Signals) -> bool:
        return super().signal_all(number) if LINUX else False

    def _carries(self, info: ProcessInfo) -> bool:
        return self._seen.get(info.pid) == info.started or _has_marker(info.pid, self._marker)
