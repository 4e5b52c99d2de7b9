"""The processes that a call started, including those that left its session.

Each call runs in its own session and carries ``OPENCODE_PY_CALL=<id>`` in its environment.
On Linux this program is made a *child subreaper*: orphans of a call become our
descendants, so a process that left the session (setsid, double fork) is found by its marker
among our own descendants. Elsewhere (macOS) orphans go to the first process of the system, so all
processes are looked at, with psutil. One kind of process is missed: one that left the session *and*
cleared its environment *and* lost its parent before it was first seen.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from agent.records.frozen import frozen

MARKER = "OPENCODE_PY_CALL"
LINUX = sys.platform == "linux"
SANDBOX_KEEPER = b"sandbox keeper\n"
"""The name of a process that removes what a sandbox left (``restrict_and_exec.py``)."""
SUPERVISOR_END = 1.0
"""Seconds that the first process of a sandbox has to follow bubblewrap."""
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


@lru_cache(maxsize=1)
def become_subreaper() -> bool:
    """Adopt orphans of our children from now on. False where the system can't."""
    if not LINUX:
        return False
    import ctypes  # needed once, when the first command runs

    return ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


@frozen
class ProcessInfo:
    """A line of the process table."""

    pid: int
    parent: int
    session: int
    started: int
    """In clock ticks, mostly since boot; distinguishes two processes that had the same *pid*."""
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


def start_of(pid: int) -> int | None:
    """Return when a process started, as in ``ProcessInfo``; None where that is not known."""
    info = _info(pid) if LINUX and pid else None
    return info.started if info is not None else None


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
    if not LINUX:
        return list(_from_psutil())
    names = os.listdir("/proc")  # as above
    return [info for name in names if name.isdigit() and (info := _info(int(name))) is not None]


def _from_psutil() -> Iterator[ProcessInfo]:
    """Yield the processes of a system without ``/proc``."""
    import psutil  # only there

    for process in psutil.process_iter(["ppid", "create_time", "status"]):
        facts, session = process.info, 0
        with contextlib.suppress(OSError):
            session = os.getsid(process.pid)
        yield ProcessInfo(
            pid=process.pid,
            parent=facts["ppid"] or 0,
            session=session,
            started=int((facts["create_time"] or 0) * 100),
            zombie=facts["status"] == psutil.STATUS_ZOMBIE,
        )


def _has_marker(pid: int, marker: bytes) -> bool:
    if not LINUX:
        import psutil  # only there

        name, _, value = marker.decode().partition("=")
        try:
            return psutil.Process(pid).environ().get(name) == value
        except (psutil.Error, OSError):
            return False
    try:
        return marker in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _is_first(pid: int) -> bool:
    """Return whether *pid* is the first process of a namespace inside ours."""
    try:
        status = Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return False
    _, _, rest = status.partition(b"\nNSpid:")
    numbers = rest.partition(b"\n")[0].split()
    return len(numbers) > 1 and numbers[-1] == b"1"


def reap_sandboxes() -> None:
    """Reap what sandboxes left to us: their first processes, and those that cleaned up."""
    if not LINUX:
        return
    for info in descendants():
        if info.zombie and info.parent == os.getpid() and _is_of_sandbox(info.pid):
            with contextlib.suppress(ChildProcessError):
                os.waitpid(info.pid, os.WNOHANG)


def _is_of_sandbox(pid: int) -> bool:
    try:
        name = Path(f"/proc/{pid}/comm").read_bytes()
    except OSError:
        return False
    return name == SANDBOX_KEEPER or _is_first(pid)


class ProcessTree:
    """The processes of one call. *session* is the pid of its shell, which leads the session.

    If the call is *supervised*, that is the program of a sandbox instead, whose end is the end of
    all: it gets no polite signal.
    """

    def __init__(self, call_id: str, session: int, *, supervised: bool = False) -> None:
        self._marker = f"{MARKER}={call_id}".encode()
        self._session = session
        self._supervised = supervised
        self._seen: dict[int, int] = {}
        self.shell_reaped = False

    def scan(self) -> list[ProcessInfo]:
        """Return the live processes of the call, the shell included; dead orphans are reaped.

        Walks the process table, so call it in a thread.
        """
        if not LINUX:
            return self._scan_all()
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

    def _scan_all(self) -> list[ProcessInfo]:
        """Return the live processes of the call, wherever in the process table they are."""
        every = [info for info in _all_processes() if info.pid != os.getpid()]
        members = {info.pid for info in every if self._carries(info)}
        grew = True
        while grew:
            below = {info.pid for info in every if info.parent in members} - members
            members |= below
            grew = bool(below)
        found = [info for info in every if info.pid in members and not info.zombie]
        self._seen.update((info.pid, info.started) for info in found)
        return found

    def _carries(self, info: ProcessInfo) -> bool:
        """Return whether *info* is of the call, whatever its parent is."""
        return (
            info.session == self._session
            or self._seen.get(info.pid) == info.started
            or (info.parent == 1 and _has_marker(info.pid, self._marker))
        )

    def has_leftovers(self) -> bool:
        """Return whether any process except the shell still lives."""
        alive = self.scan()
        if self._supervised:
            # The first process of the sandbox ends after bubblewrap, unless others still live.
            deadline = time.monotonic() + SUPERVISOR_END
            while len(alive) == 1 and alive[0].pid != self._session and _is_first(alive[0].pid):
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.001)
                alive = self.scan()
            reap_sandboxes()
        return any(info.pid != self._session for info in alive)

    def signal_group(self, number: signal.Signals) -> None:
        """Signal the shell's group; at once, without a look at the process table."""
        if self.shell_reaped:
            return  # The number may be another's by now; members are signaled one by one.
        if self._supervised and number != signal.SIGKILL:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._session, number)

    def signal_all(self, number: signal.Signals) -> bool:
        """Signal everything that lives; false when nothing does."""
        self.signal_group(number)
        alive = self.scan()
        for info in alive:
            if self._supervised and info.pid == self._session and number != signal.SIGKILL:
                continue
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(info.pid, number)
        return bool(alive)


class ForeignProcessTree(ProcessTree):
    """The processes of a call that another program started, on the whole machine: those with its
    marker, those *seen* before (pids, with when they started), and what came of all these."""

    def __init__(self, call_id: str, seen: Mapping[int, int] = MappingProxyType({})) -> None:
        super().__init__(call_id, session=-1)
        self._seen.update(seen)
        self.shell_reaped = True  # there is no group of ours, only processes with the marker

    def scan(self) -> list[ProcessInfo]:
        return self._scan_all()

    def _carries(self, info: ProcessInfo) -> bool:
        return self._seen.get(info.pid) == info.started or _has_marker(info.pid, self._marker)
