"""Private files that keep output that was too long to show.

A file has a random name in the ``spill`` folder of the data directory, mode 0600, and is
made new each time (never through a link). At most 64 MB of a call are kept, its first and
its last half; all files together stay below 1 GB, the oldest going first; none outlives
seven days by much. The folder, which can hold a hundred thousand files, is only scanned
once the data written since may have filled it, or an hour has passed. Every method can raise
``OSError`` (a full disk): callers continue without.
"""

import contextlib
import os
import secrets
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from agent.records.frozen import frozen

PER_CALL = 64 * 1024 * 1024
IN_ALL = 1024 * 1024 * 1024
MAX_AGE = 7 * 24 * 3600.0
COPY_CHUNK = 1024 * 1024
SWEPT_FOR = 3600.0
"""Seconds after which files may have passed their age."""

SHARE = 8
"""The part of the limit (one in so many) that a cleanup of the folder frees."""


def _boundary(data: bytes, index: int) -> int:
    """*index* moved back to where a UTF-8 character starts."""
    while 0 < index < len(data) and data[index] & 0xC0 == 0x80:
        index -= 1
    return index


class _Ring:
    """The last *size* bytes of a stream, in an unnamed file."""

    def __init__(self, folder: Path, size: int) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - lives long
        self._size = size
        self.total = 0

    def write(self, data: bytes) -> None:
        skipped = max(0, len(data) - self._size)
        self.total += skipped
        view = memoryview(data)[skipped:]
        while view:
            place = self.total % self._size
            piece = view[: self._size - place]
            written = os.pwrite(self._file.fileno(), piece, place)
            self.total += written
            view = view[written:]

    def copy_to(self, write: Callable[[bytes], None]) -> None:
        """Yield the kept bytes, oldest first, starting at a character."""
        kept = min(self.total, self._size)
        start = self.total - kept
        done = 0
        while done < kept:
            place = (start + done) % self._size
            length = min(COPY_CHUNK, kept - done, self._size - place)
            piece = os.pread(self._file.fileno(), length, place)
            if not piece:
                return
            done += len(piece)
            if start and done == len(piece):
                lead = next((i for i, byte in enumerate(piece[:4]) if byte & 0xC0 != 0x80), 0)
                piece = piece[lead:]
            write(piece)

    def close(self) -> None:
        self._file.close()


@frozen
class SpillFile:
    """A finished spill file."""

    path: str
    omitted: int = 0
    """Bytes of the middle that were too many to keep."""


class SpillWriter:
    """One spill file while it is written. Used by one thread at a time.

    ``omitted`` counts the bytes of the middle that were not kept, once the file is closed.
    """

    def __init__(self, path: Path, fd: int, per_call: int, done: Callable[[int], None]) -> None:
        self.path = path
        self._fd = fd
        self._done = done
        self._half = per_call // 2
        self._first = 0
        self.omitted = 0
        self._ring: _Ring | None = None

    def write(self, data: bytes) -> None:
        """Add *data*, UTF-8 that can be cut anywhere."""
        if self._ring is None:
            room = self._half - self._first
            head = data if len(data) <= room else data[: _boundary(data, room)]
            self._write(head)
            self._first += len(head)
            data = data[len(head) :]
            if not data:
                return
            self._ring = _Ring(self.path.parent, self._half)
        self._ring.write(data)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]

    def close(self) -> Path:
        """Append the last half to the first one and close."""
        ring = self._ring
        try:
            if ring is not None:
                self.omitted = max(0, ring.total - self._half)
                if self.omitted:
                    self._write(f"\n[{self.omitted:,} bytes are omitted here]\n".encode())
                ring.copy_to(self._write)
        finally:
            self._shut()
        return self.path

    def discard(self) -> None:
        """Close and remove the file."""
        self._shut(kept=False)
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _shut(self, *, kept: bool = True) -> None:
        if self._ring is not None:
            self._ring.close()
        if self._fd >= 0:
            size = os.fstat(self._fd).st_size if kept else 0
            os.close(self._fd)
            self._fd = -1
            self._done(size)


class SpillStore:
    """The folder of spill files. Sizes are bytes, *max_age* seconds."""

    def __init__(
        self,
        folder: Path,
        *,
        per_call: int = PER_CALL,
        in_all: int = IN_ALL,
        max_age: float = MAX_AGE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self._per_call = per_call
        self._in_all = in_all
        self._max_age = max_age
        self._clock = clock
        self._lock = threading.Lock()
        self._left = 0
        self._swept = -SWEPT_FOR

    def open(self) -> SpillWriter:
        """Open a new, empty file, after removing old ones if space is needed."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._lock:
            if self._left < self._per_call or self._clock() - self._swept >= SWEPT_FOR:
                self._left = self._in_all - self._sweep()
                self._swept = self._clock()
            self._left -= self._per_call
        path = self.folder / f"{secrets.token_hex(12)}.txt"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return SpillWriter(path, os.open(path, flags, 0o600), self._per_call, self._written)

    def _written(self, size: int) -> None:
        """Return the unused part of the space that was reserved for a file of *size* bytes."""
        with self._lock:
            self._left += self._per_call - size

    def save(self, text: str) -> SpillFile:
        """Keep *text* in a new file."""
        writer = self.open()
        try:
            for start in range(0, len(text), COPY_CHUNK):
                writer.write(text[start : start + COPY_CHUNK].encode("utf-8", "replace"))
            return SpillFile(str(writer.close()), writer.omitted)
        except OSError:
            writer.discard()
            raise

    def save_or_explain(self, text: str) -> str:
        """Keep *text* in a new file; return its path, or a sentence that says why there is none."""
        try:
            return self.save(text).path
        except OSError as error:
            return f"no file ({error.strerror or error})"

    def _sweep(self) -> int:
        """Remove files past their age, then the oldest until there is room below the limit; the
        bytes of those that stay."""
        room = max(self._per_call, self._in_all // SHARE)
        found: list[tuple[float, int, Path]] = []
        for path in self.folder.glob("*.txt"):
            with contextlib.suppress(OSError):
                info = path.lstat()
                found.append((info.st_mtime, info.st_size, path))
        found.sort()
        total = sum(size for _, size, _ in found)
        oldest_kept = self._clock() - self._max_age
        for modified, size, path in found:
            if modified >= oldest_kept and total + room <= self._in_all:
                break
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size
        return total
