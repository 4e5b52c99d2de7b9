"""Where this program keeps its files on this machine.

``OPENCODE_PY_CONFIG_DIR`` and ``OPENCODE_PY_DATA`` replace the config and the data folder;
with the latter, cache and logs move along. Else ``XDG_*`` counts, else the platform's custom.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from agent.records.errors import ConfigError

NAME = "opencode-py"


@dataclass(frozen=True, slots=True)
class Paths:
    """The four folders, absolute. None is made before ``ensure`` is called for it."""

    config: Path
    data: Path
    cache: Path
    log: Path

    @classmethod
    def find(cls, env: Mapping[str, str]) -> Self:
        """The folders for the environment *env*. Touches no file."""
        import platformdirs  # not needed by who only names the type

        config = env.get("OPENCODE_PY_CONFIG_DIR")
        config_dir = _chosen(config, env) or _under(env, "XDG_CONFIG_HOME")
        data_dir = _chosen(env.get("OPENCODE_PY_DATA"), env)
        if data_dir is not None:
            cache_dir, log_dir = data_dir / "cache", data_dir / "log"
        else:
            data_dir = _under(env, "XDG_DATA_HOME")
            cache_dir = _under(env, "XDG_CACHE_HOME")
            state_dir = _under(env, "XDG_STATE_HOME")
            log_dir = state_dir / "log" if state_dir else None
        return cls(
            config=config_dir or platformdirs.user_config_path(NAME, appauthor=False),
            data=data_dir or platformdirs.user_data_path(NAME, appauthor=False),
            cache=cache_dir or platformdirs.user_cache_path(NAME, appauthor=False),
            log=log_dir or platformdirs.user_log_path(NAME, appauthor=False),
        )


def ensure_folder(folder: Path) -> Path:
    """Make *folder* (mode 0700, parents too) if it is missing, and give it back.

    Raises ``ConfigError`` when it can't be made or written, or belongs to someone else.
    """
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        for path in reversed(missing):
            path.mkdir(mode=0o700, exist_ok=True)
        owner = folder.stat().st_uid
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"The folder {folder} cannot be made: {reason}. {_HINT}") from error
    if not folder.is_dir():
        raise ConfigError(f"{folder} is a file where a folder is needed. {_HINT}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"The folder {folder} cannot be written. {_HINT}")
    user = os.geteuid() if hasattr(os, "geteuid") else owner
    if user not in {0, owner}:
        raise ConfigError(f"The folder {folder} belongs to another user. {_HINT}")
    return folder


_HINT = "Set OPENCODE_PY_DATA (OPENCODE_PY_CONFIG_DIR for settings) to a folder of yours."


def opencode_folder(env: Mapping[str, str]) -> Path:
    """Where opencode keeps its settings."""
    base = env.get("XDG_CONFIG_HOME", "")
    shared = Path(base) if base and Path(base).is_absolute() else home_folder(env) / ".config"
    return shared / "opencode"


def home_folder(env: Mapping[str, str]) -> Path:
    """The home folder as *env* names it, else the account's."""
    home = env.get("HOME")
    return Path(home) if home else Path.home()


def expand_home(text: str, env: Mapping[str, str]) -> Path:
    """*text* as a path, with a leading ``~/`` read as the home folder."""
    if text == "~" or text.startswith("~/"):
        return home_folder(env) / text[2:]
    return Path(text)


def display_path(path: Path, env: Mapping[str, str]) -> str:
    """*path* as people read it: ``~`` for the home folder."""
    home = home_folder(env)
    if home != Path(home.anchor) and path.is_relative_to(home):
        return f"~/{path.relative_to(home).as_posix()}"
    return str(path)


def _chosen(text: str | None, env: Mapping[str, str]) -> Path | None:
    return expand_home(text, env).absolute() if text else None


def _under(env: Mapping[str, str], variable: str) -> Path | None:
    """Our folder in the one that *variable* names. The XDG rules drop relative ones."""
    base = env.get(variable, "")
    return Path(base) / NAME if base and Path(base).is_absolute() else None
