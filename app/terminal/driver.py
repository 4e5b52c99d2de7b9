"""The terminal driver: Textual's own, with a reader that passes whole reads to ``KeyParser``.

The reader sleeps until there is input; Textual's wakes ten times a second.

A terminal that does not read, for example over a broken connection, blocks nothing: no frame is
painted until it has read the earlier ones, and then the whole screen is painted.
"""

import contextlib
import os
import select
import termios
from codecs import getincrementaldecoder
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TextIO, cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._parser import ParseError
from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import Keys
from textual.message import Message

from app.startup.raw_mode import restore_terminal, take_early_reader
from app.terminal.key_parser import ASK_BACKGROUND, KeyParser, split_early

if TYPE_CHECKING:
    from queue import Queue

BURST_WAIT = 0.01
"""Seconds to wait for the rest of text pasted without markers."""

BURST_LIMIT = 4_000_000
"""Characters after which an unmarked paste is passed on in parts."""

MAX_QUEUED_WRITES = 10
"""Queued writes, one for each frame, from which on no frame is painted."""

CLOSE_TIMEOUT = 1.0
"""Seconds that the terminal has at the end to read what was painted; the rest is dropped."""

DISCARD_INTERVAL = 0.05
"""Seconds between two attempts to discard it."""

# Alt+Enter as most terminals send it. Textual has no name for it and swallows it.
ALT_ENTER: dict[str, tuple[Keys, ...]] = {"\x1b\r": (Keys.ControlJ,), "\x1b\n": (Keys.ControlJ,)}

_KEYS = cast("dict[str, object]", ANSI_SEQUENCES_KEYS)


class TerminalOutput:
    """The terminal's output file.

    Once the terminal is gone, output is dropped: Textual's writer thread would end with the error,
    and the next writer would wait forever. *drained* is called in the writer's thread when its
    queue is empty.
    """

    def __init__(self, file: TextIO, drained: Callable[[], None]) -> None:
        self._file = file
        self._drained = drained

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()
        self._drained()

    def fileno(self) -> int:
        return self._file.fileno()

    def isatty(self) -> bool:
        return self._file.isatty()


