"""Takes the terminal before the user interface is imported, so that type-ahead stays whole.

A cooked terminal turns the Enter key into a line feed and echoes what is typed while the
program loads. From here on keys arrive as they were pressed, and however the program ends,
the terminal is as it was.
"""

import contextlib
import signal
import sys
import termios
from collections.abc import Generator
from types import FrameType

_modes: dict[int, list[int | list[bytes | int]]] = {}
"""The modes that a terminal (a file descriptor) had before it was held."""


@contextlib.contextmanager
def raw_terminal(terminal: int) -> Generator[None]:
    """Hold the *terminal* (a file descriptor) for the time of the block."""
    try:
        before = termios.tcgetattr(terminal)
    except termios.error:  # no terminal that can be set
        yield
        return
    _modes[terminal] = before
    held = termios.tcgetattr(terminal)
    held[0] &= ~termios.ICRNL
    held[3] &= ~(termios.ECHO | termios.ICANON)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _leave)
    termios.tcsetattr(terminal, termios.TCSANOW, held)
    try:
        yield
    finally:
        restore_terminal(terminal)
        del _modes[terminal]


def restore_terminal(terminal: int) -> None:
    """Give a *terminal* that is held back as it was, for the time of a suspend or for good."""
    if terminal in _modes:
        with contextlib.suppress(termios.error):  # the terminal may be gone by now
            # Not after what waits was read (TCSADRAIN): a terminal may not read any more.
            termios.tcsetattr(terminal, termios.TCSANOW, _modes[terminal])


def _leave(number: int, frame: FrameType | None) -> None:
    """Until the event loop takes the signals: unwind, so that the block above ends."""
    del frame
    sys.exit(128 + number)
