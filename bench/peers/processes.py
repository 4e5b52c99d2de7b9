"""CPU and memory of a program and all its descendants, from /proc."""

import contextlib
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
MARK = "BENCH_RUN"
"""The variable that identifies processes which left their parents (daemons)."""


def family(root: int, mark: str) -> list[int]:
    """Return *root*, its descendants, and every process with *mark* in its environment."""
    children: dict[int, list[int]] = {}
    for pid in _pids():
        if (told := _stat(pid)) is not None:
            children.setdefault(int(told[1]), []).append(pid)
    found, left = [], [root]
    while left:
        found.append(pid := left.pop())
        left += children.get(pid, [])
    return [*found, *(pid for pid in _marked(mark) if pid not in found)]


def cpu(pids: Iterable[int]) -> float:
    """Return the user and system seconds of *pids* and of the children they have waited for."""
    told = filter(None, map(_stat, pids))
    return sum(int(ticks) for stat in told for ticks in stat[11:15]) / TICK


def resident_memory(pids: Iterable[int]) -> float:
    """Return the memory of *pids* in MiB; shared memory counts for each."""
    pages = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * PAGE / 2**20


def end(root: int, mark: str) -> None:
    """End the family of *root*: SIGTERM first, then SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for pid in family(root, mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        until = time.monotonic() + 2
        while time.monotonic() < until and any(_stat(pid) for pid in family(root, mark)):
            time.sleep(0.05)


def _stat(pid: int) -> list[str] | None:
    """Return the fields from the state on, None for a process that is gone."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = told[told.rindex(")") + 2 :].split()
    return None if fields[0] == "Z" else fields


def _marked(mark: str) -> Iterator[int]:
    wanted = f"{MARK}={mark}".encode()
    for pid in _pids():
        with contextlib.suppress(OSError):
            if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                yield pid


def _pids() -> list[int]:
    return [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]
