"""The index of a project's files, for completing parts of their names.

The list is read by the engine of ``glob``, so ignored files are left out. It is kept, and read
again in the background when it is old. While it is read for the first time, queries are answered
from what has come so far, and again later. Queries run in a thread, which releases the
interpreter after each chunk of paths and stops if something else was typed: with 100,000 files a
key must not wait for the query of the previous one.
"""

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import islice

from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.tools.search.searcher import Searcher, find_rg
from agent.tools.search.worker import SearchRequest

MAX_PATHS = 1_000_000
"""Paths that are kept, of about 30 bytes each, stored once or twice."""

SMALL_LIST = 20_000
"""Paths that are sorted so fast that no answer is needed before."""

POLL_INTERVAL = 0.05
"""Seconds between answers while the list is read for the first time."""

MIN_AGE = 10.0
"""The minimum age in seconds at which the list is read again."""

KEEP_FACTOR = 40.0
"""The list is kept at least this many times as long as reading it took."""

FIRST_LIMIT = 10.0
"""The time limit in seconds for reading the list; paths found by then count."""


CHUNK = 2_000
"""Paths that are searched at once: about a millisecond."""

MAX_SUBSEQUENCE = 2_000
"""Paths with the typed letters in order, among which the most similar are chosen."""


@frozen
class Chunk:
    """Some paths: one per line in *names*, and in lower case in *text*."""

    names: str
    text: str

    @property
    def paths(self) -> list[str]:
        return self.names.split("\n")


def make_chunks(paths: Iterable[str]) -> tuple[Chunk, ...]:
    """Return *paths* as chunks, in order. Paths with a line break are left out: they cannot be
    named in a prompt."""
    usable = [path for path in paths if "\n" not in path]
    parts = ["\n".join(usable[at : at + CHUNK]) for at in range(0, len(usable), CHUNK)]
    return tuple(_chunk(part) for part in parts)


def _chunk(names: str) -> Chunk:
    lowered = names.lower()
    return Chunk(names, names if lowered == names else lowered)


class _Listing:
    """The paths that have been read so far, unsorted. *searched* is set once a query has searched
    all of them."""

    def __init__(self, directory: str) -> None:
        self.count = 0
        self.is_complete = False
        self.searched = asyncio.Event()
        self._directory = directory
        self._inside = os.fsencode(directory).rstrip(b"/") + b"/"
        self._blocks: list[bytes] = []
        self._chunks: list[Chunk] = []
        self._latest: list[bytes] = []

    def take(self, records: list[bytes]) -> None:
        if self.count < MAX_PATHS:
            self.count += len(records)
            self._latest += records
            if len(self._latest) >= CHUNK:
                self.chunks_so_far()

    def chunks_so_far(self) -> tuple[Chunk, ...]:
        """Return the chunks so far, without paths outside the folder. Blocks of paths are converted
        as a whole, because this runs in the event loop."""
        if self._latest:
            block, begin = b"\0".join([b"", *self._latest]), b"\0" + self._inside
            self._blocks.append(block[1:])
            if block.count(begin) < len(self._latest) or b"\n" in block:
                inner = [r for r in self._latest if r.startswith(self._inside) and b"\n" not in r]
                block = b"\0".join([b"", *inner])
            if block:
                self._chunks.append(_chunk(os.fsdecode(block.replace(begin, b"\n")[1:])))
            self._latest.clear()
        return tuple(self._chunks)

    def sorted_chunks(self) -> tuple[Chunk, ...]:
        """Return all paths with their folders, those with few parts first."""
        self.chunks_so_far()
        return make_chunks(_with_folders(self._blocks, self._directory))


