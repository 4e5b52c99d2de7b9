"""A page of a text file, read as a stream: its cost is the page's, not the file's."""

import codecs
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from agent.errors import ToolError
from agent.files import detect, is_binary
from agent.files.disk import open_regular
from agent.files.text import SAMPLE, Encoding
from agent.tools.signatures import describe, refuse_media

MAX_LINES = 2_000
MAX_BYTES = 50 * 1024
MAX_COLUMNS = 2_000
"""Bounds of one page (spec 3, T5)."""

COUNTED = 16 * 1024 * 1024
"""Bytes of a file up to which it is read to its end, for its number of lines and digest."""

_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Page:
    """Lines without their endings, *first* from 1. *total* lines where known.

    *more* says that the file goes on; *cut_lines* counts lines that were shortened;
    *encoding* is named where it is not UTF-8; *digest* is of the whole file, None if only a
    part was read.
    """

    lines: tuple[str, ...]
    first: int
    total: int | None
    more: bool
    cut_lines: int
    encoding: str
    size: int
    mtime_ns: int
    digest: str | None


def read_page(path: str, shown: str, offset: int, limit: int, stop: threading.Event) -> Page:
    """Lines *offset* … of the regular file at *path* (links resolved). Blocks.

    Raises ``OSError``, and ``ToolError`` for binary content or an offset beyond the end.
    *stop* ends a long scan early with ``ToolError``.
    """
    with os.fdopen(open_regular(path), "rb") as file:
        info = os.fstat(file.fileno())
        sample = file.read(SAMPLE)
        refuse_media(shown, sample, info.st_size)
        if is_binary(sample[:8_192]):
            raise ToolError(
                f"{shown} is a binary file ({describe(sample)}, {info.st_size:,} bytes) and is "
                "not shown as text."
            )
        encoding = detect(sample, complete=len(sample) < SAMPLE)
        scan = _Scan(offset, limit)
        digest = hashlib.sha256()
        whole = info.st_size <= COUNTED
        end = True
        text = _decoded(sample, file, encoding, digest.update, stop)
        for piece in text:
            scan.feed(piece)
            if scan.full and not whole:
                end = False
                break
        if end:
            scan.finish()
    if end and 0 < scan.number < offset:
        raise ToolError(
            f"{shown} has {scan.number:,} {'line' if scan.number == 1 else 'lines'}; offset "
            f"{offset:,} is beyond the end."
        )
    return _page(scan, encoding, info, digest.hexdigest() if end else None, end=end)


def _page(
    scan: "_Scan", encoding: Encoding, info: os.stat_result, digest: str | None, *, end: bool
) -> Page:
    named = "" if encoding.name == "utf-8" and encoding.errors == "strict" else encoding.name
    return Page(
        lines=tuple(scan.lines),
        first=scan.offset,
        total=scan.number if end else None,
        more=not end or scan.number > scan.offset + len(scan.lines) - 1,
        cut_lines=scan.cut,
        encoding=named,
        size=info.st_size,
        mtime_ns=info.st_mtime_ns,
        digest=digest,
    )


def _decoded(
    sample: bytes,
    file: BinaryIO,
    encoding: Encoding,
    update: Callable[[bytes], object],
    stop: threading.Event,
) -> Iterator[str]:
    """The text in pieces. What does not decode later on shows as U+FFFD."""
    decoder = codecs.getincrementaldecoder(encoding.name)("replace")
    update(sample)
    yield decoder.decode(sample[len(encoding.bom) :])
    while chunk := file.read(_CHUNK):
        if stop.is_set():
            raise ToolError("The read was cancelled.")
        update(chunk)
        yield decoder.decode(chunk)
    yield decoder.decode(b"", final=True)


@dataclass(slots=True)
class _Scan:
    """Collects the wanted lines from pieces of text; a line is never held beyond its cut."""

    offset: int
    limit: int
    lines: list[str] = field(default_factory=list[str])
    number: int = 0
    cut: int = 0
    full: bool = False
    _line: str = ""
    _length: int = 0
    _bytes: int = 0

    def feed(self, piece: str) -> None:
        start = 0
        while True:
            end = piece.find("\n", start)
            if end < 0:
                self._extend(piece, start, len(piece))
                return
            if self.full or self.number + 1 < self.offset:
                # Lines that nobody wants are counted in one go.
                wanted = self.offset - 1 - self.number if not self.full else None
                start = self._skip(piece, start, wanted)
                continue
            self._extend(piece, start, end)
            self._close()
            start = end + 1

    def finish(self) -> None:
        if self._length:
            self._close()

    def _skip(self, piece: str, start: int, wanted: int | None) -> int:
        """Count lines from *start*: at most *wanted*, None for all. Returns where they end."""
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

    def _extend(self, piece: str, start: int, end: int) -> None:
        self._length += end - start
        room = MAX_COLUMNS + 2 - len(self._line)
        if room > 0:
            self._line += piece[start : min(end, start + room)]

    def _reset(self) -> None:
        self._line, self._length = "", 0

    def _close(self) -> None:
        """One more line is complete: keep it if it is wanted and there is room."""
        self.number += 1
        line, length = self._line.removesuffix("\r"), self._length
        self._reset()
        if self.full or self.number < self.offset:
            return
        if length > MAX_COLUMNS + 1 or len(line) > MAX_COLUMNS:
            line = line[:MAX_COLUMNS] + "…"
        size = len(line.encode("utf-8", "replace")) + len(str(self.number)) + 3
        if len(self.lines) >= self.limit or (self.lines and self._bytes + size > MAX_BYTES):
            self.full = True
            return
        self.cut += line.endswith("…") and length > MAX_COLUMNS
        self._bytes += size
        self.lines.append(line)
