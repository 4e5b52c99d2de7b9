"""The output of a command, captured in bounded memory.

Bytes are decoded as they arrive (invalid UTF-8 becomes U+FFFD), text that a carriage
return overwrote is dropped, and the end is kept in a ring. Once the output passes the
limits, all of it is written to a spill file. ``feed`` and ``tail`` are quick and belong to
the event loop; ``flush``, ``finish`` and ``discard`` write files and belong to a thread.
"""

import codecs
import re
import threading
from collections import deque

from agent.process.spill import SpillFile, SpillStore, SpillWriter
from agent.records.frozen import frozen
from agent.records.patterns import lazy_pattern

PENDING = 16 * 1024
"""Characters of an unfinished line that are held back; more is passed on as it is."""

FLUSH = 1024 * 1024
"""Bytes that wait in memory before they are worth a write."""

TAIL = 4096
"""Characters of the live tail."""

_ESCAPE = lazy_pattern(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*(?:[@-~]|\Z)"
    r"|(?:\x1b[]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b(?:[ -/]*[0-~])?"
)
"""Terminal sequences, also one whose end is still to come."""

_INTRODUCER = lazy_pattern("[\x1b\x90\x98\x9b\x9d-\x9f]")
_LINE_AGAIN = lazy_pattern(r"\x1b\[(?:[01]?G|[12]K)")
"""Sequences that act like a carriage return: go to the first column, or erase the line."""

_HOME = r"\x1b\[(?:1?(?:;1?)?)?[Hf]"
_CLEAR = lazy_pattern(
    rf"(?:{_HOME})?(?:\x1b\[[23]J|\x1bc|{_HOME}\x1b\[0?J|\x1b\[\?(?:1049|1047|47)[hl])"
    rf"(?:\x1b\[[0-3]?J|{_HOME}|\x1bc)*"
)
"""Sequences that clear the screen or switch to another: watchers do so before each run."""

_ONLY_CODES = lazy_pattern(r"\r(?:\x1b(?:\[[0-?]*[@-~]?)?)+\Z")
"""A line that nothing has overwritten yet: the codes can still become one of ``_CLEAR``."""

_CONTROL = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def strip_terminal_codes(text: str) -> str:
    """*text* without terminal sequences and control characters, line ends and tabs kept."""
    if _INTRODUCER.search(text):
        text = _ESCAPE.sub("", text)
    if "\x08" in text:
        text = _struck_out(text)
    return _CONTROL.sub("", text)


def _struck_out(text: str) -> str:
    """*text* after its backspaces, each of which takes a character of the same line with it."""
    kept: list[str] = []
    for char in text:
        if char != "\x08":
            kept.append(char)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)


def _end_line_at_clear(text: str) -> str:
    """Return *text* with a line end in place of the codes that clear the screen: what was printed
    before them stays, and nothing after them overwrites it."""

    def line_end(found: re.Match[str]) -> str:
        at = found.start()
        return "" if at == 0 or text[at - 1] == "\n" else "\n"

    return _CLEAR.sub(line_end, text)


def _last_overwrite(line: str) -> str:
    """Return *line* as a terminal shows it after its carriage returns."""
    return line.rstrip("\r").rpartition("\r")[2]


@frozen
class CapturedOutput:
    """The output of a command that has ended."""

    text: str
    """The whole output if *complete*, else its end."""
    lines: int
    """Lines of the whole output."""
    size: int
    """Bytes of the whole output."""
    complete: bool
    spill: SpillFile | None = None
    """The file with the whole output; None if it was not needed or could not be written."""
    spill_error: str = ""
    """The reason why the spill file could not be written."""


@frozen
class NewOutput:
    """The output since the last call. An unfinished line is returned again once it is finished."""

    text: str
    lost_characters: int = 0


