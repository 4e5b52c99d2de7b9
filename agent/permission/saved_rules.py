"""Saving rules and other values to the user's settings. An existing file keeps its comments and
layout."""

import os
from pathlib import Path

from agent.config.discovery import SIZE_LIMIT, read_text
from agent.config.jsonc import JsoncError, parse
from agent.config.jsonc_edit import set_value
from agent.config.paths import ensure_folder
from agent.config.saved_rule_marks import add_mark
from agent.files.disk import replace_file
from agent.records.errors import ConfigError, StoreUnavailable
from agent.records.json import Json


def save_rule(folder: Path, permission: str, pattern: str) -> Path:
    """Add ``allow`` for *pattern* of *permission* to the settings in *folder*; returns the file.

    It stays marked as an answer "always", which covers less than a rule that the user writes.
    Raises ``ConfigError``; then no rule was added.
    """
    try:
        add_mark(folder, permission, pattern)
    except StoreUnavailable as error:
        raise ConfigError(error.message) from error
    return save_setting(folder, ("permission", permission, pattern), "allow")


def save_setting(folder: Path, keys: tuple[str, ...], value: Json) -> Path:
    """Put *value* at *keys* in the settings in *folder*; returns the file.

    Of ``config.json`` and ``config.jsonc`` the one that has the first key is taken, else the
    later one. Raises ``ConfigError``; then nothing was changed.
    """
    path = _file(ensure_folder(folder), keys[0])
    try:
        _write(path, keys, value)
    except JsoncError as error:
        raise _refused(path, f"line {error.line}: {error.expected}") from error
    except OSError as error:
        raise _refused(path, (error.strerror or str(error)).lower()) from error
    except ValueError as error:
        raise _refused(path, str(error)) from error
    return path


def _write(path: Path, keys: tuple[str, ...], value: Json) -> None:
    there = path.exists()
    text = read_text(path) if there else ""
    data = set_value(text, keys, value).encode()
    if len(data) > SIZE_LIMIT:
        raise ValueError("expected at most 1 MB")
    replace_file(str(path), data, create=not there)
    if not there:
        path.chmod(0o600)


def _refused(path: Path, why: str) -> ConfigError:
    return ConfigError(f"{path} was not changed: {why}. Add it by hand.")


def _file(folder: Path, key: str) -> Path:
    there = [
        path for stem in ("config.jsonc", "config.json") if os.path.lexists(path := folder / stem)
    ]
    return next((path for path in there if _has(path, key)), (*there, folder / "config.json")[0])


def _has(path: Path, key: str) -> bool:
    try:
        return key in parse(read_text(path))
    except (OSError, ValueError, JsoncError):
        return False
