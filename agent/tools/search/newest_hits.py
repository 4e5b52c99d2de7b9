"""Keep the newest of many hits without storing all of them."""

import heapq
import os
from dataclasses import dataclass, replace

from agent.records.frozen import frozen

LIMIT = 100
"""The maximum number of results of glob and grep."""

TIMED_OUT = "The search ran out of time: there may be more. Search a smaller folder."
PARTIAL = "Some folders or files could not be read."


@frozen
class _ReversedText:
    text: str

    def __lt__(self, other: "_ReversedText") -> bool:
        return self.text > other.text


class Newest:
    """The *limit* most recently changed of all offered files; *total* counts those offered."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        # From the one to drop first: oldest, then last by name. Tuples, which are compared in C.
        self._heap: list[tuple[int, _ReversedText]] = []
        self.total = 0

    def offer(self, path: str) -> None:
        self.total += 1
        mtime = mtime_of(path)
        if len(self._heap) < self._limit:
            heapq.heappush(self._heap, (mtime, _ReversedText(path)))
        elif mtime >= self._heap[0][0]:
            heapq.heappushpop(self._heap, (mtime, _ReversedText(path)))

    def paths(self) -> list[str]:
        """Return the paths, newest first, equally old ones by name."""
        return [name.text for _, name in sorted(self._heap, reverse=True)]


@frozen
class FoundLine:
    """A line that matches, or that is shown as the context of one."""

    number: int
    text: str
    column: int | None
    """The character at which the match begins, from 1; None for context."""

    cut: bool = False
    """The line continues after *text*."""


@dataclass(slots=True)
class _File:
    mtime: int
    lines: list[FoundLine]
    matches: int = 0


class NewestMatches:
    """The lines with the matches of the newest files, at least *limit* matches if there are."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._files: dict[str, _File] = {}
        self._skipped: str = ""
        self._path: str = ""
        self._hits = 0
        self._kept = 0
        self.total = 0
        self.files = 0

    def offer(self, path: str, line: FoundLine) -> None:
        """Add a line. The lines of one file come one after the other.

        One match more than the limit counts of each file; further ones are context.
        """
        if path != self._path:
            self._path, self._hits = path, 0
        hit = line.column is not None and self._hits <= self._limit
        self._hits += hit
        self.total += hit
        if not hit:
            line = replace(line, column=None)
        known = self._files.get(path)
        if known is None:
            if path == self._skipped:
                return
            known = self._add(path)
            if known is None:
                self._skipped = path
                return
        known.lines.append(line)
        known.matches += hit
        self._kept += hit

    def _add(self, path: str) -> _File | None:
        """Return the entry of a file that was just found, None if it is too old to be shown."""
        self.files += 1
        mtime = mtime_of(path)
        # Pruning pays only when twice the limit is stored.
        if self._kept > 2 * self._limit:
            self._prune()
            if self._kept >= self._limit and mtime < min(f.mtime for f in self._files.values()):
                return None
        file = self._files[path] = _File(mtime, [])
        return file

    def _prune(self) -> None:
        kept: dict[str, _File] = {}
        count = 0
        for path, file in self._sorted():
            if count >= self._limit:
                break
            kept[path] = file
            count += file.matches
        self._files, self._kept = kept, count

    def _sorted(self) -> list[tuple[str, _File]]:
        return sorted(self._files.items(), key=lambda item: (-item[1].mtime, item[0]))

    def page(
        self, offset: int, before: int = 0, after: int = 0
    ) -> list[tuple[str, list[FoundLine]]]:
        """Return the matches from *offset* (from 0) up to the limit, newest file first, each with
        its lines of context *before* and *after*."""
        result: list[tuple[str, list[FoundLine]]] = []
        place = 0
        for path, file in self._sorted():
            wanted: set[int] = set()
            for line in file.lines:
                if line.column is not None:
                    if offset <= place < self._limit:
                        wanted.add(line.number)
                    place += 1
            shown = [
                line if line.number in wanted else replace(line, column=None)
                for line in file.lines
                if _is_near(line.number, wanted, before, after)
            ]
            if shown:
                result.append((path, shown))
            if place >= self._limit:
                break
        return result


def _is_near(number: int, wanted: set[int], before: int, after: int) -> bool:
    return any(other in wanted for other in range(number - after, number + before + 1))


def mtime_of(path: str) -> int:
    """Return the modification time in nanoseconds since the epoch, 0 for a missing file."""
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0
