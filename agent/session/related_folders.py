"""The other places of a folder: where it was before it was moved, and its other work trees.

A folder is known by the first commit of its repository and its path in there. Two clones that both
exist are two projects, and so is a fork beside its source; a shallow clone does not know its first
commit. All facts come from the program's own git, which no file of the folder can change.
"""

import asyncio
import os
import re
from pathlib import Path

from agent.git import find_repository, git
from agent.store import queries, writes
from agent.store.store import Store

FIRST_COMMIT_TIMEOUT = 10.0
"""Seconds to find the first commit, once for each folder: the whole history is read."""

_HASH = re.compile(r"[0-9a-f]{40,64}")


async def other_places(store: Store, directory: str) -> tuple[str, ...]:
    """Return the other folders whose sessions are those of *directory*, and record where it is."""
    known = await store.read(queries.place, directory)
    origin = await _origin(directory, known[0] if known else "")
    repository = await asyncio.to_thread(find_repository, Path(directory)) if origin else None
    if repository is None:
        return ()
    folder = Path(directory).relative_to(repository.root).as_posix()
    if known != (origin, folder):
        await store.write(writes.save_place, directory, origin, folder)
    found = [each for each in await store.read(queries.places, origin, folder) if each != directory]

    def is_ours(place: str) -> bool:
        if not os.path.lexists(place):
            return True
        other = find_repository(Path(place))
        return other is not None and other.common_dir == repository.common_dir

    return tuple([each for each in found if await asyncio.to_thread(is_ours, each)])


async def _origin(directory: str, known: str) -> str:
    """Return the first commit of the repository around *directory*, "" where there is none or it is
    not known; *known* is what was recorded."""
    repository = await asyncio.to_thread(find_repository, Path(directory))
    if repository is None or (repository.common_dir / "shallow").exists():
        return ""
    if _HASH.fullmatch(known):
        found = await git(directory, "log", "-1", "--format=%H", known)
        if found and found.strip() == known:
            return known
    listed = await git(
        *(directory, "log", "--max-parents=0", "--format=%H", "HEAD"), timeout=FIRST_COMMIT_TIMEOUT
    )
    commits = (listed or "").split()  # the newest first: histories can have been joined
    return commits[-1] if commits and _HASH.fullmatch(commits[-1]) else ""
