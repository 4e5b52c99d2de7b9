"""The program with a watchdog on its event loop: ``python bench/watched_app.py REPORT``.

SIGUSR1 begins a measurement; SIGUSR2 writes the CPU seconds of the longest task since then.
"""

import signal
import sys
import time
from asyncio.events import Handle
from pathlib import Path

import opencode_py


def watch(report: Path) -> None:
    run, longest = Handle._run, 0.0

    def timed(handle: Handle) -> None:
        nonlocal longest
        before = time.thread_time()
        run(handle)
        longest = max(longest, time.thread_time() - before)

    def begin(*_: object) -> None:
        nonlocal longest
        longest = 0.0

    Handle._run = timed
    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, lambda *_: report.write_text(str(longest)))


if __name__ == "__main__":
    watch(Path(sys.argv.pop(1)))
    sys.exit(opencode_py.main())
