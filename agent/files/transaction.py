"""Several files changed together: all of them or none."""

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, Sequence
from pathlib import Path

from agent.files.disk import FileStamp, replace_file
from agent.records.frozen import frozen


@frozen
class PutFile:
    """The step that writes *data* to a file."""

    path: str
    """With links resolved."""
    data: bytes
    create: bool = False
    """True if the file is new: the step fails if something exists at *path*."""
    mode: int | None = None
    """The permission bits; None keeps those that the file has or would get."""


@frozen
class RemoveFile:
    """The step that removes the file at *path*."""

    path: str


FileStep = PutFile | RemoveFile


class FileStepFailed(OSError):
    """The step for *path* failed because of *cause*. Everything was undone except the paths
    ``not_restored``."""

    def __init__(self, path: str, cause: OSError, left: Sequence[str]) -> None:
        super().__init__(cause.errno, cause.strerror, path)
        self.path = path
        self.cause = cause
        self.not_restored = tuple(left)


@frozen
class _Undo:
    path: str
    action: Callable[[], object]


def change_all(steps: Sequence[FileStep]) -> dict[str, FileStamp]:
    """Take *steps* in order and return the stamps of the files put, by path.

    Raises ``FileStepFailed`` after the completed steps have been undone.
    """
    undo: list[_Undo] = []
    aside: list[Path] = []
    stamps: dict[str, FileStamp] = {}
    for step in steps:
        try:
            if isinstance(step, PutFile):
                stamps[step.path] = _put(step, undo)
            else:
                aside.append(_set_aside(step.path, undo))
        except OSError as error:
            raise FileStepFailed(step.path, error, _undo_steps(undo)) from error
    for path in aside:
        with contextlib.suppress(OSError):
            path.unlink()
    return stamps


def _put(step: PutFile, undo: list[_Undo]) -> FileStamp:
    path = Path(step.path)
    if step.create:
        missing = [folder for folder in path.parents if not folder.exists()]
        undo.append(_Undo(step.path, lambda: _drop_folders(missing)))
        stamp = replace_file(step.path, step.data, create=True)
        undo.append(_Undo(step.path, path.unlink))
    else:
        old, info = path.read_bytes(), path.stat()
        stamp = replace_file(step.path, step.data)
        undo.append(_Undo(step.path, lambda: _restore(path, old, info)))
    if step.mode is not None:
        path.chmod(stat.S_IMODE(step.mode))
    return stamp


def _restore(path: Path, data: bytes, info: os.stat_result) -> None:
    replace_file(str(path), data)
    path.chmod(stat.S_IMODE(info.st_mode))
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def _drop_folders(folders: Sequence[Path]) -> None:
    """Remove *folders*, innermost first, that were made for a file that is gone again."""
    for folder in folders:
        # It was perhaps never made, or another program uses it by now.
        with contextlib.suppress(OSError):
            folder.rmdir()


def _set_aside(path: str, undo: list[_Undo]) -> Path:
    """Rename the file, so that it can be restored with its owner and mode."""
    target = Path(path)
    aside = target.with_name(f".{target.name[:60]}.{secrets.token_hex(4)}.gone")
    target.rename(aside)
    undo.append(_Undo(path, lambda: aside.rename(target)))
    return aside


def _undo_steps(undo: Sequence[_Undo]) -> list[str]:
    """Undo the steps in reverse order; return the paths for which that failed."""
    left: list[str] = []
    for step in reversed(undo):
        try:
            step.action()
        except OSError:
            left.append(step.path)
    return left
