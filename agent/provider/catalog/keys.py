"""Storage of API keys: one file that only its owner can read.

The file is ``auth.json`` in the data folder, mode 0600 in a folder of mode 0700. The rest of the
program uses only the ``KeyStore`` protocol, so that a system keyring could replace the file.
"""

import json
import os
import stat
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from agent.config.private_file import PrivateFile
from agent.records.errors import StoreUnavailable
from agent.records.frozen import frozen
from agent.records.json import Json

FILE_NAME = "auth.json"
SHOWN_CHARACTERS = 4
"""The number of characters of a long key that are shown."""


@frozen
class StoredKey:
    """A stored key."""

    key: str = field(repr=False)
    added: float
    """Seconds since the epoch."""


class KeyStore(Protocol):
    """Keys by the id of their provider."""

    def stored(self) -> Mapping[str, StoredKey]:
        """Return all keys, as they are now."""
        ...

    def put(self, provider: str, key: str) -> None:
        """Store *key*, replacing an older one. Raises ``StoreUnavailable``."""
        ...

    def remove(self, provider: str) -> bool:
        """Remove a key, and return whether there was one. Raises ``StoreUnavailable``."""
        ...


class NoKeyStore:
    """A key store that is always empty."""

    def stored(self) -> Mapping[str, StoredKey]:
        return {}

    def put(self, provider: str, key: str) -> None:
        raise StoreUnavailable(f"The API key of {provider} cannot be stored.")

    def remove(self, provider: str) -> bool:
        return False


class AuthFile:
    """The keys in the *data* folder. Changes by other instances of the program count at once.

    A file that other users can read is not used; ``fault`` holds the reason until it is fixed.
    """

    def __init__(self, data: Path) -> None:
        self._path = data / FILE_NAME
        self._file = PrivateFile(self._path, "The key")
        self._read: tuple[tuple[int, int, int] | None, Mapping[str, StoredKey]] = (None, {})
        self.fault = ""

    def stored(self) -> Mapping[str, StoredKey]:
        try:
            info = self._path.stat()
        except OSError:
            self.fault = ""
            return {}
        stamp = (info.st_mtime_ns, info.st_size, info.st_ino)
        if self._read[0] != stamp:
            self._read = (stamp, MappingProxyType(self._load(info)))
        return self._read[1]

    def put(self, provider: str, key: str) -> None:
        with self._open_for_change() as keys:
            keys[provider] = StoredKey(key, time.time())

    def remove(self, provider: str) -> bool:
        if provider not in self.stored():
            return False
        with self._open_for_change() as keys:
            return keys.pop(provider, None) is not None

    def _load(self, info: os.stat_result) -> dict[str, StoredKey]:
        self.fault = self._untrusted_reason(info)
        if self.fault:
            return {}
        try:
            found: Json = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            self.fault = f"{self._path} cannot be read, so no stored key is used."
            return {}
        entries = found.get("keys") if isinstance(found, dict) else None
        if not isinstance(entries, dict):
            self.fault = f"{self._path} contains no readable keys."
            return {}
        return {name: key for name, entry in entries.items() if (key := _parse_entry(entry))}

    def _untrusted_reason(self, info: os.stat_result) -> str:
        """Return the reason why the file is not used, "" where it is."""
        if stat.S_IMODE(info.st_mode) & 0o077:
            return (
                f"Other users can read {self._path}, so its keys are not used. Run chmod 600 on it."
            )
        if hasattr(os, "geteuid") and info.st_uid not in {0, os.geteuid()}:
            return f"{self._path} belongs to another user, so its keys are not used."
        return ""

    @contextmanager
    def _open_for_change(self) -> Generator[dict[str, StoredKey]]:
        """Yield the keys, and write them back afterwards."""
        with self._file.edit() as whole:
            keys = dict(self.stored())
            if self.fault:
                raise StoreUnavailable(self.fault)
            yield keys
            whole["keys"] = {
                name: {"key": kept.key, "added": int(kept.added)}
                for name, kept in sorted(keys.items())
            }


def _parse_entry(entry: Json) -> StoredKey | None:
    if not isinstance(entry, dict) or not isinstance(key := entry.get("key"), str) or not key:
        return None
    added = entry.get("added")
    return StoredKey(key, added if isinstance(added, int | float) else 0.0)


def mask_key(key: str) -> str:
    """Return the end of *key*, enough to distinguish two keys; of a short key nothing."""
    return f"…{key[-SHOWN_CHARACTERS:]}" if len(key) >= 5 * SHOWN_CHARACTERS else "…"


def key_error(key: str) -> str:
    """Return a sentence why *key* is no valid key (without quoting it), "" if it can be one."""
    if not key:
        return "Enter a key."
    if not (key.isascii() and key.isprintable()) or " " in key:
        return "This contains characters that no API key has. Copy the key again."
    return ""
