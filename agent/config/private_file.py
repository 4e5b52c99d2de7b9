"""Files that only their owner can read, shared by several instances: whole writes, locks, and JSON
objects in the data folder."""

import fcntl
import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from agent.config.paths import ensure_folder
from agent.records.errors import StoreUnavailable
from agent.records.json import Json, JsonObject


class PrivateFile:
    """A JSON object in *path* (mode 0600)."""

    def __init__(self, path: Path, description: str) -> None:
        """*description* begins the message of ``StoreUnavailable`` when the file cannot be
        written."""
        self.path = path
        self._what = description

    def read(self) -> JsonObject:
        """Return the object; an empty one if none can be read."""
        try:
            found: Json = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    @contextmanager
    def edit(self) -> Generator[JsonObject]:
        """Give the object to change, under a lock shared with other instances.

        It is written completely or not at all, and not if an exception leaves the block.
        """
        try:
            ensure_folder(self.path.parent)
            with locked(self.path.with_suffix(".lock")):
                value = self.read()
                yield value
                write_private(self.path, json.dumps(value, indent=1))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise StoreUnavailable(
                f"{self._what} cannot be stored in {self.path}: {reason}."
            ) from error


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold the lock on *path*, a folder or a file made for it, which keeps other instances out."""
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    lock = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def write_private(path: Path, text: str) -> None:
    """Write *text* to *path* (mode 0600), completely or not at all. Raises ``OSError``."""
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def objects_in(value: Mapping[str, Json], key: str) -> dict[str, JsonObject]:
    """Return the named objects at *key*."""
    found = value.get(key)
    if not isinstance(found, dict):
        return {}
    return {name: cast("JsonObject", one) for name, one in found.items() if isinstance(one, dict)}
