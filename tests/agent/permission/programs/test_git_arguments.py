"""Git commands that only read, by their arguments."""

import pytest

from agent.permission.shell.analysis import analyze


def reads(line: str) -> bool:
    found = analyze(line, directory="/w/p", project="/w/p", home="/home/u")
    return all(need.proven for need in found.needs)


@pytest.mark.parametrize(
    "line",
    [
        "branch",
        "branch -a",
        "branch --list 'x*'",
        "branch --contains HEAD",
        "branch --no-contains HEAD",
        "branch --merged main",
        "branch --no-merged main",
        "tag",
        "tag -l 'v*'",
        "tag --list 'v*'",
        "tag -n",
        "tag -n5",
        "reflog",
        "reflog show",
        "reflog --all",
        "worktree list",
    ],
)
def test_git_commands_that_only_read(line: str) -> None:
    assert reads(f"git {line}")


@pytest.mark.parametrize(
    "line",
    [
        "config user.name x",
        "config set user.name x",
        "config --unset user.name",
        "config --edit",
        "branch new",
        "branch new main",
        "branch -d old",
        "branch -D old",
        "branch -m old new",
        "branch --list x -D old",
        "tag v1",
        "tag -d v1",
        "tag -a v1 -m x",
        "tag -l -d v1",
        "reflog expire --all",
        "reflog delete HEAD@{1}",
        "worktree add ../x",
        "worktree remove ../x",
        "worktree prune",
    ],
)
def test_git_commands_that_change_something(line: str) -> None:
    assert not reads(f"git {line}")