class FileIndex:
    """Files and folders of *project*, by paths relative to *directory*."""

    def __init__(
        self,
        directory: str,
        project: str,
        clock: Callable[[], float] = time.monotonic,
        searcher: Searcher | None = None,
    ) -> None:
        self._searcher = searcher or Searcher(find_rg(), time_limit=FIRST_LIMIT)
        self._held: _Listing | None = None
        self._directory = directory
        self._project = project
        self._clock = clock
        self._chunks: tuple[Chunk, ...] = ()
        self._asked = 0
        self._read_at: float | None = None
        self._kept = MIN_AGE
        self._reading: asyncio.Task[None] | None = None

    async def matches(self, typed: str, limit: int = 50) -> AsyncIterator[tuple[str, ...]]:
        """Yield the paths that match *typed* best; folders end with a slash. While the list is read
        for the first time, there can be earlier answers. A newer query ends this one."""
        self._asked += 1
        mine = self._asked

        def stale() -> bool:
            return self._asked != mine

        if self._reading is None and self._is_old():
            self._reading = asyncio.create_task(self._read(), name="file index")
        shown: tuple[str, ...] = ()
        while self._read_at is None and self._reading is not None and not stale():
            done, _ = await asyncio.wait([self._reading], timeout=POLL_INTERVAL)
            if done or stale() or (held := self._held) is None:
                continue
            was_listed = held.is_complete
            found = await asyncio.to_thread(
                substring_matches, typed, held.chunks_so_far(), limit, stale
            )
            if len(found) > len(shown) and not stale():
                shown = found
                yield found
            if was_listed and not stale():
                held.searched.set()
        found = await asyncio.to_thread(best_matches, typed, self._chunks, limit, stale)
        if found is not None:
            yield found

    def _is_old(self) -> bool:
        return self._read_at is None or self._clock() - self._read_at > self._kept

    async def _read(self) -> None:
        begun, first = self._clock(), self._read_at is None
        held = self._held = _Listing(self._directory)
        root = self._project if _inside(self._directory, self._project) else self._directory
        order = SearchRequest(root=root, folder=root, hidden=True, ignored=False)
        try:
            await self._searcher.run(order, held.take)
            held.is_complete = True
            if first and held.count > SMALL_LIST:
                await held.searched.wait()
            self._chunks = await asyncio.to_thread(held.sorted_chunks)
        except (ToolError, OSError):
            self._chunks = ()  # nothing can be completed: the folder is gone or not readable
        finally:
            self._held = None
            self._read_at = self._clock()
            self._kept = max(MIN_AGE, KEEP_FACTOR * (self._read_at - begun))
            self._reading = None


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _with_folders(blocks: Iterable[bytes], directory: str) -> list[str]:
    """Return the paths in *blocks* and their folders, those with few parts first."""
    held: dict[bytes, list[bytes]] = {}
    for block in blocks:
        for record in block.split(b"\0"):
            folder, _, name = record.rpartition(b"/")
            held.setdefault(folder, []).append(name)
    inside: dict[str, list[bytes]] = {}
    for folder, names in held.items():
        path = os.path.relpath(os.fsdecode(folder) or "/", directory)
        inside["" if path == "." else f"{path}/"] = sorted(names)
    for folder in list(inside):
        while (folder := folder.rstrip("/").rpartition("/")[0]) and not folder.endswith(".."):
            inside.setdefault(f"{folder}/", [])
    levels: dict[int, list[str]] = {}
    for folder in sorted(inside):
        levels.setdefault(folder.count("/"), []).append(folder)
    paths: list[str] = []
    for depth in range(max(levels, default=0) + 1):
        for folder in levels.get(depth, ()):
            paths += [f"{folder}{os.fsdecode(name)}" for name in inside[folder]]
        paths += levels.get(depth + 1, ())
    return paths


def best_matches(
    typed: str, chunks: tuple[Chunk, ...], limit: int, stale: Callable[[], bool] = lambda: False
) -> tuple[str, ...] | None:
    """Return the paths whose names begin with *typed*, then those that contain it; without any,
    those that contain its letters in order. None once *stale*."""
    found = substring_matches(typed, chunks, limit, stale)
    if typed and not found:
        wanted = typed.lower()
        found = tuple(_closest(wanted, _subsequence_matches(wanted, chunks, stale))[:limit])
    return None if stale() else found


def substring_matches(
    typed: str, chunks: tuple[Chunk, ...], limit: int, stale: Callable[[], bool]
) -> tuple[str, ...]:
    """Return the paths whose names begin with *typed*, then those that contain it in the name or
    the path; only some once *stale*."""
    if not typed:
        return tuple(islice((path for chunk in chunks for path in chunk.paths), limit))
    wanted = typed.lower()
    tiers: tuple[list[str], ...] = ([], [], [])
    for chunk in _iterate(chunks, stale):
        if wanted in chunk.text:
            _add_to_tiers(wanted, chunk, tiers)
        if len(tiers[0]) >= limit:
            break
    return tuple(islice((path for tier in tiers for path in tier), limit))


def _iterate(chunks: tuple[Chunk, ...], stale: Callable[[], bool]) -> Iterator[Chunk]:
    """Yield *chunks* until *stale*, and let the event loop run in between."""
    for chunk in chunks:
        time.sleep(0)
        if stale():
            return
        yield chunk


def _add_to_tiers(wanted: str, chunk: Chunk, tiers: tuple[list[str], ...]) -> None:
    for path, lowered in zip(chunk.paths, chunk.text.split("\n"), strict=True):
        if wanted not in lowered:
            continue
        name = lowered.rstrip("/").rpartition("/")[2]
        if lowered.startswith(wanted) or name.startswith(wanted):
            tiers[0].append(path)
        else:
            tiers[1 if wanted in name else 2].append(path)


def _subsequence_matches(
    wanted: str, chunks: tuple[Chunk, ...], stale: Callable[[], bool]
) -> list[str]:
    """Return the paths that contain the letters of *wanted* in order."""
    each = "".join(f"[^\n{re.escape(one)}]*+{re.escape(one)}" for one in wanted)
    pattern = re.compile(f"^{each}", re.MULTILINE)
    found: list[str] = []
    for chunk in _iterate(chunks, stale):
        possible = all(one in chunk.text for one in wanted)
        lines = [match.start() for match in pattern.finditer(chunk.text)] if possible else []
        if lines:
            starts = {start: at for at, start in enumerate(_line_starts(chunk.text))}
            found += (chunk.paths[starts[start]] for start in lines)
        if len(found) >= MAX_SUBSEQUENCE:
            break
    return found[:MAX_SUBSEQUENCE]


def _line_starts(text: str) -> Iterator[int]:
    """Yield the offsets of the lines of *text*."""
    at = 0
    for line in text.split("\n"):
        yield at
        at += len(line) + 1


def _closest(wanted: str, paths: list[str]) -> list[str]:
    from rapidfuzz import fuzz, process  # kept off the start-up path

    scored = process.extract(wanted, paths, scorer=fuzz.partial_ratio, limit=50)
    return [path for path, _, _ in scored]
