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

from agent.process.tree import MARKER

CHILD_SCRIPT = Path(__file__).with_name("watchdog_child.py")


class Watchdog:
    """The near end of the pipe, and the marks of what runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, int] = {}
        self._pipe = -1
        self._owner = 0

    def watch(self, mark: str, pid: int = 0) -> None:
        """Have all processes with *mark* ended if this program is killed, and the process *pid*
        whatever its environment is."""
        with self._lock:
            self._running[mark] = pid
            if not self._tell(f"{mark} {pid}\n"):
                self._start()

    def forget(self, mark: str) -> None:
        """Nothing with *mark* runs any more."""
        with self._lock:
            if self._running.pop(mark, None) is not None:
                self._tell(f"{mark}\n")

    def _tell(self, lines: str) -> bool:
        """Send *lines*; false if nobody reads them."""
        if self._pipe < 0 or self._owner != os.getpid():
            return False
        try:
            os.write(self._pipe, lines.encode())
        except BlockingIOError:  # the process is stopped; closed, the pipe would have all ended
            self._pipe = -1
        except OSError:  # the process was ended
            os.close(self._pipe)
            self._pipe = -1
        return self._pipe >= 0

    def _start(self) -> None:
        reading, writing = os.pipe()
        try:
            subprocess.Popen(
                (sys.executable, "-I", "-S", str(CHILD_SCRIPT)),
                stdin=reading,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                # The program can be a command of another one.
                env={name: value for name, value in os.environ.items() if name != MARKER},
                start_new_session=True,
            )
        except OSError:  # the next command tries again
            os.close(writing)
            return
        finally:
            os.close(reading)
        os.set_blocking(writing, False)
        self._pipe, self._owner = writing, os.getpid()
        self._tell("".join(f"{mark} {pid}\n" for mark, pid in self._running.items()))


_watchdog = Watchdog()
watch = _watchdog.watch
forget = _watchdog.forget
