"""The program's own log: warnings and faults with their tracebacks, in a private file."""

import logging
import os
from collections.abc import Mapping
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from agent.config.paths import Paths, ensure_folder

SIZE = 1_000_000
"""Bytes after which the log starts anew, keeping one old file."""


class _PrivateFile(RotatingFileHandler):
    """Made for its owner alone (spec 4, M13), whatever the umask: that is the user's."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return os.fdopen(descriptor, "a", encoding=self.encoding)


def start_log(env: Mapping[str, str]) -> Path:
    """Send what the program logs to its file and give the file's path.

    Raises ``ConfigError`` when the folder for it can't be used.
    """
    file = ensure_folder(Paths.find(env).log) / "opencode-py.log"
    handler = _PrivateFile(file, maxBytes=SIZE, backupCount=1, delay=True, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    return file
