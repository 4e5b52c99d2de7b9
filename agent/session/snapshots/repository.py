"""The git directory that snapshots live in (spec 7, D5): made whole or not at all, and an index for
each that works with it."""

import contextlib
import fcntl
import itertools
import os
import shutil
from collections.abc import Generator
from pathlib import Path

_numbers = itertools.count()
_in_use: set[str] = set()

ATTRIBUTES = "* -text -filter -ident -eol -working-tree-encoding -merge !diff\n"
"""Bytes are kept as they are, and no filter of the project runs."""


def own_name() -> str:
    """A name for the files of one that works with the directory: no other of this process or of a
    living one has it."""
    name = f"{os.getpid()}-{next(_numbers)}"
    _in_use.add(name)
    return name


def to_be_made(git: Path) -> bool:
    """Whether the directory *git* is not there yet; makes room for it then."""
    if _mark(git).exists():
        return False
    git.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in git.parent.glob(f"{git.name}.new-*"):
        if _is_left(old.name.removeprefix(f"{git.name}.new-")):
            shutil.rmtree(old, ignore_errors=True)
    return True


def put(new: Path, git: Path) -> None:
    """Put what git made at *new* to its place, unless another was first. Raises ``OSError``."""
    new.chmod(0o700)
    (new / "info").mkdir(exist_ok=True, mode=0o700)
    _write_private(new / "info" / "exclude", "/.git\n")
    _write_private(_mark(new), ATTRIBUTES)
    with _alone(git.parent):
        if not _mark(git).exists():
            shutil.rmtree(git, ignore_errors=True)  # made half-way
            new.rename(git)


def set_up(git: Path, index: Path) -> None:
    """What git is to know of the project; and this program's *index* as one was kept last, so that
    only what has changed since is read."""
    if _mark(git).read_text("utf-8") != ATTRIBUTES:  # another may be reading it just now
        _write_private(_mark(git), ATTRIBUTES)
    for old in git.glob("index-*"):
        if _is_left(old.name.removeprefix("index-").partition(".")[0]):
            old.unlink(missing_ok=True)
    with contextlib.suppress(FileNotFoundError):
        shutil.copyfile(git / "index", index)
        index.chmod(0o600)


def pass_over(git: Path, line: str) -> None:
    """Have git pass over what *line* names, once."""
    exclude = git / "info" / "exclude"
    before = exclude.read_text("utf-8", "surrogateescape") if exclude.exists() else ""
    if line not in before.splitlines():
        with exclude.open("a", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{line}\n")  # never without a line that another git goes by


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


def _is_left(name: str) -> bool:
    """Whether nobody has the name any more: its process is gone, or this one came by its number."""
    pid = name.partition("-")[0]
    return name not in _in_use if pid == str(os.getpid()) else not Path("/proc", pid).exists()


@contextlib.contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Look at what is in *folder* and change it while no other instance does."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
