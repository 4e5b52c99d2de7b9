"""Keep the newest of many hits without storing all of them."""

import heapq
import os
from dataclasses import dataclass

LIMIT = 100
"""The maximum number of results of glob and grep."""

TIMED_OUT = "The search ran out of time: there may be more. Search a smaller folder."
PARTIAL = "Some folders or files could not be read."


@dataclass(frozen=True, slots=True)
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


class NewestMatches:
    """The matches of the newest files, at most *limit*."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._files: dict[str, tuple[int, list[str]]] = {}
        self._skipped: str = ""
        self._kept = 0
        self.total = 0
        self.files = 0

    def offer(self, path: str, match: str) -> None:
        """Add a match. The matches of one file come one after the other."""
        self.total += 1
        known = self._files.get(path)
        if known is not None:
            known[1].append(match)
            self._kept += 1
            return
        if path == self._skipped:
            return
        self.files += 1
        mtime = mtime_of(path)
        # Pruning pays only when twice the limit is stored.
        if self._kept > 2 * self._limit:
            self._prune()
            if self._kept >= self._limit and mtime < min(m for m, _ in self._files.values()):
                self._skipped = path
                return
        self._files[path] = (mtime, [match])
        self._kept += 1

    def _prune(self) -> None:
        kept: dict[str, tuple[int, list[str]]] = {}
        count = 0
        for path, (mtime, matches) in self._sorted():
            if count >= self._limit:
                break
            kept[path] = (mtime, matches)
            count += len(matches)
        self._files, self._kept = kept, count

    def _sorted(self) -> list[tuple[str, tuple[int, list[str]]]]:
        return sorted(self._files.items(), key=lambda item: (-item[1][0], item[0]))

    def groups(self) -> list[tuple[str, list[str]]]:
        """Return ``(path, matches)``, newest file first, at most *limit* matches in all."""
        left = self._limit
        result: list[tuple[str, list[str]]] = []
        for path, (_, matches) in self._sorted():
            if left <= 0:
                break
            result.append((path, matches[:left]))
            left -= len(matches)
        return result


def mtime_of(path: str) -> int:
    """Return the modification time in nanoseconds since the epoch, 0 for a missing file."""
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0
