"""The steps of the command ``/merge`` for every front end."""

import asyncio
from pathlib import Path
from typing import cast

from agent.records.errors import NothingToDo
from agent.records.messages import Session
from agent.runtime.merging import MergeMode, merge, merge_base
from agent.runtime.runtime import Runtime
from agent.runtime.worktrees import Worktree, Worktrees, as_prepared, find_worktree
from agent.session.review.changes import ReviewedChanges, worktree_changes
from agent.transfer.document import diff_text

NO_WORKTREE = "This session is not in a worktree. /new --worktree creates one."
UNKNOWN = "There is no worktree {name}. The worktrees are: {known}."
REMOVE = "remove"
MODES = ("merge", "squash", "patch")
OPENED = "{folder} is the open folder. Start opencode-py in {source} to remove the worktree."


def parse_merge(argument: str) -> tuple[str, str]:
    """Return the name of the worktree and what to do with it, each "" if it is not given."""
    words = argument.split()
    how = words.pop() if words and words[-1] in {*MODES, REMOVE} else ""
    return " ".join(words), how


def worktrees_of(runtime: Runtime) -> dict[str, Worktree]:
    """Return the worktrees of the opened repository by name."""
    return {one.name: one for one in Worktrees(runtime.paths, runtime.project).all()}


def find_named(runtime: Runtime, session: Session | None, name: str) -> Worktree | None:
    """Return the worktree *name*; without a name that of *session* or of the opened folder, None if
    these are in none. Raises ``NothingToDo`` for an unknown name."""
    if not name:
        folder = session.project if session is not None else str(runtime.project)
        return find_worktree(runtime.paths, folder)
    every = worktrees_of(runtime)
    if name not in every:
        raise NothingToDo(UNKNOWN.format(name=name, known=", ".join(every) or "none"))
    return every[name]


def known_worktree(runtime: Runtime, session: Session | None, name: str) -> Worktree:
    """Return the worktree that ``find_named`` finds. Raises ``NothingToDo`` if there is none."""
    found = find_named(runtime, session, name)
    if found is None:
        every = ", ".join(worktrees_of(runtime))
        raise NothingToDo(f"Name the worktree: {every}." if every else NO_WORKTREE)
    return found


async def merge_changes(worktree: Worktree) -> ReviewedChanges:
    """Return what was changed in *worktree* since it left its source. Raises ``WorktreeError``."""
    base, prepared = await merge_base(worktree), await asyncio.to_thread(as_prepared, worktree)
    return await worktree_changes(Path(worktree.folder), worktree.name, base, prepared)


async def merge_work(worktree: Worktree, how: str, session: Session | None) -> str:
    """Merge *worktree*; return what was done. Raises ``WorktreeError``."""
    title = session.title if session is not None else ""
    return await merge(worktree, cast("MergeMode", how), title)


async def remove_worktree(runtime: Runtime, worktree: Worktree) -> str:
    """Remove *worktree*, which is not the opened folder; return what was done. Its sessions
    continue in the opened folder. Raises ``NothingToDo`` and ``WorktreeError``."""
    if runtime.project == Path(worktree.folder):
        raise NothingToDo(OPENED.format(folder=worktree.folder, source=worktree.source))
    done = await Worktrees(runtime.paths, runtime.project).remove(worktree)
    await runtime.sessions.repository.adopt(folder_in(runtime, worktree))
    return done


def folder_in(runtime: Runtime, worktree: Worktree) -> str:
    """Return where the opened folder is in *worktree*."""
    return str(Path(worktree.folder, runtime.directory.relative_to(runtime.project)))


def changes_text(changes: ReviewedChanges) -> str:
    """Return *changes* as a unified diff, with what is not shown of them."""
    lines: list[str] = []
    for file in changes.files:
        block = file.block
        lines += [f"--- {block.moved_from or block.path}", f"+++ {block.path}", *diff_text(block)]
    return "\n".join((*lines, *(f"Not shown: {note}" for note in changes.notes)))
