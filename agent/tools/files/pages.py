"""Read one page of a text file as a stream: the cost is that of the page, not of the file."""

import codecs
import hashlib
import os
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from agent.files import FileStamp, detect, is_binary
from agent.files.disk import open_regular
from agent.files.text import SAMPLE, WINDOW, Encoding, next_encoding
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.tools.core.truncate import head_of
from agent.tools.files.media import describe_kind, is_binary_kind

MAX_LINES = 2_000
MAX_BYTES = 50 * 1024
"""The limits of one page."""

MIN_PART = 2_000
"""Bytes that the start of a line has to have to be worth showing at the end of a page."""

MAX_COUNTED = 16 * 1024 * 1024
"""Bytes of the largest file that is read to its end, for its number of lines and its digest."""

CHUNK = 64 * 1024

_LONE_CR = re.compile(r"\r(?!\n)")


@frozen
class CutLine:
    """The line at the end of a page that is longer than the page."""

    number: int
    start: int
    """The number of the first character that is shown, from 1."""

    end: int
    """The number of the last one."""

    length: int | None
    """The characters of the whole line, None if unknown."""


@frozen
class Page:
    """Some lines of a text file."""

    lines: tuple[str, ...]
    """The lines without their endings."""

    first: int
    """The number of the first line, from 1."""

    total: int | None
    """The number of lines of the file, None if unknown."""

    more: bool
    """The file continues after the page."""

    column: int
    """The number of the character at which the first line begins, from 1."""

    cut: CutLine | None
    """The last line, if it is shown only in part."""

    encoding: str
    """The encoding if it is not UTF-8, else ""."""

    size: int
    mtime_ns: int
    digest: str | None
    """The digest of the whole file, None if only a part was read."""


@frozen
class Wanted:
    """The lines to read: at most *limit* from the line *offset* on, there from the character
    *column* on. Both count from 1."""

    offset: int
    limit: int
    column: int = 1


def read_head(path: str) -> tuple[bytes, int]:
    """Return the first bytes and the size of the regular file at *path*, links resolved. Blocks."""
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(SAMPLE) or b"", os.fstat(file.fileno()).st_size


