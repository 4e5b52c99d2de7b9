"""The program with a watchdog on its event loop: ``python bench/watched_app.py REPORT``.

SIGUSR1 begins a measurement; SIGUSR2 writes the CPU seconds of the longest task since then, and its
name.
"""

import json
import signal
import sys
import time
from asyncio import Task
from asyncio.events import Handle
from pathlib import Path

import opencode_py


def watch(report: Path) -> None:
    run, longest = Handle._run, (0.0, "")

    def timed(handle: Handle) -> None:
        nonlocal longest
        called = handle._callback
        before = time.thread_time()
        run(handle)
        if (took := time.thread_time() - before) > longest[0]:
            owner = getattr(called, "__self__", None)
            name = owner.get_name() if isinstance(owner, Task) else called.__qualname__
            longest = took, name

    def begin(*_: object) -> None:
        nonlocal longest
        longest = 0.0, ""

    Handle._run = timed
    signal.signal(signal.SIGUSR1, begin)
    signal.signal(signal.SIGUSR2, lambda *_: report.write_text(json.dumps(longest)))


if __name__ == "__main__":
    watch(Path(sys.argv.pop(1)))
    sys.exit(opencode_py.main())