class TerminalDriver(LinuxDriver):
    """Textual's driver with the reader of this module."""

    def __init__(
        self,
        app: App[object],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)  # pyright: ignore[reportUnknownMemberType] - Textual leaves it untyped
        self._file = cast("TextIO", TerminalOutput(self._file, self._drained))
        self._frame_skipped = False
        self._wake: tuple[int, int] | None = None
        self._frame: list[str] | None = None
        self._stopping = False
        for sequence, keys in ALT_ENTER.items():
            _KEYS.setdefault(sequence, keys)

    def capture_mouse(self, *, captured: bool) -> None:
        """Capture the mouse or leave it to the terminal, also after a suspend."""
        if captured:
            self._mouse = True
            self._enable_mouse_support()
        else:
            self._disable_mouse_support()
            self._mouse = False
        self.flush()

    def start_application_mode(self) -> None:
        """Start as Textual does, also after a suspend; this starts the reader's thread."""
        self._stopping = False
        if self._wake is None:
            self._wake = os.pipe()
        super().start_application_mode()  # pyright: ignore[reportUnknownMemberType] - Textual leaves it untyped
        if (queued := self._queued_writes()) is not None:
            queued.maxsize = 0  # only frames can be skipped
        self.write(ASK_BACKGROUND)
        self.flush()

    def suspend_application_mode(self) -> None:
        """Suspend as Textual does, and restore the shell's terminal modes: those that Textual found
        were set by ``app.startup.raw_mode``."""
        super().suspend_application_mode()
        restore_terminal(self.fileno)

    def disable_input(self) -> None:
        """Disable input as Textual does, after telling the reader to end (Textual sets its own flag
        too late for that)."""
        self._stopping = True
        if self._wake is not None:
            os.write(self._wake[1], b"x")
        super().disable_input()

    def can_paint(self) -> bool:
        """Return whether the terminal keeps up. If not, the whole screen is painted once it has
        read the queued writes."""
        queued = self._queued_writes()
        if queued is None or queued.qsize() < MAX_QUEUED_WRITES:
            return True
        self._frame_skipped = True
        return queued.empty()  # drained meanwhile: nothing would trigger the repaint

    @contextlib.contextmanager
    def one_write(self) -> Generator[None]:
        """Write at the end, at once, what is written within: the writer's thread wakes up once."""
        parts: list[str] = []
        self._frame = parts
        try:
            yield
        finally:
            self._frame = None
            if parts:
                super().write("".join(parts))

    def write(self, data: str) -> None:
        if self._frame is None:
            super().write(data)
        else:
            self._frame.append(data)

    def _drained(self) -> None:
        if self._frame_skipped:
            self._frame_skipped = False
            self._loop.call_soon_threadsafe(lambda: self._app.refresh(layout=True))

    def _queued_writes(self) -> "Queue[str | None] | None":
        """Return the queue of writes, for which Textual has no accessor."""
        writer = self._writer_thread
        return None if writer is None else writer._queue  # pyright: ignore[reportPrivateUsage] - see above

    def close(self) -> None:
        """Close as Textual does, at the end and before a suspend, but wait for the terminal only
        for a limited time: unread output is discarded until the sequences that restore the terminal
        are written."""
        writer, queued = self._writer_thread, self._queued_writes()
        if writer is not None and queued is not None:
            queued.put(None)
            writer.join(CLOSE_TIMEOUT)
            while writer.is_alive():
                _discard_output(self._file.fileno())
                writer.join(DISCARD_INTERVAL)
        super().close()
        if self._wake is not None:
            for end in self._wake:
                os.close(end)
            self._wake = None

    def run_input_thread(self) -> None:
        """Read until ``disable_input``; runs in its own thread."""
        parser = KeyParser()
        decode = getincrementaldecoder("utf-8")("surrogateescape").decode
        try:
            if (early := take_early_reader(self.fileno)) is not None:
                for typed in split_early(decode(early.before)):
                    self._post(parser.feed(typed))
                while early.has_more:
                    self._take(parser, decode(early.next_read()), early.next_read, decode)
            while not self._stopping:
                self._take(parser, decode(self._read(parser.timeout)), self._read, decode)
        finally:
            with contextlib.suppress(EOFError, ParseError):
                parser.close()

    def _take(
        self,
        parser: KeyParser,
        data: str,
        read: Callable[[float], bytes],
        decode: Callable[[bytes], str],
    ) -> None:
        """Post what *data* means, one read, with the rest of an unmarked paste that *read*
        returns."""
        while len(data) < BURST_LIMIT and parser.expects_more(data):
            more = decode(read(BURST_WAIT))
            if not more:
                break
            if more in "\r\n":  # the Enter key, pressed right after the paste
                self._post(parser.feed(data))
                data = more
                break
            data += more
        self._post(parser.feed(data))
        self._post(parser.tick())

    def _post(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def _read(self, timeout: float | None) -> bytes:
        """Return one read, or nothing when *timeout* seconds passed or the reader was woken."""
        wake = [] if self._wake is None else [self._wake[0]]
        readable, _, _ = select.select([self.fileno, *wake], [], [], timeout)
        if self._stopping:
            return b""
        if self.fileno not in readable:
            return b""
        data = os.read(self.fileno, 64 * 1024)
        if not data:  # the terminal is gone
            self._stopping = True
        return data


def _discard_output(terminal: int) -> None:
    """Discard what a *terminal* (a descriptor) has not read; release blocked writers."""
    with contextlib.suppress(termios.error):
        termios.tcflush(terminal, termios.TCOFLUSH)
        termios.tcflow(terminal, termios.TCOOFF)  # Linux wakes writers only when this ends
        termios.tcflow(terminal, termios.TCOON)


def can_paint(app: App[int]) -> bool:
    """Return whether a frame can be painted now (see ``TerminalDriver.can_paint``)."""
    driver = _driver_of(app)
    return not isinstance(driver, TerminalDriver) or driver.can_paint()


def one_write(app: App[int]) -> AbstractContextManager[None]:
    """Return a context that writes to the terminal at once what is written within."""
    driver = _driver_of(app)
    return driver.one_write() if isinstance(driver, TerminalDriver) else contextlib.nullcontext()


def capture_mouse(app: App[int], *, captured: bool) -> None:
    """Capture the mouse or leave it to the terminal, if the app runs in one."""
    if isinstance(driver := _driver_of(app), TerminalDriver):
        driver.capture_mouse(captured=captured)


def tmux_passthrough(sequence: str) -> str:
    """Return *sequence* wrapped for the terminal around tmux."""
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"


def write_sequence(app: App[int], sequence: str) -> None:
    """Write *sequence* to the terminal, in between Textual's own output."""
    if (driver := _driver_of(app)) is not None:
        driver.write(sequence)
        driver.flush()


def _driver_of(app: App[int]) -> Driver | None:
    return app._driver  # pyright: ignore[reportPrivateUsage] - Textual has no accessor
