"""The terminal driver: Textual's own, with a reader that knows where one read ends.

Three things can only be told from the bytes as they came, and get lost once they are keys:

- a lone Esc, when the next key follows in a read of its own (spec trial KEY-ENCODING);
- text pasted into a terminal without bracketed paste: line breaks inside one read (TUI-PASTE);
- bytes that are not UTF-8: old mouse reports, line noise (INPUT-BYTES).

The reader sleeps until there is input; Textual's wakes ten times a second.

A terminal that does not read, as over a line that is cut, holds nobody up either: no frame is
painted until it has read those before, and then the whole screen is.
"""

import contextlib
import os
import select
import termios
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TextIO, cast

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._parser import ParseError, Read1
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.keys import Keys
from textual.message import Message

from app.startup.raw_mode import restore_terminal
from app.toolkit.osc_replies import ASK_BACKGROUND, REPLY_TIMEOUT, TerminalReplies

if TYPE_CHECKING:
    from queue import Queue

ESCAPE_WAIT = 0.05
"""Seconds that the rest of an escape sequence may take (lone Esc acts in 0.1 s)."""

BURST_WAIT = 0.01
"""Seconds to wait for the rest of text pasted without markers."""

BURST_LIMIT = 4_000_000
"""Characters after which an unmarked paste is handed on in parts."""

MAX_QUEUED_WRITES = 30
"""Writes that wait for the terminal, three of them a frame, from which on none is painted: where
Textual would hold up the event loop, and whatever it works on with it."""

CLOSE_TIMEOUT = 1.0
"""Seconds that the terminal has at the end to read what was painted; the rest is dropped."""

# Alt+Enter as most terminals send it. Textual has no name for it and swallows it.
ALT_ENTER: dict[str, tuple[Keys, ...]] = {"\x1b\r": (Keys.ControlJ,), "\x1b\n": (Keys.ControlJ,)}

_KEYS = cast("dict[str, object]", ANSI_SEQUENCES_KEYS)


def split_unmarked_paste(data: str) -> tuple[str, str] | None:
    """Split *data*, one read, into pasted text and the keys after it; None if it was typed.

    Nobody types a line break amid text within one read. A last carriage return after lines
    that were broken by line feeds is the Enter key, and so is a first one: over a slow line it
    comes with what was typed after it.
    """
    if "\x1b" in data:
        return None
    body = data.rstrip("\r\n")
    inner = body.lstrip("\r\n")
    if "\n" not in body and "\r" not in body.lstrip("\r"):
        return None
    if not inner or any(ord(char) < 32 and char not in "\t\r\n" for char in inner):
        return None
    if data.endswith("\r") and "\r" not in body:
        return data[:-1], "\r"
    return data, ""


class KeyParser(XTermParser):
    """Textual's parser, told about reads: feed it one read at a time."""

    @staticmethod
    def read1(timeout: float | None = None) -> Read1:  # pyright: ignore[reportIncompatibleVariableOverride] - a static method there too
        """Textual's own wait for the rest of a sequence is 0.1 s: too long for a lone Esc."""
        return Read1(None if timeout is None else ESCAPE_WAIT)

    def __init__(self) -> None:
        super().__init__()
        self._lone_escape = False
        self._tail = ""
        self.in_paste = False

    @property
    def waiting(self) -> bool:
        """Whether an escape sequence has begun and not ended."""
        return self._awaiting.timeout is not None

    def feed(self, data: str) -> Iterator[Message]:
        """The messages of one read. An Esc that ended the read before was a key of its own,
        unless a sequence goes on here."""
        if data and self._lone_escape and data[0] not in "[O":
            self._timeout_time = 0.0
            yield from self.tick()
        self._lone_escape = False
        paste = split_unmarked_paste(data) if not (self.in_paste or self.waiting) else None
        if paste is not None:
            pasted, data = paste
            yield events.Paste(_without_surrogates(pasted))
        if not data:
            return
        yield from self._keys(super().feed(data))
        self._note(data)

    def close(self) -> None:
        """Read to the end: what is half a sequence becomes keys nobody gets."""
        for _ in super().feed(""):
            pass

    def _note(self, data: str) -> None:
        recent = self._tail + data
        if (start := recent.rfind(BRACKETED_PASTE_START)) >= 0:
            self.in_paste = recent.rfind(BRACKETED_PASTE_END) < start
        elif BRACKETED_PASTE_END in recent:
            self.in_paste = False
        self._tail = recent[-(len(BRACKETED_PASTE_START) - 1) :]
        self._lone_escape = data.endswith("\x1b") and self.waiting and not self.in_paste

    def _keys(self, messages: Iterable[Message]) -> Iterator[Message]:
        for message in messages:
            if isinstance(message, events.Paste):
                yield events.Paste(_without_surrogates(message.text))
            elif not isinstance(message, events.Key):
                yield message
            elif message.key.endswith("+\r"):
                # xterm's modifyOtherKeys form of shift+enter
                yield events.Key(message.key[:-1] + "enter", None)
            elif not (message.character and "\ud800" <= message.character <= "\udfff"):
                yield message


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "ignore").decode("utf-8")


