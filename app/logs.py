"""The program's own log: warnings and faults with their tracebacks, in a private file."""

import logging
from collections.abc import Mapping
from logging.handlers import RotatingFileHandler
from pathlib import Path

from agent.config.paths import Paths, ensure

SIZE = 1_000_000
"""Bytes after which the log starts anew, keeping one old file."""


def start_log(env: Mapping[str, str]) -> Path:
    """Send what the program logs to its file and give the file's path.

    Raises ``ConfigError`` when the folder for it can't be used.
    """
    file = ensure(Paths.find(env).log) / "opencode-py.log"
    handler = RotatingFileHandler(file, maxBytes=SIZE, backupCount=1, delay=True, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    return file
