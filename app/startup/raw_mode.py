"""Taking over the terminal before the user interface is imported, so that type-ahead stays intact.

A cooked terminal turns the Enter key into a line feed and echoes what is typed while the program
loads. From here on keys arrive as they were pressed. However the program ends, the terminal is
restored.
"""

import contextlib
import signal
import sys
import termios
from collections.abc import Generator
from types import FrameType

_modes: dict[int, list[int | list[bytes | int]]] = {}
"""The original modes of each terminal (a file descriptor) that is in raw mode."""


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
    try:
        yield
    finally:
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
