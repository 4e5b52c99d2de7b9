"""The installed command for tests: its home, a project, and a server in a thread."""

import asyncio
import signal
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.harness import config_for, environment, write_config
from tests.support.model_server import ModelServer
from tests.support.terminal import Terminal, command_line, pids, read_of, wait_for_end

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class InstalledProgram:
    """A home and a git project of two small files."""

    home: Path
    project: Path

    @property
    def env(self) -> dict[str, str]:
        """The environment, with this checkout's code wherever another copy is installed."""
        return {**environment(self.home), "PYTHONPATH": str(ROOT)}


@pytest.fixture
def installed(tmp_path: Path) -> InstalledProgram:
    home, project = tmp_path / "home", tmp_path / "shop"
    home.mkdir()
    project.mkdir()
    (project / "README.md").write_text("# Shop\n\nIt sells things.\n")
    (project / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "first"]):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words],
            cwd=project,
            env=environment(home),
            check=True,
        )
    return InstalledProgram(home, project)


def left_as_found(terminal: Terminal, installed: InstalledProgram) -> None:
    """Check after a test that the program exits on request, without a traceback and with the
    terminal restored; that none of its processes is left; and that its database is intact."""
    code = terminal.end()
    assert b"Traceback" not in terminal.raw, terminal.screen
    if not terminal.hung_up and code != -signal.SIGKILL:
        assert terminal.modes_now == terminal.modes_before
    wait_for_end(lambda: pids_of(installed.home))
    stored = installed.home / "data" / "sessions.db"
    if stored.is_file() and stored.read_bytes()[:16] == b"SQLite format 3\0":
        with closing(sqlite3.connect(stored)) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def pids_of(home: Path) -> list[int]:
    """Return the living processes whose home is *home*."""
    mark = f"HOME={home}".encode()
    return [
        pid for pid in pids() if mark in read_of(pid, "environ").split(b"\0") and command_line(pid)
    ]


def started_in(home: Path) -> list[str]:
    """Return the command lines of the living processes whose home is *home*."""
    return [command_line(pid) for pid in pids_of(home)]


class ServerThread:
    """A scripted server in a loop of its own, since these tests are not asynchronous."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.server = ModelServer()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def start(self) -> None:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.server.__aenter__(), self.loop).result(30)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self.loop).result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(30)
        self.loop.close()

    async def _close(self) -> None:
        """Close the server and all responses held open."""
        await self.server.__aexit__()
        # Python 3.11 reports a connection whose handler was cancelled as an error.
        self.loop.set_exception_handler(lambda _loop, _context: None)
        held = asyncio.all_tasks() - {asyncio.current_task()}
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)

    def set(self, event: asyncio.Event) -> None:
        self.loop.call_soon_threadsafe(event.set)


@pytest.fixture
def scripted(installed: InstalledProgram) -> Iterator[ServerThread]:
    """Serve as the only provider of the config; the server must refuse nothing."""
    thread = ServerThread()
    thread.start()
    write_config(installed.home, config_for(thread.server))
    yield thread
    thread.stop()
    assert thread.server.refused == []
