"""The folder that the program was opened in, as the first page and the status line show it."""

from dataclasses import dataclass
from pathlib import Path

from agent.git import git


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder and its git status."""

    folder: str
    branch: str | None = None
    """None outside a git repository."""
    changed: int | None = None
    """The number of changed files, None outside a git repository."""


def short_folder(folder: Path, home: str) -> str:
    """Return *folder* with the home folder written as ``~``."""
    text = str(folder)
    return "~" + text[len(home) :] if home and (text + "/").startswith(home + "/") else text


async def read_workspace(folder: Path, home: str) -> Workspace:
    """Read the git status of *folder*. Git runs as a separate process with a time limit."""
    output = await git(str(folder), "status", "--porcelain=v2", "--branch")
    branch, changed = parse_git_status(output)
    return Workspace(short_folder(folder, home), branch, changed)


def parse_git_status(output: str | None) -> tuple[str | None, int | None]:
    """Return branch and number of changed files from ``git status --porcelain=v2 --branch``."""
    if output is None:
        return None, None
    branch: str | None = None
    changed = 0
    for line in output.splitlines():
        if line.startswith("# branch.head "):
            branch = line.removeprefix("# branch.head ")
        elif line and not line.startswith("#"):
            changed += 1
    return branch, changed
