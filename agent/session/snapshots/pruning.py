"""Removes snapshots that no session needs any more: those of deleted sessions, and those of turns
that changed nothing.

git does the work: the snapshots that sessions need are made refs, and its garbage collection packs
what they reach and removes the rest once it is older than ``MAX_AGE``. Younger objects can belong
to a turn that is not stored yet.
"""

import asyncio
import contextlib
import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path

from agent.config.private_file import write_private
from agent.git import run_git
from agent.store.lease import process_exists

MAX_AGE = 7 * 24 * 3600.0
"""Seconds that objects without a session are kept, and after which a folder is pruned again."""

TIMEOUT = 900.0
"""Seconds that the garbage collection of one project can take; the next one continues."""

STAMP = "pruned"
OPTIONS = ("-c", "pack.threads=1", "-c", "pack.windowMemory=64m", "-c", "core.quotePath=false")


def folder_name(project: str) -> str:
    """Return the name of the folder with the snapshots of *project*."""
    return hashlib.sha256(project.encode()).hexdigest()[:24]


def is_due(git: Path, now: float) -> bool:
    """Return whether the directory *git* was not pruned for a while. Blocks."""
    try:
        return now - (git / STAMP).stat().st_mtime > MAX_AGE
    except OSError:
        return True


async def prune_project(git: Path, needed: Iterable[str], now: float) -> bool:
    """Remove what neither the snapshots *needed* nor an index in the directory *git* reaches.
    Return whether that was done."""
    roots = {tree for tree in needed if tree}
    await asyncio.to_thread(_forget_surroundings, git, roots, now)
    for index in await asyncio.to_thread(_indexes, git):
        tree = await _git(git, "write-tree", index=index)
        if tree is None:  # it is being changed, or names objects that are gone
            return False
        roots.add(tree.decode().strip())
    given = "".join(f"{tree}\n" for tree in sorted(roots)).encode()
    checked = await _git(git, "cat-file", "--batch-check=%(objecttype) %(objectname)", given=given)
    if checked is None:
        return False
    found = [line.split() for line in checked.decode().splitlines()]
    known = sorted(name for kind, name in found if kind == "tree")
    lines = ("# pack-refs with: peeled fully-peeled sorted \n", *_refs(known))
    await asyncio.to_thread(write_private, git / "packed-refs", "".join(lines))
    limit = f"--prune={int(now - MAX_AGE)} +0000"
    if await _git(git, "gc", "--quiet", limit) is None:
        return False
    await asyncio.to_thread((git / STAMP).touch)
    return True


def remove_orphans(folder: Path, projects: Iterable[str], now: float) -> None:
    """Remove the directories in *folder* of which no session's project is one of *projects*, if
    nothing uses them and nothing was changed there for a while. Blocks."""
    known = {folder_name(project) for project in projects}
    if not known:  # the session database is new, perhaps because another one was moved away
        return
    with contextlib.suppress(OSError):
        for git in [one for one in folder.iterdir() if one.name not in known and one.is_dir()]:
            newest = max((path.stat().st_mtime for path in (git, *git.iterdir())), default=now)
            if now - newest > MAX_AGE and not _indexes(git, saved=False):
                shutil.rmtree(git, ignore_errors=True)


def _refs(trees: Iterable[str]) -> Iterable[str]:
    return (f"{tree} refs/kept/{tree}\n" for tree in trees)


def _indexes(git: Path, *, saved: bool = True) -> list[Path]:
    """Return the index of each living process, and the one that was *saved* for later ones."""
    found = [
        path
        for path in git.glob("index-*")
        if path.suffix == "" and process_exists(int(path.name.split("-")[1]))
    ]
    return [*found, git / "index"] if saved and (git / "index").exists() else found


def _forget_surroundings(git: Path, needed: set[str], now: float) -> None:
    with contextlib.suppress(OSError):
        for path in (git / "surroundings").iterdir():
            if path.name not in needed and now - path.stat().st_mtime > MAX_AGE:
                path.unlink(missing_ok=True)


async def _git(
    git: Path, *arguments: str, given: bytes | None = None, index: Path | None = None
) -> bytes | None:
    return await run_git(
        *OPTIONS,
        "--git-dir",
        str(git),
        *arguments,
        directory=str(git),
        timeout=TIMEOUT,
        given=given,
        environment={"GIT_INDEX_FILE": str(index) if index else None},
    )
