"""Parsing of unified diffs, compared with git itself."""

import subprocess
from pathlib import Path

import pytest

from agent.tools.files.unified_diff import parse_unified_diff


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ("git", "-c", "user.name=A", "-c", "user.email=a@example.org", *arguments),
        cwd=folder,
        check=True,
        capture_output=True,
    ).stdout.decode()


def diff_of(tmp_path: Path, before: dict[str, str], after: dict[str, str], *flags: str) -> str:
    git(tmp_path, "init", "-q")
    for files in (before, after):
        for path in tmp_path.rglob("*"):
            if path.is_file() and ".git" not in path.parts:
                path.unlink()
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(text.encode())
        git(tmp_path, "add", "-A")
        if files is before:
            git(tmp_path, "commit", "-qm", "before")
    return git(tmp_path, "diff", "--cached", *flags)


LONG = "".join(f"line {n}\n" for n in range(1, 41))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\n", "a\nc\n"),
        ("a\nb", "a\nb\n"),
        ("a\nb\n", "a\nb"),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("", "a\n"),
        ("a\n", ""),
        ("--- a\n+++ b\n@@ -1 +1 @@\n", "--- a\n+++ c\n@@ -1 +1 @@\n"),
        (LONG, LONG.replace("line 3\n", "").replace("line 30", "line thirty")),
        ("one\x0ctwo\n", "one\x0ctwo\nthree\u2028four\n"),
    ],
)
def test_unlimited_context_gives_both_texts(tmp_path: Path, old: str, new: str) -> None:
    text = diff_of(tmp_path, {"a.txt": old}, {"a.txt": new}, "--unified=100000")
    (file,) = parse_unified_diff(text)
    assert (file.old, file.new) == (old, new)
    assert file.block.path == "a.txt"


def test_line_numbers_and_counts(tmp_path: Path) -> None:
    new = LONG.replace("line 3\n", "").replace("line 30", "line thirty")
    (file,) = parse_unified_diff(diff_of(tmp_path, {"a": LONG}, {"a": new}))
    first, second = file.block.hunks
    gone = next(line for line in first.lines if line.kind == "remove")
    put = next(line for line in second.lines if line.kind == "add")
    assert (gone.old, gone.new, gone.text) == (3, None, "line 3")
    assert (put.old, put.new, put.text) == (None, 29, "line thirty")
    assert (file.block.added, file.block.removed) == (1, 2)


@pytest.mark.parametrize(
    "name", ["with space.txt", "ä/ö.txt", 'quo"te.txt', "tab\there.txt", "b/a"]
)
def test_names_that_git_quotes(tmp_path: Path, name: str) -> None:
    (file,) = parse_unified_diff(diff_of(tmp_path, {name: "a\n"}, {name: "b\n"}))
    assert file.block.path == name


def test_kinds_of_change(tmp_path: Path) -> None:
    before = {"gone": "1\n", "moved": LONG, "same": "x\n", "bin": "a\0b"}
    after = {"new": "2\n", "there": LONG + "more\n", "same": "x\n", "bin": "a\0c"}
    found = {f.block.path: f for f in parse_unified_diff(diff_of(tmp_path, before, after, "-M"))}
    assert {path: file.block.change for path, file in found.items()} == {
        "bin": "modify",
        "gone": "delete",
        "new": "create",
        "there": "move",
    }
    assert found["there"].block.moved_from == "moved"
    assert [path for path, file in found.items() if file.binary] == ["bin"]


def test_other_text_is_no_diff() -> None:
    assert parse_unified_diff("nothing here\n") == ()
