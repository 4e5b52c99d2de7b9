"""The files of a project by parts of their names, for completion (spec 8, U8).

The list is read by the engine of ``glob`` (so what git ignores is left out), kept, and read
anew in the background when it has aged. Queries run in a thread.
"""

import asyncio
import os
import time
from collections.abc import Callable
from itertools import islice

from agent.errors import ToolError
from agent.tools.search import Searcher, find_rg
from agent.tools.search_worker import Order

MOST = 200_000
"""Paths that are kept."""

AGE = 10.0
"""Seconds after which the list is read anew when it is asked for."""

FIRST_LIMIT = 10.0
"""Seconds that reading the list may take; what was found by then counts."""


class FileIndex:
    """Files and folders of *project*, by paths relative to *directory*."""

    def __init__(
        self, directory: str, project: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._directory = directory
        self._project = project
        self._clock = clock
        self._paths: tuple[str, ...] = ()
        self._read_at: float | None = None
        self._reading: asyncio.Task[None] | None = None

    async def matches(self, typed: str, limit: int = 50) -> tuple[str, ...]:
        """The paths that fit *typed* best; folders end with a slash."""
        if self._reading is None and self._is_old():
            self._reading = asyncio.create_task(self._read(), name="file index")
        if self._read_at is None and self._reading is not None:
            await asyncio.wait([self._reading])
        return await asyncio.to_thread(best, typed, self._paths, limit)

    def _is_old(self) -> bool:
        return self._read_at is None or self._clock() - self._read_at > AGE

    async def _read(self) -> None:
        found: list[bytes] = []
        root = self._project if _inside(self._directory, self._project) else self._directory
        order = Order(root=root, folder=root, hidden=True, ignored=False)
        try:
            searcher = Searcher(find_rg(), time_limit=FIRST_LIMIT)
            await searcher.run(order, lambda record: _keep(found, record))
            self._paths = await asyncio.to_thread(_with_folders, found, self._directory)
        except (ToolError, OSError):
            self._paths = ()  # nothing can be completed: the folder is gone or closed to us
        finally:
            self._read_at = self._clock()
            self._reading = None


def _keep(found: list[bytes], record: bytes) -> None:
    if len(found) < MOST:
        found.append(record)


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _with_folders(found: list[bytes], directory: str) -> tuple[str, ...]:
    paths = [os.path.relpath(os.fsdecode(record), directory) for record in found]
    folders = {f"{os.path.dirname(path)}/" for path in paths if "/" in path}  # noqa: PTH120 - many
    return tuple(sorted({*paths, *folders}, key=lambda path: (path.count("/"), path)))


def best(typed: str, paths: tuple[str, ...], limit: int) -> tuple[str, ...]:
    """Names that begin with *typed*, then names and paths that hold it, then those that hold
    its letters in order."""
    if not typed:
        return paths[:limit]
    wanted = typed.lower()
    tiers: tuple[list[str], ...] = ([], [], [], [])
    for path in paths:
        lowered = path.lower()
        name = lowered.rstrip("/").rpartition("/")[2]
        if lowered.startswith(wanted) or name.startswith(wanted):
            tiers[0].append(path)
        elif wanted in name:
            tiers[1].append(path)
        elif wanted in lowered:
            tiers[2].append(path)
        elif len(tiers[3]) < 2_000 and _in_order(wanted, lowered):
            tiers[3].append(path)
        if len(tiers[0]) >= limit:
            break
    found = [path for tier in tiers[:3] for path in islice(tier, limit)]
    if len(found) < limit:
        found += _closest(wanted, tiers[3])
    return tuple(found[:limit])


def _in_order(wanted: str, text: str) -> bool:
    letters = iter(text)
    return all(letter in letters for letter in wanted)


def _closest(wanted: str, paths: list[str]) -> list[str]:
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - kept off the start-up path

    scored = process.extract(wanted, paths, scorer=fuzz.partial_ratio, limit=50)
    return [path for path, _, _ in scored]
