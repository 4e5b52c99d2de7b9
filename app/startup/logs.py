"""The program's own log: warnings, faults with their tracebacks and verdicts of a judge, in a
private file."""

import logging
import os
from collections.abc import Mapping
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TextIO

from agent.config.paths import Paths, ensure_folder
from agent.redact import without_known_secrets

VERDICTS = "agent.session.judge"
"""The logger of what a judge decided, all of which is logged."""

MAX_BYTES = 1_000_000
"""Bytes after which a new log is started; one old file is kept."""


class _PrivateFile(RotatingFileHandler):
    """A log file that only its owner can read, whatever the umask is."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        return os.fdopen(descriptor, "a", encoding=self.encoding)


class _Redacting(logging.Formatter):
    """Formats records without secrets of the settings."""

    def format(self, record: logging.LogRecord) -> str:
        return without_known_secrets(super().format(record))


def start_log(env: Mapping[str, str], echo: TextIO | None = None) -> Path:
    """Send the program's log records to its file, and to *echo*; return the file's path.

    Raises ``ConfigError`` when the folder cannot be used.
    """
    file = ensure_folder(Paths.find(env).log) / "opencode-py.log"
    handler = _PrivateFile(file, maxBytes=MAX_BYTES, backupCount=1, delay=True, encoding="utf-8")
    root = logging.getLogger()
    for each in (handler, *([logging.StreamHandler(echo)] if echo else [])):
        each.setFormatter(_Redacting("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(each)
    root.setLevel(logging.WARNING)
    logging.getLogger(VERDICTS).setLevel(logging.INFO)
    return file
