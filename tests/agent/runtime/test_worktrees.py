"""Worktrees: making, merging and removing them, and what cannot be done."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.config.paths import Paths
from agent.permission.protected import is_guarded
from agent.permission.trust.trust import SavedAnswer, TrustStore
from agent.records.errors import WorktreeError
from agent.runtime.merging import merge
from agent.runtime.worktrees import Worktrees, find_worktree, related_folders
from tests.agent.runtime.worktree_steps import make
from tests.support.git import git

Git = Callable[..., str]


LIMITED = """
import asyncio, resource, sys
from pathlib import Path
from agent.config.paths import Paths
from agent.config.settings_schema import WorktreeConfig
from agent.records.errors import WorktreeError
from agent.runtime.merging import merge
from agent.runtime.worktrees import Worktrees

resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
paths = Paths.find({"HOME": "/", "OPENCODE_PY_DATA": sys.argv[1]})
try:
    asyncio.run(Worktrees(paths, Path(sys.argv[2])).create("fix", WorktreeConfig(), {}))
except WorktreeError as error:
    print(error)
"""
"""Makes a worktree where no file can have more than 50,000 bytes."""


def make_limited(paths: Paths, shop: Path) -> str:
    words = [sys.executable, "-c", LIMITED, str(paths.data), str(shop)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


async def test_a_worktree_has_a_branch_and_folder_of_its_own(paths: Paths, shop: Path) -> None:
    made, notices = await make(paths, shop)
    assert notices == ()
    assert Path(made.folder).is_relative_to(paths.data / "worktrees")
    assert (Path(made.folder) / "a.txt").read_text() == "one\n"
    assert git(made.folder, "branch", "--show-current") == "opencode/fix\n"
    assert made.folder in git(shop, "worktree", "list")
    assert git(shop, "status", "--short") == git(made.folder, "status", "--short") == ""
    assert find_worktree(paths, Path(made.folder, "deep")) is None
    assert find_worktree(paths, made.folder) == made
    assert related_folders(paths, shop, shop) == (made.folder,)
    assert related_folders(paths, Path(made.folder), Path(made.folder)) == (str(shop),)
    another, _ = await make(paths, shop, "")
    assert another.name == "work-1"
    assert git(made.folder, "fsck") == ""


async def test_hooks_and_filters_of_the_repository_do_not_run(paths: Paths, shop: Path) -> None:
    marker = shop.parent / "ran"
    hook = shop / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)
    git(shop, "config", "filter.x.smudge", f"touch {marker}; cat")
    (shop / ".gitattributes").write_text("*.txt filter=x\n")
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "two")
    marker.unlink(missing_ok=True)
    made, _ = await make(paths, shop)
    (Path(made.folder) / "b.txt").write_text("two\n")
    await merge(made, "merge", "Add b")
    assert not marker.exists()


async def test_ignored_files_are_copied_and_the_setup_runs(paths: Paths, shop: Path) -> None:
    (shop / ".env").write_text("KEY=1\n")
    (shop / "secrets").mkdir()
    (shop / "secrets" / "db").write_text("x")
    (shop / "new.txt").write_text("not committed\n")
    made, notices = await make(
        paths,
        shop,
        copy=(".env", "secrets", "a.txt"),
        setup="pwd > .env.where; echo it broke; exit 3",
    )
    folder = Path(made.folder)
    assert (folder / ".env").read_text() == "KEY=1\n"
    assert (folder / "secrets" / "db").read_text() == "x"
    assert (folder / ".env.where").read_text().strip() == made.folder
    assert notices == (
        "The worktree starts from the last commit, without your changes to 1 file.",
        "worktree.setup failed (3): it broke",
    )


@pytest.mark.parametrize("pattern", ["../x", "/etc/passwd", ""])
async def test_only_files_of_the_project_are_copied(paths: Paths, shop: Path, pattern: str) -> None:
    with pytest.raises(WorktreeError, match="not inside the project"):
        await make(paths, shop, copy=(pattern,))
    assert "fix" not in git(shop, "worktree", "list") + git(shop, "branch")
    assert Worktrees(paths, shop).all() == []


async def test_a_name_that_is_taken_or_is_none(paths: Paths, shop: Path) -> None:
    await make(paths, shop)
    git(shop, "branch", "opencode/mine")
    for name in ("fix", "mine"):
        with pytest.raises(WorktreeError, match="already exists"):
            await make(paths, shop, name)
    for name in ("a/b", "-x", "..", "x.lock", "a b", "ä"):
        with pytest.raises(WorktreeError, match="cannot be named"):
            await make(paths, shop, name)


async def test_no_repository_and_no_commit(paths: Paths, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(WorktreeError, match="no git repository"):
        await make(paths, empty)
    git(empty, "init", "-q")
    with pytest.raises(WorktreeError, match="starts from a commit"):
        await make(paths, empty)


async def test_a_detached_shallow_or_dirty_repository(
    paths: Paths, shop: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{shop}", "shallow")
    shallow = tmp_path / "shallow"
    git(shallow, "checkout", "-q", "--detach")
    (shallow / "a.txt").write_text("mine\n")
    made, notices = await make(paths, shallow)
    assert notices == ("The worktree starts from the last commit, without your changes to 1 file.",)
    assert (Path(made.folder) / "a.txt").read_text() == "one\n"
    (Path(made.folder) / "b.txt").write_text("two\n")
    with pytest.raises(WorktreeError, match="is not on a branch"):
        await merge(made, "merge", "Add b")
    assert "staged" in await merge(made, "squash", "Add b")
    assert git(shallow, "status", "--short") == " M a.txt\nA  b.txt\n"


async def test_a_full_disk_leaves_nothing(paths: Paths, shop: Path) -> None:
    """Files cannot grow, as on a full disk."""
    (shop / "big.txt").write_text("x" * 100_000)
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "big")
    assert "The worktree could not be created" in make_limited(paths, shop)
    assert git(shop, "branch", "--list", "opencode/*") == ""
    assert "fix" not in git(shop, "worktree", "list")
    assert Worktrees(paths, shop).all() == []
    made, _ = await make(paths, shop)
    assert (Path(made.folder) / "big.txt").exists()


@pytest.mark.parametrize(
    ("mode", "status", "commits"),
    [("merge", "", 2), ("squash", "A  b.txt\n", 1), ("patch", "?? b.txt\n", 1)],
)
async def test_work_comes_back(
    paths: Paths, shop: Path, mode: str, status: str, commits: int
) -> None:
    made, _ = await make(paths, shop)
    assert "Nothing to merge" in await merge(made, mode, "x")  # type: ignore[arg-type]
    (Path(made.folder) / "b.txt").write_text("two\n")
    await merge(made, mode, "Add b")  # type: ignore[arg-type]
    assert (shop / "b.txt").read_text() == "two\n"
    assert git(shop, "status", "--short") == status
    assert len(git(shop, "log", "--oneline").splitlines()) == commits
    assert git(made.folder, "log", "-1", "--format=%an %s") == "Me Add b\n"
    assert not list((shop / ".git").glob("MERGE_*"))


@pytest.mark.parametrize("mode", ["merge", "squash", "patch"])
async def test_a_conflict_changes_nothing(paths: Paths, shop: Path, mode: str) -> None:
    made, _ = await make(paths, shop)
    (Path(made.folder) / "a.txt").write_text("theirs\n")
    (shop / "a.txt").write_text("mine\n")
    git(shop, "commit", "-q", "-a", "-m", "mine")
    (shop / "c.txt").write_text("not committed\n")
    with pytest.raises(WorktreeError, match=r"Nothing was (merged|changed).*a\.txt"):
        await merge(made, mode, "theirs")  # type: ignore[arg-type]
    assert (shop / "a.txt").read_text() == "mine\n"
    assert git(shop, "status", "--short") == "?? c.txt\n"
    assert git(made.folder, "status", "--short") == ""


async def test_a_merge_over_uncommitted_changes_is_refused(paths: Paths, shop: Path) -> None:
    made, _ = await make(paths, shop)
    (Path(made.folder) / "a.txt").write_text("theirs\n")
    (shop / "a.txt").write_text("not committed\n")
    with pytest.raises(WorktreeError, match="Nothing was merged"):
        await merge(made, "merge", "theirs")
    assert (shop / "a.txt").read_text() == "not committed\n"
    assert git(shop, "status", "--short") == " M a.txt\n"


async def test_only_a_clean_worktree_is_removed(paths: Paths, shop: Path) -> None:
    made, _ = await make(paths, shop)
    worktrees = Worktrees(paths, shop)
    (Path(made.folder) / "b.txt").write_text("two\n")
    with pytest.raises(WorktreeError, match=r"is kept: 1 file is not committed \(b.txt\)"):
        await worktrees.remove(made)
    await merge(made, "squash", "Add b")
    assert "The branch opencode/fix is kept" in await worktrees.remove(made)
    assert find_worktree(paths, made.folder) is None
    assert git(shop, "branch", "--list", "opencode/*") == "  opencode/fix\n"
    assert made.folder not in git(shop, "worktree", "list")
    again, _ = await make(paths, shop, "other")
    assert "and its branch are removed" in await worktrees.remove(again)
    assert "other" not in git(shop, "branch")


async def test_trust_follows(paths: Paths, shop: Path) -> None:
    store, answer = TrustStore(paths.data), SavedAnswer(trusted=True, hashes={"x": "1"})
    store.save(shop, answer)
    made, _ = await make(paths, shop)
    assert store.load(Path(made.folder)) == answer


def test_files_in_a_worktree_are_not_those_of_the_program() -> None:
    data = "/home/me/.local/share/opencode-py"
    assert not is_guarded("a.py", f"{data}/worktrees/shop-1/fix/a.py")
    assert is_guarded(f"{data}/worktrees/shop-1/fix.json")
    assert is_guarded(f"{data}/sessions.db")
    assert is_guarded("AGENTS.md", f"{data}/worktrees/shop-1/fix/AGENTS.md") == is_guarded(
        "AGENTS.md", "/home/me/shop/AGENTS.md"
    )
