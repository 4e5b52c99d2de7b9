"""The files of a project by parts of their names, for completion (spec 8, U8).

The list is read by the engine of ``glob`` (so what git ignores is left out), kept, and read
anew in the background when it has aged. Queries run in a thread, which after each thousand or
two of paths lets go of the interpreter and sees whether something else was typed meanwhile: at
100,000 files a key must not wait for the letters before it.
"""

import asyncio
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from agent.errors import ToolError
from agent.tools.search import Searcher, find_rg
from agent.tools.search_worker import Order

MOST = 200_000
"""Paths that are kept."""

AGE = 10.0
"""Seconds after which the list is read anew when it is asked for, at the earliest."""

REST = 40.0
"""Times as long as the last reading took that the list is kept at least."""

FIRST_LIMIT = 10.0
"""Seconds that reading the list may take; what was found by then counts."""


CHUNK = 2_000
"""Paths that are looked at in one go: about a millisecond."""

FEW = 2_000
"""Paths that hold the letters in order of which the closest are chosen."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some *paths*, and all of them in lower case, one a line, to be searched at once."""

    paths: tuple[str, ...]
    text: str


def listed(paths: Iterable[str]) -> tuple[Chunk, ...]:
    """*paths* ready to be searched, in their order. One with a line break is left out: it can't
    be named in a prompt."""
    usable = [path for path in paths if "\n" not in path]
    parts = [tuple(usable[at : at + CHUNK]) for at in range(0, len(usable), CHUNK)]
    return tuple(Chunk(part, "\n".join(part).lower()) for part in parts)


class FileIndex:
    """Files and folders of *project*, by paths relative to *directory*."""

    def __init__(
        self, directory: str, project: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._directory = directory
        self._project = project
        self._clock = clock
        self._chunks: tuple[Chunk, ...] = ()
        self._asked = 0
        self._read_at: float | None = None
        self._kept = AGE
        self._reading: asyncio.Task[None] | None = None

    async def matches(self, typed: str, limit: int = 50) -> tuple[str, ...] | None:
        """The paths that fit *typed* best; folders end with a slash. None once something else
        is asked for meanwhile."""
        self._asked += 1
        mine = self._asked
        if self._reading is None and self._is_old():
            self._reading = asyncio.create_task(self._read(), name="file index")
        if self._read_at is None and self._reading is not None:
            await asyncio.wait([self._reading])
        return await asyncio.to_thread(
            best, typed, self._chunks, limit, lambda: self._asked != mine
        )

    def _is_old(self) -> bool:
        return self._read_at is None or self._clock() - self._read_at > self._kept

    async def _read(self) -> None:
        found: list[bytes] = []
        begun = self._clock()
        root = self._project if _inside(self._directory, self._project) else self._directory
        order = Order(root=root, folder=root, hidden=True, ignored=False)
        try:
            searcher = Searcher(find_rg(), time_limit=FIRST_LIMIT)
            await searcher.run(order, lambda record: _keep(found, record))
            self._chunks = await asyncio.to_thread(
                lambda: listed(_with_folders(found, self._directory))
            )
        except (ToolError, OSError):
            self._chunks = ()  # nothing can be completed: the folder is gone or closed to us
        finally:
            self._read_at = self._clock()
            self._kept = max(AGE, REST * (self._read_at - begun))
            self._reading = None


def _keep(found: list[bytes], record: bytes) -> None:
    if len(found) < MOST:
        found.append(record)


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _with_folders(found: list[bytes], directory: str) -> list[str]:
    """The paths of *found* and their folders, those of few parts first."""
    held: dict[bytes, list[bytes]] = {}
    for record in found:
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


def best(
    typed: str, chunks: tuple[Chunk, ...], limit: int, stale: Callable[[], bool] = lambda: False
) -> tuple[str, ...] | None:
    """Names that begin with *typed*, then names and paths that hold it; where there are none,
    those that hold its letters in order. None once *stale*."""
    if not typed:
        return tuple(islice((path for chunk in chunks for path in chunk.paths), limit))
    wanted = typed.lower()
    tiers: tuple[list[str], ...] = ([], [], [])
    for chunk in _in_turn(chunks, stale):
        if wanted in chunk.text:
            _sort_in(wanted, chunk, tiers)
        if len(tiers[0]) >= limit:
            break
    found = [path for tier in tiers for path in islice(tier, limit)]
    if not found:
        found = _closest(wanted, _scattered(wanted, chunks, stale))
    return None if stale() else tuple(found[:limit])


def _in_turn(chunks: tuple[Chunk, ...], stale: Callable[[], bool]) -> Iterator[Chunk]:
    """Each of *chunks* until *stale*; the thread that waits for keys comes in between."""
    for chunk in chunks:
        time.sleep(0)
        if stale():
            return
        yield chunk


def _sort_in(wanted: str, chunk: Chunk, tiers: tuple[list[str], ...]) -> None:
    for path, lowered in zip(chunk.paths, chunk.text.split("\n"), strict=True):
        if wanted not in lowered:
            continue
        name = lowered.rstrip("/").rpartition("/")[2]
        if lowered.startswith(wanted) or name.startswith(wanted):
            tiers[0].append(path)
        else:
            tiers[1 if wanted in name else 2].append(path)


def _scattered(wanted: str, chunks: tuple[Chunk, ...], stale: Callable[[], bool]) -> list[str]:
    """Paths that hold the letters of *wanted* in order."""
    each = "".join(f"[^\n{re.escape(one)}]*+{re.escape(one)}" for one in wanted)
    pattern = re.compile(f"^{each}", re.MULTILINE)
    found: list[str] = []
    for chunk in _in_turn(chunks, stale):
        possible = all(one in chunk.text for one in wanted)
        lines = [match.start() for match in pattern.finditer(chunk.text)] if possible else []
        if lines:
            starts = {start: at for at, start in enumerate(_starts(chunk.text))}
            found += (chunk.paths[starts[start]] for start in lines)
        if len(found) >= FEW:
            break
    return found[:FEW]


def _starts(text: str) -> Iterator[int]:
    """Where the lines of *text* begin."""
    at = 0
    for line in text.split("\n"):
        yield at
        at += len(line) + 1


def _closest(wanted: str, paths: list[str]) -> list[str]:
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - kept off the start-up path

    scored = process.extract(wanted, paths, scorer=fuzz.partial_ratio, limit=50)
    return [path for path, _, _ in scored]
