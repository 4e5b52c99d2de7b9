"""Changes to review, from real repositories, and hunks that are reverted in them."""

import os
import subprocess
from pathlib import Path

import pytest

from agent.files import FileTracker
from agent.records.errors import NothingToDo
from agent.session.review.changes import (
    branch_changes,
    pull_request_changes,
    working_tree_changes,
)
from agent.session.review.reviewed_file import HunkWriter, ReviewedFile, reviewed_file

LONG = "".join(f"line {n}\n" for n in range(1, 41))
CHANGED = LONG.replace("line 3\n", "three\n").replace("line 30\n", "")


def git(folder: Path, *arguments: str) -> None:
    names = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(("git", *names, *arguments), cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-qb", "main")
    (root / "a.txt").write_text(LONG)
    (root / "gone.txt").write_text("bye\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def by_path(files: tuple[ReviewedFile, ...]) -> dict[str, ReviewedFile]:
    return {file.block.path: file for file in files}


async def test_the_working_tree_with_new_and_deleted_files(repository: Path) -> None:
    (repository / "a.txt").write_text(CHANGED)
    (repository / "gone.txt").unlink()
    (repository / "sub").mkdir()
    (repository / "sub/new.txt").write_text("hello\n")
    (repository / "image.png").write_bytes(b"\x89PNG\0\0")
    (repository / ".gitignore").write_text("*.log\n")
    (repository / "x.log").write_text("ignored\n")
    found = await working_tree_changes(repository)
    files = by_path(found.files)
    assert [*files] == [".gitignore", "a.txt", "gone.txt", "sub/new.txt"]
    assert (files["a.txt"].old, files["a.txt"].new) == (LONG, CHANGED)
    assert [files[p].block.change for p in ("gone.txt", "sub/new.txt")] == ["delete", "create"]
    assert found.notes == ("image.png is binary or too large",)


async def test_staged_changes_count_and_a_repository_without_commits(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("staged\n")
    git(tmp_path, "add", "a.txt")
    (tmp_path / "b.txt").write_text("new\n")
    found = await working_tree_changes(tmp_path)
    assert {f.block.path: f.new for f in found.files} == {"a.txt": "staged\n", "b.txt": "new\n"}


async def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(NothingToDo, match="not in a git repository"):
        await working_tree_changes(tmp_path)


async def test_a_branch_has_commits_and_what_is_not_committed(repository: Path) -> None:
    git(repository, "checkout", "-qb", "feature")
    (repository / "a.txt").write_text(CHANGED)
    git(repository, "commit", "-qam", "second")
    (repository / "b.txt").write_text("new\n")
    git(repository, "checkout", "-q", "main")
    (repository / "main.txt").write_text("not mine\n")
    git(repository, "add", "main.txt")
    git(repository, "commit", "-qm", "on main")
    git(repository, "checkout", "-q", "feature")
    found = await branch_changes(repository)
    assert [*by_path(found.files)] == ["a.txt", "b.txt"]
    assert found.title == "the changes since main"
    for wrong in ("nowhere", "--output=x"):
        with pytest.raises(NothingToDo):
            await branch_changes(repository, wrong)


async def test_the_repository_runs_nothing(repository: Path) -> None:
    (repository / "a.txt").write_text(CHANGED)
    (repository / ".gitattributes").write_text("*.txt diff=evil filter=evil\n")
    for key in ("diff.evil.textconv", "diff.evil.command", "filter.evil.clean", "diff.external"):
        git(repository, "config", key, "touch ran")
    assert (await working_tree_changes(repository)).files
    assert not (repository / "ran").exists()


async def test_a_pull_request(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    gh = bin_folder / "gh"
    gh.write_text(
        "#!/bin/sh\n"
        'if [ "$3" = 9 ]; then echo "no pull requests found" >&2; exit 1; fi\n'
        "printf 'diff --git a/a.txt b/a.txt\\n--- a/a.txt\\n+++ b/a.txt\\n"
        "@@ -3 +3 @@\\n-line 3\\n+three\\n'\n"
    )
    gh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.environ['PATH']}")
    found = await pull_request_changes(repository, "12")
    (file,) = found.files
    assert (found.title, file.block.path, file.can_revert) == ("pull request 12", "a.txt", False)
    with pytest.raises(NothingToDo, match="no pull requests found"):
        await pull_request_changes(repository, "9")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NothingToDo, match="not installed"):
        await pull_request_changes(repository, "12")


FIRST, SECOND, BOTH = frozenset({0}), frozenset({1}), frozenset({0, 1})
NONE: frozenset[int] = frozenset()


async def test_hunks_are_reverted_and_kept_again(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(CHANGED)
    file = reviewed_file("a.txt", LONG, CHANGED)
    writer = HunkWriter(tmp_path, FileTracker())
    await writer.write(file, BOTH, SECOND)
    assert path.read_text() == LONG.replace("line 30\n", "")
    await writer.write(file, SECOND, NONE)
    assert path.read_text() == LONG
    await writer.write(file, NONE, BOTH)
    assert path.read_text() == CHANGED


async def test_new_and_deleted_files_are_reverted(tmp_path: Path) -> None:
    writer = HunkWriter(tmp_path, FileTracker())
    new, gone = tmp_path / "new.txt", tmp_path / "sub/gone.txt"
    new.write_text("hello\n")
    made = reviewed_file("new.txt", None, "hello\n")
    await writer.write(made, FIRST, NONE)
    assert not new.exists()
    await writer.write(made, NONE, FIRST)
    assert new.read_text() == "hello\n"
    deleted = reviewed_file("sub/gone.txt", "bye\n", None)
    await writer.write(deleted, FIRST, NONE)
    assert gone.read_text() == "bye\n"
    await writer.write(deleted, NONE, FIRST)
    assert not gone.exists()


async def test_a_file_that_changed_since_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(CHANGED + "more\n")
    file = reviewed_file("a.txt", LONG, CHANGED)
    with pytest.raises(NothingToDo, match="has changed since"):
        await HunkWriter(tmp_path, FileTracker()).write(file, BOTH, NONE)
    assert path.read_text() == CHANGED + "more\n"


async def test_line_endings_and_encoding_on_disk_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf" + CHANGED.replace("\n", "\r\n").encode())
    file = reviewed_file("a.txt", LONG, CHANGED)
    await HunkWriter(tmp_path, FileTracker()).write(file, BOTH, NONE)
    assert path.read_bytes() == b"\xef\xbb\xbf" + LONG.replace("\n", "\r\n").encode()


@pytest.mark.parametrize("name", ["../outside.txt", "link.txt", "folder/outside.txt"])
async def test_nothing_outside_is_written(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.txt").write_text(CHANGED)
    (root / "link.txt").symlink_to(tmp_path / "outside.txt")
    (root / "folder").symlink_to(tmp_path)
    with pytest.raises(NothingToDo, match="outside"):
        await HunkWriter(root, FileTracker()).write(reviewed_file(name, LONG, CHANGED), BOTH, NONE)
    assert (tmp_path / "outside.txt").read_text() == CHANGED
