"""The agent's own git calls run nothing of the repository."""

import subprocess
from pathlib import Path

import pytest

from agent.git import git, project_root


def plain(folder: Path, *words: str) -> None:
    user = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *user, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    plain(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    plain(folder, "add", "-A")
    plain(folder, "commit", "-qm", "first")
    return folder


def hostile(folder: Path, trap: Path) -> None:
    """Add settings and files with which a repository would run *trap*'s ``touch``."""
    run = f"touch {trap}; cat"
    for key in ("filter.evil.clean", "filter.evil.smudge", "core.pager", "diff.external"):
        plain(folder, "config", key, run)
    plain(folder, "config", "filter.evil.required", "true")
    plain(folder, "config", "core.fsmonitor", f"touch {trap}")
    hook = folder / ".git" / "hooks" / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {trap}\n")
    hook.chmod(0o755)
    (folder / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    plain(folder, "config", "diff.evil.textconv", run)
    (folder / "a.txt").write_text("two\n")


@pytest.mark.parametrize(
    "arguments",
    [("status", "--short"), ("status", "--porcelain=v2", "--branch"), ("rev-parse", "HEAD")],
)
async def test_nothing_of_a_hostile_repository_runs(
    repository: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    trap = tmp_path / "sprung"
    hostile(repository, trap)
    assert await git(str(repository), *arguments) is not None
    assert not trap.exists()
    plain(repository, "status")
    assert trap.exists(), "the trap works on a plain git"


async def test_the_root_is_found_from_a_subfolder(repository: Path) -> None:
    (repository / "src" / "deep").mkdir(parents=True)
    assert await project_root(repository / "src" / "deep") == repository


async def test_a_folder_without_repository_is_its_own_root(tmp_path: Path) -> None:
    assert await project_root(tmp_path) == tmp_path
    assert await git(str(tmp_path), "status") is None
    assert await git(str(tmp_path / "gone"), "status") is None
