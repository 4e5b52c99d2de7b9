"""Reading and replacing files without surprises.

A replacement is whole or not at all: the new bytes are written and synced next to the
target, then renamed over it. Links are written through, mode and owner stay. What a killed writer
left half-written is removed when its folder is written next.
"""

import asyncio
import contextlib
import errno
import functools
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import ParamSpec, TypeVar

from agent.records.frozen import frozen

LEFTOVER_NAME = re.compile(r"\..{1,56}\.[0-9a-f]{8}\.opencode-py\.tmp", re.DOTALL)
"""The whole name of a file that is being written (``disk.temporary_path``); no other program uses
it."""

LEFTOVER_AGE = 24 * 3600.0
"""Seconds after which a file is no longer being written: that takes less than a second."""

MAX_ENTRIES = 5_000
"""Entries of a folder that are looked at."""


@functools.lru_cache(maxsize=256)
def remove_leftovers_once(folder: Path) -> None:
    """Call ``remove_leftovers`` once for each *folder*, and not at every write."""
    remove_leftovers(folder, time.time())


def remove_leftovers(folder: Path, now: float) -> None:
    """Remove what was left in *folder* longer than ``LEFTOVER_AGE`` before *now* (seconds since the
    epoch). Only files of this user that match the whole name; files that cannot be removed stay."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for _, entry in zip(range(MAX_ENTRIES), entries, strict=False):
            if LEFTOVER_NAME.fullmatch(entry.name) and _is_old(
                entry.stat(follow_symlinks=False), now
            ):
                Path(entry.path).unlink()


def _is_old(info: os.stat_result, now: float) -> bool:
    """Return whether it is our file and old by its ctime: its mtime can be that of another file."""
    ours = stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid()
    return ours and now - info.st_ctime > LEFTOVER_AGE


P = ParamSpec("P")
T = TypeVar("T")


@frozen
class FileStamp:
    """The state of a file."""

    size: int
    """In bytes."""
    mtime_ns: int
    digest: str | None = None
    """A digest of the bytes; None for a file of which only a part was read."""

    def same_file(self, other: "FileStamp") -> bool:
        """Return whether both describe the same content; the digest decides where both have one."""
        if self.size != other.size:
            return False
        if self.digest is not None and other.digest is not None:
            return self.digest == other.digest
        return self.mtime_ns == other.mtime_ns


@frozen
class FileContent:
    """All bytes of a file and the stamp that they had."""

    data: bytes
    stamp: FileStamp


class NotRegular(OSError):
    """The path is a folder, device, pipe or socket: *kind* names it."""

    def __init__(self, kind: str, path: str) -> None:
        super().__init__(errno.EINVAL, f"is a {kind}", path)
        self.kind = kind


_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "folder"),
    (stat.S_ISLNK, "circular link"),
    (stat.S_ISFIFO, "named pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "character device"),
    (stat.S_ISBLK, "block device"),
)


def kind_of(mode: int) -> str:
    """A word for the type in ``st_mode``: "file", "folder", "named pipe" …"""
    return next((name for check, name in _KINDS if check(mode)), "file")


def open_regular(path: str) -> int:
    """A read-only descriptor of a regular file, without ever blocking on a pipe or device.

    *path* has its links resolved: a link put there since is refused. Raises ``NotRegular``.
    """
    _must_be_regular(Path(path).lstat().st_mode, path)
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
    descriptor = os.open(path, flags)
    try:
        _must_be_regular(os.fstat(descriptor).st_mode, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _must_be_regular(mode: int, path: str) -> None:
    if not stat.S_ISREG(mode):
        raise NotRegular(kind_of(mode), path)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def stamp_of(data: bytes, info: os.stat_result) -> FileStamp:
    return FileStamp(len(data), info.st_mtime_ns, digest_of(data))


def load(path: str, limit: int) -> FileContent:
    """The whole of a regular file of at most *limit* bytes (``EFBIG`` beyond)."""
    with os.fdopen(open_regular(path), "rb") as file:
        info = os.fstat(file.fileno())
        data = file.read(limit + 1) if info.st_size <= limit else None
    if data is None or len(data) > limit:
        raise OSError(errno.EFBIG, "file too large", path)
    return FileContent(data, stamp_of(data, info))


IN_PLACE = frozenset({errno.EBUSY, errno.EXDEV})
"""Refusals to rename over a file that is a mount of its own, as containers have them."""


def replace_file(
    path: str,
    data: bytes,
    *,
    create: bool = False,
    clear: Callable[[Path], None] = remove_leftovers_once,
) -> FileStamp:
    """Put *data* in place of the file at *path* and return its new stamp.

    Links are followed: their target is replaced. *create* makes a new file (with its parents)
    and raises ``FileExistsError`` if one has appeared there meanwhile. *clear* removes temporary
    files of killed writers from the folder. Raises ``OSError``, and then the old file is intact.
    """
    target = Path(os.path.realpath(path))
    if create:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _temporary(target, data, 0o666)
        with _removed(temporary):
            _publish(temporary, target)
    else:
        old = target.stat()
        _must_be_regular(old.st_mode, str(target))
        if not old.st_mode & 0o222:
            raise PermissionError(errno.EACCES, "file is read-only", str(target))
        _replace(target, data, old)
    _sync_folder(target.parent)
    clear(target.parent)
    return stamp_of(data, target.stat())


def _replace(target: Path, data: bytes, old: os.stat_result) -> None:
    try:
        temporary = _temporary(target, data, 0o600)
    except PermissionError:
        # The folder takes no new files; this file can still be writable.
        _overwrite(target, data)
        return
    with _removed(temporary):
        if old.st_nlink > 1:
            # A rename would cut the other names off from the new text.
            _overwrite(target, data)
            return
        shutil.copystat(target, temporary)
        os.utime(temporary)
        _keep_owner(temporary, old)
        try:
            temporary.replace(target)
        except OSError as error:
            if error.errno not in IN_PLACE:
                raise
            _overwrite(target, data)


@contextlib.contextmanager
def _removed(temporary: Path) -> Generator[None]:
    """Remove the temporary file in any case."""
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _publish(temporary: Path, target: Path) -> None:
    """Link a finished file into place, so that no reader sees a partial file and no other file is
    lost."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        # No hard links on this file system: a rename, with a small gap before it.
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, "file exists", str(target)) from None
        temporary.rename(target)


