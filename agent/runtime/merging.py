"""Merging a worktree: its work comes back to the work tree that it was made from."""

import asyncio
import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, cast

from agent.git import GitResult, RepositoryPaths, find_repository, git
from agent.records.errors import NothingToDo, WorktreeError
from agent.records.messages import Session
from agent.runtime.runtime import Runtime
from agent.runtime.worktree_git import (
    GIT_TIMEOUT,
    git_answer,
    reason_in,
    require_git,
    run_once,
    uncommitted_files,
)
from agent.runtime.worktrees import (
    Worktree,
    Worktrees,
    as_prepared,
    find_worktree,
    require_branch,
    uncommitted_work,
)
from agent.session.review.changes import ReviewedChanges, worktree_changes
from agent.transfer.bundle import diff_text

MergeMode = Literal["merge", "squash", "patch"]
"""A merge commit or fast-forward; one staged change; changes of the files alone."""

NOTHING = "Nothing to merge: {name} has no changes that {source} lacks."
GONE = "The folder of this worktree's repository no longer exists: {folder}."
NO_BRANCH = (
    "{source} is not on a branch, so a merge would be lost. Check out a branch, or use /merge "
    "squash or /merge patch."
)
UNFINISHED = (
    "Nothing was merged: a merge, rebase or cherry-pick in {source} is not finished. Finish or "
    "abort it first."
)
BOTH_SIDES = (
    "Nothing was merged: {files} changed on both sides. Ask the agent to merge the other branch "
    "into this worktree first."
)
OVERWRITTEN = (
    "Nothing was merged: {source} has changes in {files} that are not committed and would be "
    "overwritten. Commit or stash them, then merge again."
)
NOT_APPLIED = "Nothing was changed: {reason}."
FAILED = "Nothing was merged: {reason}."
LEFT = " The merge left changes in {files}: git checkout HEAD -- FILE undoes them."

_STATES = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
"""Files of a git directory while an operation is not finished."""


async def merge_base(worktree: Worktree) -> str:
    """Return the commit that *worktree* and its source have in common.

    Raises ``WorktreeError`` if there is none or git does not tell.
    """
    if await asyncio.to_thread(find_repository, Path(worktree.source)) is None:
        raise WorktreeError(GONE.format(folder=worktree.source))
    head = await git_answer(worktree.source, "rev-parse", "--verify", "HEAD^{commit}")
    return (await git_answer(worktree.folder, "merge-base", head.strip(), "HEAD")).strip()


async def merge(worktree: Worktree, mode: MergeMode, message: str) -> str:
    """Bring the work back to the work tree that *worktree* was made from; return what was done.
    Changes that are not committed are committed first, with *message*.

    Raises ``WorktreeError``; then the files of the source are as they were.
    """
    require_git()
    await require_branch(worktree)
    repository = await asyncio.to_thread(find_repository, Path(worktree.source))
    if repository is None:
        raise WorktreeError(GONE.format(folder=worktree.source))
    if any((repository.git_dir / name).exists() for name in _STATES):
        raise WorktreeError(UNFINISHED.format(source=worktree.source))
    into = (await git_answer(worktree.source, "rev-parse", "--abbrev-ref", "HEAD")).strip()
    if mode == "merge" and into == "HEAD":
        raise WorktreeError(NO_BRANCH.format(source=worktree.source))
    await _commit(worktree, message)
    ahead = await git_answer(worktree.source, "log", "--format=%H", f"HEAD..{worktree.branch}")
    if not ahead.strip():
        return NOTHING.format(name=worktree.name, source=worktree.source)
    if mode != "patch":
        await _refuse_conflicts(repository, worktree)
    await _change_source(repository, worktree, mode)
    if mode == "patch":
        return f"The changes of {worktree.name} were applied to the files in {worktree.source}."
    if mode == "squash":
        return f"The changes of {worktree.name} are staged in {worktree.source}."
    return f"{worktree.branch} is merged into {into}."


