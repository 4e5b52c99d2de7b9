"""Changes to review: those of a turn, a session, the working tree, a branch or a pull request.

Each file has its diff and, where both sides are known in full, its texts, so that hunks of it can
be reverted and kept again.
"""

import asyncio
import contextlib
import os
from collections.abc import Collection
from pathlib import Path

from agent.files.disk import load
from agent.files.text import decode, is_binary
from agent.git import find_repository, git, git_outputs, git_program
from agent.records.errors import NothingToDo
from agent.records.frozen import frozen
from agent.session.prompt.environment_block import MAIN_BRANCH_COMMAND, find_main_branch
from agent.session.review.reviewed_file import ReviewedFile, reviewed_file
from agent.tools.files.unified_diff import parse_unified_diff

TIMEOUT = 20.0
"""Seconds for git, and for ``gh``, to print a diff."""

MAX_UNTRACKED = 200
"""New files that git does not track yet; more of them are counted."""

MAX_BYTES = 2_000_000
"""Bytes of a file up to which it is shown."""

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git's name of a tree without files, which a repository without commits is compared with."""

NO_REPOSITORY = "This folder is not in a git repository, so there is no working tree to review."
NO_ANSWER = f"git did not print the changes within {TIMEOUT:.0f} seconds, or it failed."


@frozen
class ReviewedChanges:
    """Changes with their *title* (``the working tree``), what is not shown of them and, if they are
    those of a session, its id."""

    title: str
    files: tuple[ReviewedFile, ...]
    notes: tuple[str, ...] = ()
    session_id: str = ""


async def working_tree_changes(
    root: Path, base: str = "", without: Collection[str] = ()
) -> ReviewedChanges:
    """Return what differs from the last commit, or from the commit *base*, with new files. Those of
    *without* are left out.

    Raises ``NothingToDo`` where there is no repository or git does not answer.
    """
    here = str(root)
    head = base or await git(here, "rev-parse", "--verify", "--quiet", "HEAD")
    listed, others = await git_outputs(
        here,
        ("diff", "--no-renames", "--unified=1000000", (head or EMPTY_TREE).strip(), "--"),
        ("ls-files", "--others", "--exclude-standard", "-z", "--full-name", ":/"),
        timeout=TIMEOUT,
    )
    if listed is None or others is None:
        known = await asyncio.to_thread(find_repository, root)
        raise NothingToDo(NO_REPOSITORY if known is None else NO_ANSWER)
    return await asyncio.to_thread(_from_git, root, listed, others, without)


def _from_git(root: Path, listed: str, others: str, without: Collection[str]) -> ReviewedChanges:
    files: list[ReviewedFile] = []
    binary: list[str] = []
    for parsed in parse_unified_diff(listed):
        if parsed.block.path in without:
            continue
        if parsed.binary:
            binary.append(parsed.block.path)
            continue
        change = parsed.block.change
        old = None if change == "create" else parsed.old
        new = None if change == "delete" else parsed.new
        files.append(reviewed_file(parsed.block.path, old, new))
    new_paths = [path for path in others.split("\0") if path and path not in without]
    for path in new_paths[:MAX_UNTRACKED]:
        text = _text_of(root / path)
        if text is None:
            binary.append(path)
        else:
            files.append(reviewed_file(path, None, text))
    notes = [f"{path} is binary or too large" for path in binary]
    if len(new_paths) > MAX_UNTRACKED:
        notes.append(f"{len(new_paths) - MAX_UNTRACKED} more new files")
    files.sort(key=lambda file: file.block.path)
    return ReviewedChanges("the working tree", tuple(files), tuple(notes))


def _text_of(path: Path) -> str | None:
    """Return the text of a new file, None for one that is not shown."""
    with contextlib.suppress(OSError):
        data = load(str(path), MAX_BYTES + 1).data
        if len(data) <= MAX_BYTES and not is_binary(data[:8192]):
            return decode(data).text
    return None


async def branch_changes(root: Path, base: str = "") -> ReviewedChanges:
    """Return what the current branch changed since it left *base* (default: the main branch), with
    what is not committed. Raises ``NothingToDo``."""
    here = str(root)
    if not base:
        base = find_main_branch(await git(here, *MAIN_BRANCH_COMMAND) or "")
    if not base:
        raise NothingToDo("The main branch is not known. Name one: /review branch NAME.")
    if base.startswith("-"):
        raise NothingToDo(f"{base} is not the name of a branch.")
    fork = await git(here, "merge-base", base, "HEAD") or await git(
        here, "merge-base", f"origin/{base}", "HEAD"
    )
    if fork is None:
        raise NothingToDo(f"There is no branch {base} that shares history with this one.")
    found = await working_tree_changes(root, fork.strip())
    return ReviewedChanges(f"the changes since {base}", found.files, found.notes)


async def worktree_changes(
    root: Path, name: str, base: str, without: Collection[str] = ()
) -> ReviewedChanges:
    """Return what the worktree *name*, whose root is *root*, changed since the commit *base*,
    except in the files of *without*. Raises ``NothingToDo``."""
    found = await working_tree_changes(root, base, without)
    return ReviewedChanges(f"the worktree {name}", found.files, found.notes)


async def pull_request_changes(root: Path, number: str) -> ReviewedChanges:
    """Return the changes of a pull request on GitHub, as ``gh`` knows them. Raises
    ``NothingToDo``."""
    program = git_program("gh")
    if program is None:
        raise NothingToDo(
            "Pull requests are read with gh (cli.github.com), which is not installed."
        )
    if not number.isdigit():
        raise NothingToDo("Give the number of the pull request: /review pr 12.")
    process = await asyncio.create_subprocess_exec(
        *(program, "pr", "diff", number, "--color=never"),
        cwd=root,
        env={**os.environ, "GH_PROMPT_DISABLED": "1", "GH_PAGER": "cat", "NO_COLOR": "1"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(), TIMEOUT)
    except TimeoutError:
        raise NothingToDo(f"gh did not answer within {TIMEOUT:.0f} seconds.") from None
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    if process.returncode:
        reason = errors.decode("utf-8", "replace").strip().splitlines()
        raise NothingToDo(f"gh: {reason[0] if reason else 'it failed'}")
    parsed = parse_unified_diff(output.decode("utf-8", "replace"))
    return ReviewedChanges(
        f"pull request {number}",
        tuple(ReviewedFile(each.block) for each in parsed if not each.binary),
        tuple(f"{each.block.path} is binary" for each in parsed if each.binary),
    )
