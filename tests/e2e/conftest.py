"""The installed command on a pty, in its own home, on the demo model or a scripted server."""

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.support.installed import InstalledProgram, ServerThread, left_as_found, place, scripted
from tests.support.terminal import Terminal

__all__ = ["InstalledProgram", "Runner", "ServerThread", "place", "run", "scripted"]

COMMAND = str(Path(sys.executable).with_name("opencode-py"))
READY = r"Ask for anything"

Runner = Callable[..., AbstractContextManager[Terminal]]


@pytest.fixture
def run(place: InstalledProgram) -> Runner:
    """Start the command with arguments; *columns*, *rows* and *env* are keywords. Afterwards the
    terminal, the processes and the database must be clean."""

    @contextmanager
    def start(
        *arguments: str, columns: int = 80, rows: int = 24, env: dict[str, str] | None = None
    ) -> Iterator[Terminal]:
        with Terminal(
            [COMMAND, *arguments],
            cwd=place.project,
            env={**place.env, **(env or {})},
            columns=columns,
            rows=rows,
        ) as terminal:
            yield terminal
            left_as_found(terminal, place)

    return start