async def _commit(worktree: Worktree, message: str) -> None:
    """Commit the work that is not committed in *worktree*."""
    if not await uncommitted_work(worktree):
        return
    repository = await asyncio.to_thread(find_repository, Path(worktree.folder))
    if repository is None:
        raise WorktreeError(f"The worktree {worktree.name} no longer exists.")
    prepared = await asyncio.to_thread(as_prepared, worktree)
    named = "\0".join((".", *(f":(exclude,literal){name}" for name in prepared)))
    for words, given in (
        (("add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"), named.encode()),
        (("commit", "--quiet", "-m", message or worktree.name), None),
    ):
        result = await run_once(repository, *words, given=given)
        if not result.ok:
            raise WorktreeError(FAILED.format(reason=reason_in(result.errors)))


async def _refuse_conflicts(repository: RepositoryPaths, worktree: Worktree) -> None:
    """Raise ``WorktreeError`` if the branch conflicts with HEAD of the source."""
    words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "HEAD")
    result = await run_once(repository, *words, worktree.branch)
    names = result.output.decode("utf-8", "replace").split("\n")[1:]
    if not result.ok and any(names):
        raise WorktreeError(BOTH_SIDES.format(files=", ".join(filter(None, names))))


async def _change_source(repository: RepositoryPaths, worktree: Worktree, mode: MergeMode) -> None:
    """Merge the branch or apply its changes, and take back what a failed attempt has changed."""
    root = repository.root
    words = ("diff", "--name-only", "-z", "--no-renames", f"HEAD...{worktree.branch}")
    touched = frozenset(filter(None, (await git_answer(str(root), *words)).split("\0")))
    if files := sorted(touched.intersection(await uncommitted_files(root))):
        raise WorktreeError(OVERWRITTEN.format(source=worktree.source, files=", ".join(files)))
    result = await (_apply if mode == "patch" else _merge)(repository, worktree, mode)
    if result.ok:
        return
    if files := _overwritten(result.errors):
        raise WorktreeError(OVERWRITTEN.format(source=worktree.source, files=", ".join(files)))
    left = await _take_back(repository, touched)
    sentence = (NOT_APPLIED if mode == "patch" else FAILED).format(reason=reason_in(result.errors))
    raise WorktreeError(sentence + (LEFT.format(files=", ".join(left)) if left else ""))


async def _merge(repository: RepositoryPaths, worktree: Worktree, mode: MergeMode) -> GitResult:
    words = ("--squash",) if mode == "squash" else ("--no-edit", "-m", f"Merge {worktree.branch}")
    return await run_once(repository, "merge", *words, worktree.branch)


async def _apply(repository: RepositoryPaths, worktree: Worktree, mode: MergeMode) -> GitResult:
    words = ("diff", "--binary", "--no-ext-diff", "--no-textconv", f"HEAD...{worktree.branch}")
    made = await run_once(repository, *words)
    if not made.ok:
        return made
    return await run_once(repository, "apply", "--whitespace=nowarn", "-", given=made.output)


def _overwritten(errors: str) -> list[str]:
    """Return the files that git would not overwrite."""
    return [line.strip() for line in errors.split("\n") if line.startswith("\t")]


async def _take_back(repository: RepositoryPaths, touched: frozenset[str]) -> list[str]:
    """Restore the files *touched* by a failed merge, none of which had changes; return those that
    could not be restored."""
    root = repository.root
    changed = sorted(touched.intersection(await uncommitted_files(root)))
    if not changed:
        return []
    await run_once(repository, "reset", "--quiet", "HEAD", "--", *changed)
    listed = await git(str(root), "ls-files", "-z", timeout=GIT_TIMEOUT)
    known = frozenset((listed or "").split("\0"))
    if listed is not None:  # new files first: a full disk has no room for the others
        await asyncio.to_thread(_delete, root, [name for name in changed if name not in known])
    if restored := [name for name in changed if name in known]:
        await run_once(repository, "checkout", "--force", "HEAD", "--", *restored)
    return sorted(touched.intersection(await uncommitted_files(root)))


def _delete(root: Path, names: Iterable[str]) -> None:
    for name in names:
        with contextlib.suppress(OSError):
            Path(root, name).unlink()


# The steps of the command ``/merge`` for every front end.

NO_WORKTREE = "This session is not in a worktree. /new --worktree creates one."
UNKNOWN_WORKTREE = "There is no worktree {name}. The worktrees are: {known}."
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
        raise NothingToDo(UNKNOWN_WORKTREE.format(name=name, known=", ".join(every) or "none"))
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
