"""The folders of this program on this machine.

``OPENCODE_PY_CONFIG_DIR`` and ``OPENCODE_PY_DATA`` replace the config and the data folder; with the
latter, cache and logs move along. Otherwise ``XDG_*`` counts, else the platform's convention.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from agent.records.errors import ConfigError
from agent.records.frozen import frozen

NAME = "opencode-py"


@frozen
class Paths:
    """The four folders, absolute. None is created before ``ensure_folder`` is called for it."""

    config: Path
    data: Path
    cache: Path
    log: Path

    @classmethod
    def find(cls, env: Mapping[str, str]) -> Self:
        """Return the folders for the environment *env*, without touching any file."""
        import platformdirs  # not needed by modules that only name the type

        config = env.get("OPENCODE_PY_CONFIG_DIR")
        config_dir = _path_or_none(config, env) or _xdg_folder(env, "XDG_CONFIG_HOME")
        data_dir = _path_or_none(env.get("OPENCODE_PY_DATA"), env)
        if data_dir is not None:
            cache_dir, log_dir = data_dir / "cache", data_dir / "log"
        else:
            data_dir = _xdg_folder(env, "XDG_DATA_HOME")
            cache_dir = _xdg_folder(env, "XDG_CACHE_HOME")
            state_dir = _xdg_folder(env, "XDG_STATE_HOME")
            log_dir = state_dir / "log" if state_dir else None
        return cls(
            config=config_dir or platformdirs.user_config_path(NAME, appauthor=False),
            data=data_dir or platformdirs.user_data_path(NAME, appauthor=False),
            cache=cache_dir or platformdirs.user_cache_path(NAME, appauthor=False),
            log=log_dir or platformdirs.user_log_path(NAME, appauthor=False),
        )


def ensure_folder(folder: Path) -> Path:
    """Create *folder* (mode 0700, parents too) if it is missing, and return it.

    Raises ``ConfigError`` when it cannot be created or written, or belongs to another user.
    """
    try:
        missing = [path for path in (folder, *folder.parents) if not path.exists()]
        for path in reversed(missing):
            path.mkdir(mode=0o700, exist_ok=True)
        owner = folder.stat().st_uid
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ConfigError(f"The folder {folder} cannot be created: {reason}. {_HINT}") from error
    if not folder.is_dir():
        raise ConfigError(f"{folder} is a file where a folder is needed. {_HINT}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"The folder {folder} cannot be written. {_HINT}")
    user = os.geteuid() if hasattr(os, "geteuid") else owner
    if user not in {0, owner}:
        raise ConfigError(f"The folder {folder} belongs to another user. {_HINT}")
    return folder


_HINT = "Set OPENCODE_PY_DATA (OPENCODE_PY_CONFIG_DIR for settings) to a folder that you own."


def opencode_folder(env: Mapping[str, str]) -> Path:
    """Return opencode's config folder."""
    base = env.get("XDG_CONFIG_HOME", "")
    shared = Path(base) if base and Path(base).is_absolute() else home_folder(env) / ".config"
    return shared / "opencode"


def home_folder(env: Mapping[str, str]) -> Path:
    """Return the home folder of *env*, else the account's."""
    home = env.get("HOME")
    return Path(home) if home else Path.home()


def expand_home(text: str, env: Mapping[str, str]) -> Path:
    """Return *text* as a path, with a leading ``~/`` read as the home folder."""
    if text == "~" or text.startswith("~/"):
        return home_folder(env) / text[2:]
    return Path(text)


def display_path(path: Path, env: Mapping[str, str]) -> str:
    """Return *path* as shown to users: ``~`` for the home folder."""
    home = home_folder(env)
    if home != Path(home.anchor) and path.is_relative_to(home):
        return f"~/{path.relative_to(home).as_posix()}"
    return str(path)


def _path_or_none(text: str | None, env: Mapping[str, str]) -> Path | None:
    return expand_home(text, env).absolute() if text else None


def _xdg_folder(env: Mapping[str, str], variable: str) -> Path | None:
    """Return our folder in the one that *variable* names. XDG rules ignore relative ones."""
    base = env.get(variable, "")
    return Path(base) / NAME if base and Path(base).is_absolute() else None


# Addresses of servers.


def is_near(host: str) -> bool:
    """Return whether *host* is this machine or an address of a private network: such servers need
    no TLS, and seldom a key."""
    from ipaddress import ip_address  # only for servers that the user or a project defines

    if host == "localhost" or host.endswith(".local"):
        return True
    try:
        return ip_address(host).is_private
    except ValueError:
        return False
