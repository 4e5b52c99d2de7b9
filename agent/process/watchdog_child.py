"""Ends what a killed program left. It is a program of its own that imports nothing of the package
until then, so that it starts in some ten milliseconds.

Its standard input has a line ``MARK PID STARTED`` for each command that starts, and a line ``MARK``
once nothing of it runs any more. STARTED tells the process from a later one of the same number;
both are 0 where they are not known. At the end of the input, whatever the reason, all that still
runs is ended.
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


def follow() -> dict[str, dict[int, int]]:
    """Read to the end of the input; return what runs then, by its mark."""
    running: dict[str, dict[int, int]] = {}
    rest = b""
    while data := os.read(0, READ):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            mark, *numbers = line.decode().split(" ")
            if numbers:
                pid, started = map(int, numbers)
                running[mark] = {pid: started} if started else {}
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
