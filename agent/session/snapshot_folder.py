"""The git directory that snapshots live in (spec 7, D5): made whole or not at all, and an index for
each program that works with it."""

import contextlib
import os
import shutil
from pathlib import Path

ATTRIBUTES = "* -text -filter -ident -eol -working-tree-encoding -merge !diff\n"
"""Bytes are kept as they are, and no filter of the project runs."""


def to_be_made(git: Path) -> bool:
    """Whether the directory *git* is not there yet; makes room for it then."""
    if _mark(git).exists():
        return False
    git.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in git.parent.glob(f"{git.name}.new-*"):
        if _is_ours_or_left(old.name.rpartition("-")[2]):
            shutil.rmtree(old, ignore_errors=True)
    return True


def put(new: Path, git: Path) -> None:
    """Put what git made at *new* to its place. Raises ``OSError``."""
    new.chmod(0o700)
    (new / "info").mkdir(exist_ok=True, mode=0o700)
    _write_private(new / "info" / "exclude", "/.git\n")
    _write_private(_mark(new), ATTRIBUTES)
    if not _mark(git).exists():
        shutil.rmtree(git, ignore_errors=True)
    try:
        new.rename(git)
    except OSError:
        if not _mark(git).exists():  # else another instance was first
            raise


def set_up(git: Path, index: Path) -> None:
    """What git is to know of the project; and this program's *index* as one was kept last, so that
    only what has changed since is read."""
    _write_private(_mark(git), ATTRIBUTES)
    for old in git.glob("index-*"):
        if _is_ours_or_left(old.name.removeprefix("index-").partition(".")[0]):
            old.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(git / "index", index)
        index.chmod(0o600)


def pass_over(git: Path, line: str) -> None:
    """Have git pass over what *line* names, once."""
    exclude = git / "info" / "exclude"
    before = exclude.read_text("utf-8", "surrogateescape") if exclude.exists() else ""
    if line not in before.splitlines():
        exclude.write_text(f"{before}{line}\n", "utf-8", "surrogateescape")


def keep_index(git: Path, index: Path) -> None:
    """Keep this program's index for those that come later."""
    copy = index.with_name(f"{index.name}.copy")
    with contextlib.suppress(OSError):
        shutil.copyfile(index, copy)
        copy.chmod(0o600)
        copy.replace(git / "index")


def _mark(git: Path) -> Path:
    """The file that is there once the directory is whole."""
    return git / "info" / "attributes"


def _is_ours_or_left(pid: str) -> bool:
    """Whether the process *pid* is this one, or gone."""
    return pid == str(os.getpid()) or not Path("/proc", pid).exists()


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
