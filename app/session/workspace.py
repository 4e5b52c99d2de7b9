"""The folder the program was opened in, as the first screen and the status line name it."""

from dataclasses import dataclass
from pathlib import Path

from agent.git import git


@dataclass(frozen=True, slots=True)
class Workspace:
    """*branch* is None outside a git repository, *changed* the number of changed files."""

    folder: str
    branch: str | None = None
    changed: int | None = None


def short_folder(folder: Path, home: str) -> str:
    """*folder* with the home folder written as ``~``."""
    text = str(folder)
    return "~" + text[len(home) :] if home and (text + "/").startswith(home + "/") else text


async def read_workspace(folder: Path, home: str) -> Workspace:
    """Read the facts of *folder*. Git runs as a process beside, with its time limit."""
    output = await git(str(folder), "status", "--porcelain=v2", "--branch")
    branch, changed = parse_git_status(output)
    return Workspace(short_folder(folder, home), branch, changed)


def parse_git_status(output: str | None) -> tuple[str | None, int | None]:
    """Branch and number of changed files out of ``git status --porcelain=v2 --branch``."""
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
