"""Saving what the user said "always" to in their own settings (spec 4, M14)."""

import os
from pathlib import Path

from agent.config.finding import SIZE_LIMIT, read_text
from agent.config.jsonc import JsoncError, parse
from agent.config.jsonc_edit import with_value
from agent.config.paths import ensure
from agent.errors import ConfigError
from agent.files.disk import replace_file


def save_rule(folder: Path, permission: str, pattern: str) -> Path:
    """Add ``allow`` for *pattern* of *permission* to the settings in *folder*; returns the file.

    A file that exists keeps its comments and layout. Of ``config.json`` and ``config.jsonc`` the
    one with permissions in it is taken, else the later one. Raises ``ConfigError``; then nothing
    was changed.
    """
    path = _file(ensure(folder))
    try:
        _write(path, permission, pattern)
    except JsoncError as error:
        raise _refused(path, f"line {error.line}: {error.expected}") from error
    except OSError as error:
        raise _refused(path, (error.strerror or str(error)).lower()) from error
    except ValueError as error:
        raise _refused(path, str(error)) from error
    return path


def _write(path: Path, permission: str, pattern: str) -> None:
    there = path.exists()
    text = read_text(path) if there else ""
    data = with_value(text, ("permission", permission, pattern), "allow").encode()
    if len(data) > SIZE_LIMIT:
        raise ValueError("expected at most 1 MB")
    replace_file(str(path), data, create=not there)
    if not there:
        path.chmod(0o600)


def _refused(path: Path, why: str) -> ConfigError:
    return ConfigError(f"{path} was not changed: {why}. Add the rule by hand.")


def _file(folder: Path) -> Path:
    there = [
        path for stem in ("config.jsonc", "config.json") if os.path.lexists(path := folder / stem)
    ]
    return next((path for path in there if _has_rules(path)), (*there, folder / "config.json")[0])


def _has_rules(path: Path) -> bool:
    try:
        return "permission" in parse(read_text(path))
    except (OSError, ValueError, JsoncError):
        return False
