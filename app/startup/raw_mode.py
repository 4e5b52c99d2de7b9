"""Taking over the terminal before the user interface is imported, so that type-ahead stays intact.

A cooked terminal turns the Enter key into a line feed and echoes what is typed while the program
loads. From here on keys arrive as they were pressed, and a thread reads them as they come: what
arrives in one read was pasted, while all that waits in the terminal looks the same. However the
program ends, the terminal is restored.
"""

import contextlib
import math
import os
import select
import signal
import sys
import termios
import threading
import time
from collections import deque
from collections.abc import Generator
from types import FrameType

_modes: dict[int, list[int | list[bytes | int]]] = {}
"""The original modes of each terminal (a file descriptor) that is in raw mode."""

_readers: dict[int, "EarlyReader"] = {}
"""The reader of each terminal in raw mode that nothing else reads yet."""

READ_SIZE = 64 * 1024


class EarlyReader:
    """Reads a terminal in a thread until ``stop``."""

    def __init__(self, terminal: int) -> None:
        self.before = b""
        """What waited in the terminal: typed at any time before, or pasted."""
        self._reads: deque[tuple[float, bytes]] = deque()
        """What came since then, read by read, each with the moment (monotonic seconds)."""
        self._last = 0.0
        self._terminal = terminal
        self._stopped, self._stop = os.pipe()
        if self._readable(0.0):
            self.before = os.read(terminal, READ_SIZE)
        self._thread = threading.Thread(target=self._run, name="early input", daemon=True)
        self._thread.start()

    def next_read(self, timeout: float = math.inf) -> bytes:
        """Return the next read, or nothing if it did not come within *timeout* seconds of the one
        before. Call it after ``stop``."""
        if not self._reads or self._reads[0][0] - self._last > timeout:
            return b""
        self._last, data = self._reads.popleft()
        return data

    @property
    def has_more(self) -> bool:
        return bool(self._reads)

    def stop(self) -> None:
        """Stop reading; once stopped, a reader does not read again."""
        os.write(self._stop, b"x")
        self._thread.join()
        os.close(self._stop)
        os.close(self._stopped)

    def _run(self) -> None:
        while self._readable(None):
            try:
                data = os.read(self._terminal, READ_SIZE)
            except OSError:
                return
            if not data:  # the terminal is gone
                return
            self._reads.append((time.monotonic(), data))

    def _readable(self, timeout: float | None) -> bool:
        """Return whether the terminal can be read, False once the reader is stopped."""
        readable, _, _ = select.select([self._terminal, self._stopped], [], [], timeout)
        return self._terminal in readable and self._stopped not in readable


def take_early_reader(terminal: int) -> EarlyReader | None:
    """Return the reader of the *terminal*, stopped, so that something else can read; None if there
    is none."""
    reader = _readers.pop(terminal, None)
    if reader is not None:
        reader.stop()
    return reader


@contextlib.contextmanager
def raw_terminal(terminal: int) -> Generator[None]:
    """Keep the *terminal* (a file descriptor) in raw mode for the duration of the block."""
    try:
        before = termios.tcgetattr(terminal)
    except termios.error:  # not a terminal
        yield
        return
    _modes[terminal] = before
    raw = termios.tcgetattr(terminal)
    raw[0] &= ~termios.ICRNL
    raw[3] &= ~(termios.ECHO | termios.ICANON)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    termios.tcsetattr(terminal, termios.TCSANOW, raw)
    _readers[terminal] = EarlyReader(terminal)
    try:
        yield
    finally:
        take_early_reader(terminal)
        restore_terminal(terminal)
        del _modes[terminal]


def restore_terminal(terminal: int) -> None:
    """Restore the modes of a *terminal* in raw mode, for the time of a suspend or permanently."""
    if terminal in _modes:
        with contextlib.suppress(termios.error):  # the terminal may be gone by now
            # Not TCSADRAIN: a terminal that no longer reads would block it.
            termios.tcsetattr(terminal, termios.TCSANOW, _modes[terminal])


def _leave(number: int, frame: FrameType | None) -> None:
    """Exit through the block above, until the event loop handles the signals."""
    sys.exit(128 + number)
