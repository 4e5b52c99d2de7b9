"""Small JSON files of the data folder that only their owner can read."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from agent.config.paths import ensure
from agent.errors import StoreUnavailable
from agent.jsontypes import Json, JsonObject


def read_object(path: Path) -> JsonObject:
    """The object in *path*; an empty one if there is none that can be read."""
    try:
        found: Json = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_object(path: Path, value: JsonObject, what: str) -> None:
    """Put *value* in *path*, whole or not at all (mode 0600). *what* begins the sentence of the
    ``StoreUnavailable`` that is raised where that can't be done."""
    temporary = path.with_suffix(f".{os.getpid()}")
    try:
        ensure(path.parent)
        temporary.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
            json.dump(value, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StoreUnavailable(f"{what} cannot be kept in {path}: {reason}.") from error


def objects_in(value: Mapping[str, Json], key: str) -> dict[str, JsonObject]:
    """The named objects at *key*."""
    found = value.get(key)
    if not isinstance(found, dict):
        return {}
    return {name: cast("JsonObject", one) for name, one in found.items() if isinstance(one, dict)}
