"""State that snapshots do not cover, as it was when a turn began: the commit at HEAD, and ignored
files.

Kept beside the snapshots by the id of the first one of a turn, so that an undo can name what it
does not take back.
"""

import asyncio
import json
import os
from pathlib import Path

from agent.config.private_file import write_private
from agent.git import find_repository, git
from agent.records.frozen import frozen

MAX_IGNORED = 5_000
"""Ignored files and folders that are noted; of more none is named."""


@frozen
class Surroundings:
    """The state of a project around its snapshots."""

    head: str = ""
    """The branch and the short id of its commit, "" without a repository."""
    ignored: tuple[str, ...] = ()
    """The files that git ignores, relative to the project; a folder that is ignored as a whole ends
    with a slash."""

    def removed(self, project: str) -> tuple[str, ...]:
        """Return the ignored files and folders that are gone."""
        return tuple(
            name for name in self.ignored if not os.path.lexists(Path(project, name.rstrip("/")))
        )

    def moved(self, now: str) -> str:
        """Return a sentence for a HEAD that is at *now*, "" if it did not move."""
        if not self.head or self.head == now:
            return ""
        return (
            f"HEAD moved from {self.head} to {now or 'nothing'}: commits, branches and the index "
            "are not undone."
        )


async def head_of(project: str) -> str:
    """Return the branch and the short id of the commit at HEAD, "" without a repository."""
    found = await asyncio.to_thread(find_repository, Path(project))
    if found is None:
        return ""
    commit = await git(project, "rev-parse", "--verify", "--short", "HEAD")
    try:
        text = await asyncio.to_thread((found.git_dir / "HEAD").read_text, "utf-8", "replace")
    except OSError:
        return ""
    branch = text.strip().removeprefix("ref: refs/heads/") if text.startswith("ref:") else ""
    return " ".join(part for part in (branch, (commit or "").strip()) if part)


def read_surroundings(path: Path) -> Surroundings | None:
    """Return what was noted at *path*, None if nothing was."""
    try:
        stored = json.loads(path.read_text("utf-8"))
        return Surroundings(str(stored["head"]), tuple(map(str, stored["ignored"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_surroundings(path: Path, noted: Surroundings) -> None:
    """Note the surroundings at *path*; a failure is as if there were none."""
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        write_private(path, json.dumps({"head": noted.head, "ignored": noted.ignored}))
    except (OSError, ValueError):
        path.unlink(missing_ok=True)