class TerminalOutput:
    """What is written to the terminal, through *file*. Once the terminal is gone, what comes is
    dropped: Textual's writer would end at the fault, and whoever writes next waits for ever.
    *drained* is called in the writer's thread when nothing waits any more."""

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
        self._frame_owed = False
        self._wake: tuple[int, int] | None = None
        self._ending = False
        self._replies = TerminalReplies()
        for sequence, keys in ALT_ENTER.items():
            _KEYS.setdefault(sequence, keys)

    def capture_mouse(self, *, captured: bool) -> None:
        """Let clicks come here, or leave them to the terminal; also after a suspend."""
        if captured:
            self._mouse = True
            self._enable_mouse_support()
        else:
            self._disable_mouse_support()
            self._mouse = False
        self.flush()

    def start_application_mode(self) -> None:
        """Textual's, at the start and after a suspend; it starts the reader's thread."""
        self._ending = False
        if self._wake is None:
            self._wake = os.pipe()
        super().start_application_mode()  # pyright: ignore[reportUnknownMemberType] - Textual leaves it untyped
        if (waiting := self._waiting()) is not None:
            waiting.maxsize = 0  # only frames can be left out
        self.write(ASK_BACKGROUND)
        self.flush()

    def suspend_application_mode(self) -> None:
        """Textual's. The modes it found at the start were those of ``early``, not the shell's."""
        super().suspend_application_mode()
        restore_terminal(self.fileno)

    def disable_input(self) -> None:
        """Textual's, after telling the reader to end (its own flag is set too late for that)."""
        self._ending = True
        if self._wake is not None:
            os.write(self._wake[1], b"x")
        super().disable_input()

    def can_paint(self) -> bool:
        """Whether the terminal keeps up. Where it does not, a frame is owed to it, and the whole
        screen is painted once it has read what waits."""
        waiting = self._waiting()
        if waiting is None or waiting.qsize() < MAX_QUEUED_WRITES:
            return True
        self._frame_owed = True
        return waiting.empty()  # by now: then nobody would come to pay

    def _drained(self) -> None:
        if self._frame_owed:
            self._frame_owed = False
            self._loop.call_soon_threadsafe(lambda: self._app.refresh(layout=True))

    def _waiting(self) -> "Queue[str | None] | None":
        """What is to be written; Textual has no call for it."""
        writer = self._writer_thread
        return None if writer is None else writer._queue  # pyright: ignore[reportPrivateUsage] - see above

    def close(self) -> None:
        """Textual's, at the end and before a suspend. It waits for the terminal, here not for
        ever: what is not read is taken back, until what gives the terminal back has gone out."""
        writer, waiting = self._writer_thread, self._waiting()
        if writer is not None and waiting is not None:
            waiting.put(None)
            writer.join(CLOSE_TIMEOUT)
            while writer.is_alive():
                _take_back(self._file.fileno())
                writer.join(ESCAPE_WAIT)
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
            # What was typed while the terminal was still cooked has its Enter as a line feed.
            self._hand_on(parser.feed(decode(self._read(0)).replace("\n", "\r")))
            while not self._ending:
                data = decode(self._read(self._patience(parser)))
                if not data and not parser.waiting:
                    self._replies.give_up()
                data = data if parser.in_paste else self._without_replies(data)
                while data and len(data) < BURST_LIMIT and split_unmarked_paste(data) is not None:
                    more = decode(self._read(BURST_WAIT))
                    if not more:
                        break
                    if more in "\r\n":  # the Enter key, pressed right after the paste
                        self._hand_on(parser.feed(data))
                        data = more
                        break
                    data += more
                self._hand_on(parser.feed(data))
                self._hand_on(parser.tick())
        finally:
            with contextlib.suppress(EOFError, ParseError):
                parser.close()

    def _patience(self, parser: KeyParser) -> float | None:
        """Seconds to wait for more of what has begun, None where nothing has."""
        if parser.waiting:
            return ESCAPE_WAIT
        return REPLY_TIMEOUT if self._replies.waiting else None

    def _without_replies(self, data: str) -> str:
        rest, found = self._replies.extract(data)
        self._hand_on(found)
        return rest

    def _hand_on(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def _read(self, timeout: float | None) -> bytes:
        """One read, or nothing when *timeout* seconds passed or the reader was woken."""
        wake = [] if self._wake is None else [self._wake[0]]
        ready, _, _ = select.select([self.fileno, *wake], [], [], timeout)
        if self._ending:
            return b""
        if self.fileno not in ready:
            return b""
        data = os.read(self.fileno, 64 * 1024)
        if not data:  # the terminal is gone
            self._ending = True
        return data


def _take_back(terminal: int) -> None:
    """Drop what a *terminal* (a file descriptor) has not read, and let go who waits for room."""
    with contextlib.suppress(termios.error):
        termios.tcflush(terminal, termios.TCOFLUSH)
        termios.tcflow(terminal, termios.TCOOFF)  # Linux wakes writers only when this ends
        termios.tcflow(terminal, termios.TCOON)


def can_paint(app: App[int]) -> bool:
    """Whether a frame may be painted now (see ``TerminalDriver.takes_frame``)."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage] - Textual has no call for it
    return not isinstance(driver, TerminalDriver) or driver.can_paint()


def capture_mouse(app: App[int], *, captured: bool) -> None:
    """Take the mouse or leave it to the terminal, where the app runs in one."""
    driver = app._driver  # pyright: ignore[reportPrivateUsage] - Textual has no call for it
    if isinstance(driver, TerminalDriver):
        driver.capture_mouse(captured=captured)
