"""Has what runs ended if this program is killed.

A program ends its commands itself (``kill_all``), unless it is killed, by ``kill -9`` or for want
of memory. So the first command also starts a process that reads from a pipe what runs
(``watchdog_child.py``). Only this program has the other end: when that closes, whatever closed it,
what still runs is ended.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

from agent.process.tree import MARKER, start_of

CHILD_SCRIPT = Path(__file__).with_name("watchdog_child.py")


class Watchdog:
    """The near end of the pipe, and the marks of what runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, str] = {}
        """The line that reports a mark, by the mark."""
        self._pipe = -1
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def watch(self, mark: str, pid: int = 0) -> None:
        """Have all processes with *mark* ended if this program is killed, and the process *pid*, a
        child of this one, whatever its environment is."""
        with self._lock:
            # Its start is read now: when the line is read, the number can be another process's.
            self._running[mark] = f"{mark} {pid} {start_of(pid) or 0}\n"
            if not self._tell(self._running[mark]):
                self._start()

    def forget(self, mark: str) -> None:
        """Nothing with *mark* runs any more."""
        with self._lock:
            if self._running.pop(mark, None) is None or self._pipe < 0:
                return
            if not self._tell(f"{mark}\n") and self._running:
                self._start()

    def _tell(self, lines: str) -> bool:
        """Send *lines*; false if nobody reads them."""
        if self._pipe < 0 or self._owner != os.getpid():
            return False
        try:
            os.write(self._pipe, lines.encode())
        except OSError:  # the process was ended, or is stopped and the pipe is full
            self._stop()
        return self._pipe >= 0

    def _stop(self) -> None:
        """End the process without ending what it watches, then close the pipe: at its end, a
        process that still lives would end all."""
        if self._process is not None and self._owner == os.getpid():
            self._process.kill()
            self._process.wait()
        if self._pipe >= 0:  # a fork has a copy, which would keep the parent's pipe open
            os.close(self._pipe)
        self._pipe, self._process = -1, None

    def _start(self) -> None:
        self._stop()
        try:
            reading, writing = os.pipe()
        except OSError:  # the next command tries again
            return
        try:
            self._process = subprocess.Popen(
                (sys.executable, "-I", "-S", str(CHILD_SCRIPT)),
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                # The program can be a command of another one.
                env={name: value for name, value in os.environ.items() if name != MARKER},
                start_new_session=True,
            )
        except OSError:  # as above
            os.close(writing)
            return
        finally:
            os.close(reading)
        os.set_blocking(writing, False)
        self._pipe, self._owner = writing, os.getpid()
        self._tell("".join(self._running.values()))


_watchdog = Watchdog()
watch = _watchdog.watch
forget = _watchdog.forget