class Capture:
    """Collects one output. It spills once it passes *max_lines* or *max_bytes*."""

    def __init__(self, spills: SpillStore, *, max_lines: int, max_bytes: int) -> None:
        self._spills = spills
        self._max_lines = max_lines
        self._max_bytes = max_bytes
        self._ring_size = max(4 * max_bytes, 16 * TAIL)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self._ring: deque[str] = deque()
        self._ring_chars = 0
        self._kept_chars = 0
        self._taken_chars = 0
        self._taken_line: str = ""
        self._newlines = 0
        self._size = 0
        self._ends_line = True
        self._waiting = bytearray()
        self._over = False
        self._writer: SpillWriter | None = None
        self._error = ""
        self._writing = threading.Lock()

    def feed(self, data: bytes) -> None:
        """Add *data* as it was read."""
        self._accept(self._decoder.decode(data))

    def _accept(self, text: str) -> None:
        text = self._pending + text
        if "\x1b" in text:
            text = _end_line_at_clear(text)
            text = _LINE_AGAIN.sub("\r", text)
        end = text.rfind("\n") + 1
        if end:
            self._keep(text[:end])
        rest = text[end:]
        if "\r" in rest and not _ONLY_CODES.search(rest):
            rest = _last_overwrite(rest) + ("\r" if rest.endswith("\r") else "")
        if len(rest) > PENDING:
            keep_back = rest.endswith("\r")
            self._keep(rest.removesuffix("\r"))
            rest = "\r" if keep_back else ""
        self._pending = rest

    def _keep(self, text: str) -> None:
        if "\r" in text:
            text = "\n".join([_last_overwrite(line) for line in text.split("\n")])
        if not text:
            return
        data = text.encode("utf-8", "replace")
        self._newlines += text.count("\n")
        self._size += len(data)
        self._ends_line = text.endswith("\n")
        self._ring.append(text)
        self._ring_chars += len(text)
        self._kept_chars += len(text)
        while self._ring_chars - len(self._ring[0]) >= self._ring_size:
            self._ring_chars -= len(self._ring.popleft())
        self._over = self._over or self._newlines > self._max_lines or self._size > self._max_bytes
        if not self._error:
            self._waiting += data

    @property
    def due(self) -> bool:
        """True if enough output waits to be flushed."""
        return self._over and len(self._waiting) >= FLUSH

    def flush(self) -> None:
        """Write what waits to the spill file. A full disk ends the spilling, nothing else."""
        with self._writing:
            self._flush()

    def _flush(self) -> None:
        waiting, self._waiting = bytes(self._waiting), bytearray()
        if self._error:
            return
        try:
            if self._writer is None:
                self._writer = self._spills.open()
            self._writer.write(waiting)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._error = error.strerror or str(error)
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.discard()

    def tail(self) -> str:
        """The last characters so far, as a screen can show them."""
        parts = [self._pending.rstrip("\r")]
        missing = TAIL - len(parts[0])
        for text in reversed(self._ring):
            if missing <= 0:
                break
            parts.append(text[-missing:])
            missing -= len(text)
        text = "".join(reversed(parts))
        if missing <= 0:  # the cut can be within a sequence, which a line feed ends
            text = text[-TAIL:].partition("\n")[2] or text[-TAIL:]
        return strip_terminal_codes(text)

    @property
    def lines(self) -> int:
        """Lines so far."""
        return self._newlines + (not self._ends_line or bool(self._pending))

    @property
    def place(self) -> int:
        """The number of characters so far, without an unfinished line."""
        return self._kept_chars

    def since(self, place: int) -> tuple[str, int]:
        """Return the output from *place* on as far as it is kept, with an unfinished line at its
        end, and the place after the finished lines."""
        new = self._kept_chars - place
        held = "".join(self._ring)[-new:] if new else ""
        return strip_terminal_codes(held + self._pending.rstrip("\r")), self._kept_chars

    def take_new(self) -> NewOutput:
        """Return the output since this was called last, as a terminal would show it."""
        line = self._pending.rstrip("\r")
        new = self._kept_chars - self._taken_chars
        if not new and line == self._taken_line:
            return NewOutput("")
        held = "".join(self._ring)[-new:] if new else ""
        self._taken_chars, self._taken_line = self._kept_chars, line
        return NewOutput(strip_terminal_codes(held + line), max(0, new - len(held)))

    def finish(self) -> CapturedOutput:
        """End the output and close its spill file."""
        self._accept(self._decoder.decode(b"", final=True))
        self._keep(self._pending.rstrip("\r"))
        self._pending = ""
        spill = self._close_spill() if self._over else None
        return CapturedOutput(
            text=strip_terminal_codes("".join(self._ring)),
            lines=self._newlines + (not self._ends_line),
            size=self._size,
            complete=not self._over,
            spill=spill,
            spill_error=self._error,
        )

    def _close_spill(self) -> SpillFile | None:
        with self._writing:
            self._flush()
            if self._writer is None:
                return None
            try:
                return SpillFile(str(self._writer.close()), self._writer.omitted)
            except OSError as error:
                self._fail(error)
                return None

    def discard(self) -> None:
        """Give up: the call was canceled, its file is removed."""
        with self._writing:
            writer, self._writer = self._writer, None
            if writer is not None:
                writer.discard()