def read_page(path: str, shown: str, wanted: Wanted, stop: threading.Event) -> Page:
    """Return the *wanted* lines of the regular file at *path* (links resolved). Blocks.

    Raises ``OSError``, and ``ToolError`` for binary content or a place beyond the end.
    *stop* ends a long scan early with ``ToolError``.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        info = os.fstat(file.fileno())
        sample = file.read(SAMPLE) or b""
        if is_binary(sample[:8_192]) or is_binary_kind(sample):
            raise ToolError(
                f"{shown} is a binary file ({describe_kind(sample)}, {info.st_size:,} bytes) and "
                "is not shown as text."
            )
        encoding = detect(sample, complete=len(sample) < SAMPLE)
        while True:
            source = _Source(file, encoding, stop, old_ends=b"\n" not in sample)
            scan = _Scan(wanted)
            try:
                end = _feed(scan, source, whole=info.st_size <= MAX_COUNTED)
                break
            except UnicodeDecodeError:
                file.seek(max(0, source.failed_at - WINDOW))
                encoding = next_encoding(encoding, file.read(2 * WINDOW))
    _check_offset(scan, shown, end=end)
    return _page(scan, encoding, info, source.digest.hexdigest() if end else None, end=end)


def page_of(text: str, shown: str, wanted: Wanted, stamp: FileStamp) -> Page:
    """Return a page of *text*, which was made from a file with *stamp*."""
    scan = _Scan(wanted)
    scan.feed(text)
    scan.finish()
    _check_offset(scan, shown, end=True)
    return Page(
        lines=tuple(scan.lines),
        first=wanted.offset,
        total=scan.number,
        more=scan.has_more,
        column=wanted.column,
        cut=scan.cut,
        encoding="",
        size=stamp.size,
        mtime_ns=stamp.mtime_ns,
        digest=stamp.digest,
    )


def _feed(scan: "_Scan", source: "_Source", *, whole: bool) -> bool:
    """Read lines until the page is full, or to the end if *whole*. Return whether the end was
    reached."""
    for piece in source.pieces():
        scan.feed(piece)
        if scan.is_satisfied and not whole:
            scan.close_partial()
            return False
    scan.finish()
    return True


def _check_offset(scan: "_Scan", shown: str, *, end: bool) -> None:
    wanted = scan.wanted
    if end and 0 < scan.number < wanted.offset:
        raise ToolError(
            f"{shown} has {scan.number:,} {'line' if scan.number == 1 else 'lines'}; offset "
            f"{wanted.offset:,} is beyond the end."
        )
    if scan.beyond is not None:
        raise ToolError(
            f"Line {wanted.offset:,} of {shown} has {scan.beyond:,} characters; column "
            f"{wanted.column:,} is beyond its end."
        )


def _page(
    scan: "_Scan", encoding: Encoding, info: os.stat_result, digest: str | None, *, end: bool
) -> Page:
    named = "" if encoding.name == "utf-8" and encoding.errors == "strict" else encoding.name
    return Page(
        lines=tuple(scan.lines),
        first=scan.wanted.offset,
        total=scan.number if end else None,
        more=not end or scan.has_more,
        column=scan.wanted.column,
        cut=scan.cut,
        encoding=named,
        size=info.st_size,
        mtime_ns=info.st_mtime_ns,
        digest=digest,
    )


class _Source:
    """The text of *file* in pieces, from its start, and the digest of what was read.

    With *old_ends* lines end in a lone CR, as in files without any LF.
    """

    def __init__(
        self, file: BinaryIO, encoding: Encoding, stop: threading.Event, *, old_ends: bool
    ) -> None:
        self._file = file
        self._stop = stop
        self._bom = len(encoding.bom)
        # A stray byte in UTF-8 shows as U+FFFD; in other encodings the guess was wrong.
        errors = "replace" if encoding.errors == "surrogateescape" else encoding.errors
        self._decoder = codecs.getincrementaldecoder(encoding.name)(errors)
        self._old_ends = old_ends
        self.digest = hashlib.sha256()
        self.failed_at = 0

    def pieces(self) -> Iterator[str]:
        """Yield the pieces. Raises ``UnicodeDecodeError``, with its place in *failed_at*."""
        self._file.seek(0)
        place = 0
        while chunk := self._file.read(CHUNK if place else SAMPLE):
            if self._stop.is_set():
                raise ToolError("The read was canceled.")
            self.digest.update(chunk)
            yield self._decode(chunk if place else chunk[self._bom :], place or self._bom)
            place += len(chunk)
        yield self._decode(b"", place, final=True)

    def _decode(self, data: bytes, place: int, *, final: bool = False) -> str:
        held = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            self.failed_at = place - held + error.start
            raise
        return _LONE_CR.sub("\n", text) if self._old_ends else text


@dataclass(slots=True)
class _Scan:
    """Collects the requested lines from pieces of text; only the kept part of a line is stored."""

    wanted: Wanted
    lines: list[str] = field(default_factory=list[str])
    number: int = 0
    cut: CutLine | None = None
    full: bool = False
    beyond: int | None = None
    """The characters of the first line, if the wanted column is beyond its end."""
    _line: str = ""
    _length: int = 0
    _last: str = ""
    _bytes: int = 0

    def feed(self, piece: str) -> None:
        start = 0
        while True:
            end = piece.find("\n", start)
            if end < 0:
                self._extend(piece, start, len(piece))
                return
            if self.full or self.number + 1 < self.wanted.offset:
                # Lines outside the page are counted at once.
                left = self.wanted.offset - 1 - self.number if not self.full else None
                start = self._skip(piece, start, left)
                continue
            self._extend(piece, start, end)
            self._close()
            start = end + 1

    def finish(self) -> None:
        if self._length:
            self._close()

    @property
    def is_satisfied(self) -> bool:
        """Return whether the page is full, or will be at the end of the current line."""
        on_page = self.number + 1 >= self.wanted.offset
        return self.full or (on_page and len(self._line) > MAX_BYTES)

    def close_partial(self) -> None:
        """End the scan, in the middle of a line or not."""
        if not self.full:
            self._close(whole=False)

    @property
    def has_more(self) -> bool:
        """Return whether there is text after the kept lines."""
        return self.cut is not None or self.number > self.wanted.offset + len(self.lines) - 1

    def _skip(self, piece: str, start: int, wanted: int | None) -> int:
        """Skip lines from *start*, at most *wanted* or all, and return where they end."""
        rest = piece.count("\n", start)
        if wanted is None or rest <= wanted:
            self.number += rest
            self._reset()
            return piece.rfind("\n") + 1
        for _ in range(wanted):
            start = piece.find("\n", start) + 1
        self.number += wanted
        self._reset()
        return start

    def _skipped(self, number: int) -> int:
        """Return the characters before the wanted ones in a line."""
        return self.wanted.column - 1 if number == self.wanted.offset else 0

    def _extend(self, piece: str, start: int, end: int) -> None:
        begin = start + max(0, self._skipped(self.number + 1) - self._length)
        self._length += end - start
        self._last = piece[end - 1 : end] or self._last
        room = MAX_BYTES + 2 - len(self._line)
        if room > 0 and begin < end:
            self._line += piece[begin : min(end, begin + room)]

    def _reset(self) -> None:
        self._line, self._length, self._last = "", 0, ""

    def _close(self, *, whole: bool = True) -> None:
        """Complete a line: keep what belongs to the page and fits. *whole* is false if the line
        continues."""
        self.number += 1
        line, length, last = self._line, self._length, self._last
        self._reset()
        if self.full or self.number < self.wanted.offset:
            return
        if len(self.lines) >= self.wanted.limit:
            self.full = True
            return
        skipped = self._skipped(self.number)
        if whole and last == "\r":
            length -= 1
            line = line[: max(0, length - skipped)]
        if skipped and skipped >= length:
            self.beyond, self.full = length, True
            return
        prefix = len(str(self.number)) + 3
        room = MAX_BYTES - self._bytes - prefix
        size = len(line.encode("utf-8", "replace"))
        if size > room:
            self.full = True
            if self.lines and (size + prefix <= MAX_BYTES or room < MIN_PART):
                return  # it is the first line of the next page
            line = head_of(line, room)
            end = skipped + len(line)
            self.cut = CutLine(self.number, skipped + 1, end, length if whole else None)
        self._bytes += size + prefix
        self.lines.append(line)
