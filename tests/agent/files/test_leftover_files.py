"""Temporary files of a killed writer are removed, and nothing else is."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.files.disk import (
    LEFTOVER_AGE,
    LEFTOVER_NAME,
    TEMPORARY_GLOB,
    remove_leftovers,
    replace_file,
    temporary_path,
)

KILLED = """
import os, signal, sys
from pathlib import Path
from agent.files import disk

def sync(descriptor):
    os.kill(os.getpid(), signal.SIGKILL)

os.fsync = sync
disk.replace_file(sys.argv[1], b"new")
"""


def later() -> float:
    return time.time() + LEFTOVER_AGE + 60


def test_leftovers_of_a_killed_writer_are_removed_after_a_day(tmp_path: Path) -> None:
    target = tmp_path / "notes.txt"
    target.write_text("old")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert killed.returncode < 0
    [left] = tmp_path.glob(TEMPORARY_GLOB)
    remove_leftovers(tmp_path, time.time())
    replace_file(str(target), b"next")  # another process can be writing it
    assert left.exists()
    remove_leftovers(tmp_path, later())
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("name", ["a", "x" * 200, "\u4f60" * 60, "two\nlines", ".hidden"])
def test_every_name_that_is_written_is_known(tmp_path: Path, name: str) -> None:
    assert LEFTOVER_NAME.fullmatch(temporary_path(tmp_path / name).name)


@pytest.mark.parametrize(
    "name",
    [
        ".notes.txt.opencode-py.tmp",
        "notes.txt.0a1b2c3d.opencode-py.tmp",
        ".notes.txt.0a1b2c3d.opencode-py.tmp~",
        ".notes.txt.0A1B2C3D.opencode-py.tmp",
        ".notes.txt.0a1b2c3.opencode-py.tmp",
        ".notes.txt.0a1b2c3d.gone",
        ".notes.txt.0a1b2c3d.tmp",
    ],
)
def test_files_that_a_user_can_have_made_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    remove_leftovers(tmp_path, later())
    assert (tmp_path / name).exists()


def test_only_files_go(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.touch()
    link, folder, good = (temporary_path(tmp_path / name) for name in ("link", "folder", "good"))
    link.symlink_to(kept)
    folder.mkdir()
    good.touch()
    remove_leftovers(tmp_path, later())
    assert {path.name for path in tmp_path.iterdir()} == {"kept", link.name, folder.name}


def test_an_old_text_is_no_old_file(tmp_path: Path) -> None:
    """It has the times of the file that it replaces for a moment."""
    writing = temporary_path(tmp_path / "notes.txt")
    writing.touch()
    os.utime(writing, (1.0, 1.0))
    remove_leftovers(tmp_path, time.time())
    assert writing.exists()


def test_a_write_clears_its_folder(tmp_path: Path) -> None:
    target = tmp_path / "notes.txt"
    target.write_text("old")
    left = temporary_path(target)
    left.touch()
    replace_file(str(target), b"new", clear=lambda folder: remove_leftovers(folder, later()))
    assert not left.exists()
