"""Git commands for worktrees, without the configuration of the repository."""

import asyncio
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from agent.git import (
    GitResult,
    RepositoryPaths,
    find_repository,
    git,
    git_program,
    git_result,
    private_git_dir,
    read_user_settings,
    run_git,
)
from agent.records.errors import WorktreeError

GIT_TIMEOUT = 300.0
"""Seconds for a git command."""

NO_GIT = "git is not installed or not on the PATH, and worktrees need it."


def require_git() -> None:
    """Raise ``WorktreeError`` if there is no git."""
    if git_program() is None:
        raise WorktreeError(NO_GIT)


async def run_words(
    git_dir: Path, root: Path, *words: str, given: bytes | None = None
) -> GitResult:
    """Run a command of git in the work tree *root*, as the user."""
    user = await _identity(root)
    return await git_result(
        *("-c", f"user.name={user['user.name']}", "-c", f"user.email={user['user.email']}"),
        *("--git-dir", str(git_dir), "--work-tree", str(root), *words),
        directory=str(root),
        timeout=GIT_TIMEOUT,
        given=given,
    )


async def run_once(
    repository: RepositoryPaths, *words: str, given: bytes | None = None
) -> GitResult:
    """Run a command that can change a repository. A lock that it leaves when it is killed is
    removed: it would stop every later command."""
    lock = repository.git_dir / "index.lock"
    was_locked = lock.exists()
    async with private_git_dir(repository, writes=True) as git_dir:
        result = await run_words(git_dir, repository.root, *words, given=given)
    if result.killed and not was_locked:
        lock.unlink(missing_ok=True)
    return result


async def _identity(root: Path) -> dict[str, str]:
    """Return the author of commits: that of the repository's settings, else of the user's."""
    found = {"user.name": "opencode-py", "user.email": "opencode-py@localhost"}
    found |= {key: value for key, value in await read_user_settings() if key in found}
    repository = await asyncio.to_thread(find_repository, root)
    config = repository.common_dir / "config" if repository is not None else Path(os.devnull)
    for key in found:
        words = ("config", "--file", str(config), "--no-includes", "--get", key)
        value = await run_git(*words, directory="/", timeout=GIT_TIMEOUT)
        found[key] = (value or b"").decode("utf-8", "replace").strip() or found[key]
    return found


async def git_answer(folder: str, *words: str) -> str:
    """Return the output of a command that changes nothing, as ``git`` does.

    Raises ``WorktreeError`` where git gives none: nothing follows from that.
    """
    require_git()
    output = await git(folder, *words, timeout=GIT_TIMEOUT)
    if output is None:
        raise WorktreeError(
            f"git {words[0]} failed in {folder}, so nothing was done. Look at the folder with git "
            "status, and try again."
        )
    return output


async def uncommitted_files(root: Path) -> list[str]:
    """Return the files of a work tree that are not committed, without ignored ones.

    Raises ``WorktreeError`` if git does not tell: they could be lost.
    """
    words = ("--porcelain", "-z", "--untracked-files=all", "--no-renames")
    output = await git_answer(str(root), "status", *words)
    return [entry[3:] for entry in output.split("\0") if entry[2:3] == " "]


def status_entries(output: str) -> Iterator[tuple[str, str]]:
    """Yield the entries of ``git status -z``, version 1 or 2, each with the earlier name of a file
    that was renamed or copied, else ""."""
    fields = iter(output.split("\0"))
    for entry in fields:
        if entry:
            two_names = entry.startswith("2 ") or not {"R", "C"}.isdisjoint(entry[:2])
            yield entry, next(fields, "") if two_names else ""


def digests(root: Path, names: Iterable[str]) -> dict[str, str]:
    """Return a digest of each file below *root*, "" for a missing one; without those that cannot
    be read, such as repositories inside."""
    found = {name: _digest(root / name) for name in names}
    return {name: digest for name, digest in found.items() if digest is not None}


def _digest(path: Path) -> str | None:
    try:
        if path.is_symlink():
            return f"-> {path.readlink()}"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""
    except OSError:
        return None


def reason_in(errors: str) -> str:
    """Return why git failed: the file that it could not write, else the last error that it printed,
    else its last line."""
    lines = [line for line in errors.strip().split("\n") if line.strip()]
    if unwritten := re.search(r"^error: (unable to write .+)", errors, re.MULTILINE):
        return f"{unwritten[1]}, perhaps because the disk is full"
    found = [line for line in lines if line.startswith(("fatal: ", "error: "))] or lines
    return re.sub("^(fatal|error): ", "", found[-1] if found else "git failed").rstrip(".:")


def counted(files: Sequence[str]) -> str:
    """Return the number of *files* as text: ``1 file``, ``2 files``."""
    return "1 file" if len(files) == 1 else f"{len(files)} files"
