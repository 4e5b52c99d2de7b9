"""Ends what a killed program left. It is a program of its own that imports nothing of the package
until then, so that it starts in some ten milliseconds.

Its standard input has a line ``MARK PID`` for each command that starts (0 while the process is not
known), and a line ``MARK`` once nothing of it runs any more. At the end of the input, whatever the
reason, all that still runs is ended.
"""

from __future__ import annotations

import os
import signal
import sys
import time

GRACE = 0.25
"""Seconds between the polite and the hard signal."""

ROUNDS = 100
"""Looks for survivors after the hard signal, 10 ms apart."""

READ = 65_536


def started(pid: int) -> dict[int, int]:
    """Return *pid* with the time when it started, which tells it from a later process of that
    number; nothing where that is not known."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except OSError:
        return {}
    return {pid: int(stat[stat.rfind(b")") + 2 :].split()[19])}


def follow() -> dict[str, dict[int, int]]:
    """Read to the end of the input; return what runs then, by its mark."""
    running: dict[str, dict[int, int]] = {}
    rest = b""
    while data := os.read(0, READ):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            mark, _, pid = line.decode().partition(" ")
            if pid:
                running[mark] = started(int(pid))
            else:
                running.pop(mark, None)
    return running


def end(running: dict[str, dict[int, int]]) -> None:
    """End the processes of all marks: TERM, a grace, KILL."""
    import site  # left out by -S

    site.main()
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from agent.process.tree import ForeignProcessTree  # nothing of it is needed before

    trees = [ForeignProcessTree(mark, seen) for mark, seen in running.items()]
    for number, pause in ((signal.SIGTERM, GRACE), *((signal.SIGKILL, 0.01),) * ROUNDS):
        alive = [tree.signal_all(number) for tree in trees]
        if not any(alive):
            return
        time.sleep(pause)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if left := follow():
        end(left)