TEMPORARY_GLOB = ".*.opencode-py.tmp"
"""The names of files that are being written, for what looks at a folder meanwhile (a glob)."""


def temporary_path(target: Path) -> Path:
    """Return an unused name in the folder of *target*, short enough even at four bytes a letter."""
    return target.with_name(f".{target.name[:56]}.{secrets.token_hex(4)}.opencode-py.tmp")


def _temporary(target: Path, data: bytes, mode: int) -> Path:
    """A synced file with *data* in the target's folder."""
    temporary = temporary_path(target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        temporary.unlink()
        raise
    return temporary


def _overwrite(target: Path, data: bytes) -> None:
    """Write in place; the old bytes come back if the disk refuses the new ones."""
    with target.open("r+b", buffering=0) as file:
        old = file.read()
        try:
            _fill(file.fileno(), data)
        except OSError:
            _fill(file.fileno(), old)
            raise


def _fill(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.ftruncate(descriptor, len(data))
    os.fsync(descriptor)


def _keep_owner(temporary: Path, old: os.stat_result) -> None:
    new = temporary.stat()
    if (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid):
        return
    # Only root can give files away; for others the new file is their own.
    with contextlib.suppress(PermissionError):
        os.chown(temporary, old.st_uid, old.st_gid)
        temporary.chmod(stat.S_IMODE(old.st_mode))


def _sync_folder(folder: Path) -> None:
    # Some file systems refuse to sync a folder; the rename has happened anyway.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


async def run_to_end(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run *function* in a thread to its end, even if the caller is canceled meanwhile."""
    task = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise


def printable(text: str) -> str:
    """Return a file name with bytes that are no UTF-8 as U+FFFD, so that it can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text
