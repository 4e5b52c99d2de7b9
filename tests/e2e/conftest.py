"""The installed command on a pty, in its own home, on the demo model or a scripted server."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.support.installed import (
    InstalledProgram,
    ServerThread,
    installed,
    left_as_found,
    scripted,
)
from tests.support.terminal import Terminal

__all__ = ["InstalledProgram", "Runner", "ServerThread", "installed", "run", "scripted"]

COMMAND = str(Path(sys.executable).with_name("opencode-py"))
READY = r"Ask for anything"

Runner = Callable[..., AbstractContextManager[Terminal]]


@pytest.fixture
def run(installed: InstalledProgram) -> Runner:
    """Start the command with arguments; *columns*, *rows* and *env* are keywords. Afterwards the
    terminal, the processes and the database must be clean."""

    @contextmanager
    def start(
        *arguments: str, columns: int = 80, rows: int = 24, env: dict[str, str] | None = None
    ) -> Iterator[Terminal]:
        with Terminal(
            [COMMAND, *arguments],
            cwd=installed.project,
            env={**installed.env, **(env or {})},
            columns=columns,
            rows=rows,
        ) as terminal:
            yield terminal
            left_as_found(terminal, installed)

    return start
