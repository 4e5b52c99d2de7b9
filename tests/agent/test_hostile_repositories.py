"""Opening a hostile repository runs nothing: every way in which git runs programs of a folder."""

import os
from pathlib import Path

import pytest

from agent.git import git, project_root
from agent.session.prompt.environment_block import read_git_state
from agent.session.snapshots.snapshots import Snapshots
from tests.support.hostile_repositories import TRAPS, plain, repository


@pytest.mark.parametrize("name", TRAPS)
async def test_nothing_of_a_hostile_folder_runs(tmp_path: Path, name: str) -> None:
    """The root, the status line, the model's environment block, and snapshots with an undo."""
    trap, folder, mark = TRAPS[name], tmp_path / "shop", tmp_path / "sprung"
    script = tmp_path / "run"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    trap.plant(folder, str(script))
    mark.unlink(missing_ok=True)  # planting may have sprung it
    opened = folder / trap.inside

    root = await project_root(opened)
    for arguments in (
        ("status", "--porcelain=v2", "--branch"),
        ("rev-parse", "HEAD"),
        ("log", "-1"),
    ):
        await git(str(opened), *arguments)
    await read_git_state(str(opened))
    snapshots = Snapshots(tmp_path / "data", str(root))
    before = await snapshots.take()
    (opened / "a.txt").write_text("three\n")
    after = await snapshots.take()
    assert before is not None
    assert after is not None
    changed = await snapshots.changes(before, after)
    await snapshots.restore(before, tuple(change.path for change in changed))
    await snapshots.close()
    assert not mark.exists()
    if trap.springs:
        plain(opened, *trap.springs)
        assert mark.exists(), "the trap does not work with a plain git"


async def test_a_git_program_of_the_project_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative folder of PATH leads into the project."""
    folder, mark = tmp_path / "shop", tmp_path / "sprung"
    repository(folder)
    (folder / "git").write_text(f"#!/bin/sh\ntouch {mark}\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    assert await git(str(folder), "rev-parse", "HEAD") is not None
    assert not mark.exists()
