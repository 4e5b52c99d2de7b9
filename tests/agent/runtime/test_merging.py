"""Merging worktrees: what can go wrong has one clear message, and nothing is lost."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.config.paths import Paths
from agent.records.errors import WorktreeError
from agent.runtime.merging import MergeMode, merge, merge_base, merge_changes
from agent.runtime.worktree_git import reason_in, uncommitted_files
from agent.runtime.worktrees import Worktree, Worktrees, find_worktree, git_status
from agent.session.review.changes import worktree_changes
from tests.agent.runtime.worktree_steps import make
from tests.support.git import git

MODES: tuple[MergeMode, ...] = ("merge", "squash", "patch")

LIMITED = """
import asyncio, resource, sys
from pathlib import Path
from agent.config.paths import Paths
from agent.records.errors import WorktreeError
from agent.runtime.merging import merge
from agent.runtime.worktrees import find_worktree

paths = Paths.find({"HOME": "/", "OPENCODE_PY_DATA": sys.argv[1]})
made = find_worktree(paths, sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    asyncio.run(merge(made, sys.argv[3], "x"))
except WorktreeError as error:
    print(error)
"""
"""Merges where no file can have more than 50,000 bytes, as on a full disk."""


def merge_limited(paths: Paths, made: Worktree, mode: MergeMode) -> str:
    words = [sys.executable, "-c", LIMITED, str(paths.data), made.folder, mode]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_a_file_that_git_cannot_write_is_the_reason() -> None:
    errors = (
        "error: unable to write file a\nfatal: Could not reset index file to revision 'HEAD'.\n"
    )
    assert reason_in(errors) == "unable to write file a, perhaps because the disk is full"


def read(folder: Path | str, name: str) -> str:
    return Path(folder, f"{name}.txt").read_text()


def write(folder: Path | str, **texts: str) -> None:
    for name, text in texts.items():
        Path(folder, f"{name}.txt").write_text(text)


@pytest.mark.parametrize("mode", MODES)
async def test_a_full_disk_leaves_the_source_as_it_was(
    paths: Paths, shop: Path, mode: MergeMode
) -> None:
    made, _ = await make(paths, shop)
    write(made.folder, a="theirs\n", big="x" * 100_000, z="new\n")
    git(made.folder, "add", ".")
    git(made.folder, "commit", "-q", "-m", "big")
    write(shop, mine="not committed\n")
    told = merge_limited(paths, made, mode)
    assert told.startswith("Nothing was ")
    assert "git was ended: File size limit exceeded" in told
    assert git(shop, "status", "--short") == "?? mine.txt\n"
    assert (shop / "a.txt").read_text() == "one\n"
    assert not list((shop / ".git").glob("MERGE_*"))
    await merge(made, mode, "x")
    assert (shop / "z.txt").read_text() == "new\n"


async def test_a_full_disk_in_the_worktree_keeps_its_files(paths: Paths, shop: Path) -> None:
    made, _ = await make(paths, shop)
    lines = "".join(f"{number * 7919} {number * 104729}\n" for number in range(20_000))
    write(made.folder, big=lines)
    assert merge_limited(paths, made, "merge").startswith("Nothing was merged: ")
    assert read(made.folder, "big") == lines
    assert git(shop, "status", "--short") == ""
    await merge(made, "merge", "x")
    assert (shop / "big.txt").read_text() == lines


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["a", "new"])
async def test_files_that_would_be_overwritten_are_named(
    paths: Paths, shop: Path, mode: MergeMode, name: str
) -> None:
    made, _ = await make(paths, shop)
    write(made.folder, **{name: "theirs\n"})
    write(shop, **{name: "mine\n", "other": "mine too\n"})
    with pytest.raises(WorktreeError) as raised:
        await merge(made, mode, "x")
    assert f"has changes in {name}.txt that are not committed" in raised.value.message
    assert str(shop) in raised.value.message
    assert (shop / f"{name}.txt").read_text() == "mine\n"
    git(shop, "stash", "-q", "--include-untracked")
    await merge(made, mode, "x")
    assert (shop / f"{name}.txt").read_text() == "theirs\n"


@pytest.mark.parametrize("mode", MODES)
async def test_a_dirty_source_keeps_its_other_changes(
    paths: Paths, shop: Path, mode: MergeMode
) -> None:
    made, _ = await make(paths, shop)
    write(made.folder, b="theirs\n")
    write(shop, a="mine\n")
    await merge(made, mode, "x")
    assert (shop / "a.txt").read_text() == "mine\n"
    assert (shop / "b.txt").read_text() == "theirs\n"


@pytest.mark.parametrize("mode", MODES)
async def test_an_unfinished_merge_in_the_source_comes_first(
    paths: Paths, shop: Path, mode: MergeMode
) -> None:
    made, _ = await make(paths, shop)
    write(made.folder, b="theirs\n")
    git(shop, "checkout", "-q", "-b", "other")
    write(shop, a="other\n")
    git(shop, "commit", "-q", "-a", "-m", "other")
    git(shop, "checkout", "-q", "main")
    git(shop, "merge", "-q", "--no-ff", "--no-commit", "other")
    with pytest.raises(WorktreeError, match=r"merge, rebase or cherry-pick .* is not finished"):
        await merge(made, mode, "x")
    assert git(shop, "status", "--short") == "M  a.txt\n"
    git(shop, "merge", "--abort")
    await merge(made, mode, "x")
    assert (shop / "b.txt").exists()


@pytest.mark.parametrize("where", ["another branch", "detached"])
async def test_commits_that_are_not_on_its_branch_are_not_overlooked(
    paths: Paths, shop: Path, where: str
) -> None:
    made, _ = await make(paths, shop)
    words = ("-b", "mine") if where == "another branch" else ("--detach",)
    git(made.folder, "checkout", "-q", *words)
    write(made.folder, b="theirs\n")
    git(made.folder, "add", ".")
    git(made.folder, "commit", "-q", "-m", "b")
    for done in (merge(made, "merge", "x"), Worktrees(paths, shop).remove(made)):
        with pytest.raises(WorktreeError, match="not on opencode/fix, so nothing was done"):
            await done
    assert read(made.folder, "b") == "theirs\n"


async def test_without_git_it_says_so(
    paths: Paths, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = await make(paths, shop)
    write(made.folder, b="theirs\n")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    worktrees = Worktrees(paths, shop)
    for done in (
        make(paths, shop, "other"),
        merge(made, "merge", "x"),
        merge_base(made),
        worktrees.remove(made),
        worktrees.discard_unchanged(made),
    ):
        with pytest.raises(WorktreeError, match="git is not installed"):
            await done
    assert read(made.folder, "b") == "theirs\n"


async def test_a_source_that_is_gone(paths: Paths, shop: Path) -> None:
    made, _ = await make(paths, shop)
    write(made.folder, b="theirs\n")
    moved = shop.with_name("moved")
    shutil.move(shop, moved)
    for done in (merge(made, "merge", "x"), merge_base(made)):
        with pytest.raises(WorktreeError):
            await done
    assert read(made.folder, "b") == "theirs\n"
    shutil.move(moved, shop)
    await merge(made, "merge", "x")


def damage_index(made: Worktree) -> Callable[[], object]:
    """Damage git's index of a worktree; return what repairs it."""
    index = Path(git(made.folder, "rev-parse", "--git-path", "index").strip())
    whole = index.read_bytes()
    index.write_bytes(b"damaged")
    return lambda: index.write_bytes(whole)


async def test_changes_that_git_cannot_list_are_not_taken_for_none(
    paths: Paths, shop: Path
) -> None:
    made, _ = await make(paths, shop)
    write(made.folder, b="theirs\n")
    restore = damage_index(made)
    worktrees = Worktrees(paths, shop)
    for done in (
        worktrees.remove(made),
        worktrees.discard_unchanged(made),
        merge(made, "merge", "x"),
        uncommitted_files(Path(made.folder)),
    ):
        with pytest.raises(WorktreeError, match="so nothing was done"):
            await done
    restore()
    assert find_worktree(paths, made.folder) == made
    assert read(made.folder, "b") == "theirs\n"


async def test_the_review_compares_with_the_common_commit(paths: Paths, shop: Path) -> None:
    made, _ = await make(paths, shop)
    write(made.folder, a="theirs\n", b="new\n")
    git(made.folder, "commit", "-q", "-a", "-m", "a")
    write(shop, c="later\n")
    git(shop, "add", ".")
    git(shop, "commit", "-q", "-m", "c")
    found = await worktree_changes(Path(made.folder), made.name, await merge_base(made))
    assert [(file.block.path, file.old, file.new) for file in found.files] == [
        ("a.txt", "one\n", "theirs\n"),
        ("b.txt", None, "new\n"),
    ]
    await merge(made, "merge", "x")
    assert await merge_base(made) == git(made.folder, "rev-parse", "HEAD").strip()


PREPARED = {
    "copy": ("local.txt",),
    "setup": "echo locked > lock.txt; echo built > built.txt; rm gone.txt; echo two >> b.txt",
}
"""Copies and writes files that are not ignored, changes one and removes one."""


async def prepared(paths: Paths, shop: Path) -> Worktree:
    write(shop, b="one\n", gone="one\n", local="mine\n")
    git(shop, "add", "b.txt", "gone.txt")
    git(shop, "commit", "-q", "-m", "more")
    made, _ = await make(paths, shop, **PREPARED)
    return made


async def test_files_that_the_setup_left_are_no_work(paths: Paths, shop: Path) -> None:
    made = await prepared(paths, shop)
    assert find_worktree(paths, made.folder) == made
    assert len(await uncommitted_files(Path(made.folder))) == 5
    write(made.folder, built="built\n")  # written again
    assert await Worktrees(paths, shop).changed_files(made) == ()
    assert await Worktrees(paths, shop).discard_unchanged(made)
    assert find_worktree(paths, made.folder) is None


async def test_only_work_is_in_the_status_of_a_worktree(paths: Paths, shop: Path) -> None:
    """Folders are listed as a whole, as git does."""
    setup = f"{PREPARED['setup']}; mkdir made; echo 1 > made/one.txt"
    write(shop, b="one\n", gone="one\n")
    git(shop, "add", "b.txt", "gone.txt")
    git(shop, "commit", "-q", "-m", "more")
    made, _ = await make(paths, shop, setup=setup)
    folder = Path(made.folder)

    async def changed() -> list[str]:
        branch, *lines = (await git_status(paths, folder) or "").splitlines()[1:]
        assert branch == "# branch.head opencode/fix"
        return [line.split()[-1] for line in lines]

    assert await changed() == []
    write(folder, b="one\ntwo\nthree\n", lock="by hand\n", **{"new one": ""})
    assert await changed() == ["b.txt", "lock.txt", "one.txt"]
    (folder / "made" / "two.txt").touch()
    assert await changed() == ["b.txt", "lock.txt", "made/", "one.txt"]
    assert (await git_status(paths, shop) or "").count("\n") == 1
    assert await git_status(paths, paths.data) is None


async def test_a_renamed_file_is_one_line_of_the_status(paths: Paths, shop: Path) -> None:
    """Whatever its name contains. What the setup renamed is no work."""
    made, _ = await make(paths, shop, setup="git mv a.txt b.txt")
    folder = Path(made.folder)
    assert (await git_status(paths, folder) or "").count("\n") == 1
    (folder / "x\r1\u2028y").touch()
    *_, line = (await git_status(paths, folder) or "").split("\n")
    assert line == "? x\r1\u2028y"
    git(folder, "mv", "b.txt", "c d.txt")
    lines = (await git_status(paths, folder) or "").split("\n")[2:]
    assert [line[:2] for line in lines] == ["2 ", "? "]
    assert lines[0].endswith(" c d.txt\ta.txt")


@pytest.mark.parametrize("mode", MODES)
async def test_only_work_is_reviewed_and_merged(paths: Paths, shop: Path, mode: MergeMode) -> None:
    made = await prepared(paths, shop)
    write(made.folder, a="theirs\n", lock="by hand\n", **{"[x]": "new\n"})
    work = ["[x].txt", "a.txt", "lock.txt"]
    worktrees = Worktrees(paths, shop)
    assert await worktrees.changed_files(made) == tuple(work)
    assert not await worktrees.discard_unchanged(made)
    with pytest.raises(WorktreeError, match="3 files are not committed"):
        await worktrees.remove(made)
    assert [file.block.path for file in (await merge_changes(made)).files] == work
    await merge(made, mode, "x")
    assert git(made.folder, "show", "--format=", "--name-only").split() == work
    assert read(shop, "b") == "one\n"
    assert read(shop, "gone") == "one\n"
    assert read(shop, "lock") == "by hand\n"
    assert not (shop / "built.txt").exists()
    assert "removed" in await worktrees.remove(made)
