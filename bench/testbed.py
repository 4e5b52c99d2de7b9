"""The test bed of one run: a home, a project, a model server, and the measured programs."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.harness import environment, write_config
from tests.support.terminal import Terminal

ROOT = Path(__file__).parent.parent
COMMAND = str(Path(sys.executable).with_name("opencode-py"))
PROMPT = b"sk for anything"
"""The placeholder of the prompt without its first letter, which the cursor paints separately."""

READY = r"build  one"
"""Shown once the runtime is open."""

QUIET = 0.15
"""Seconds in which an idle program uses less than 2 ms of CPU."""


@dataclass(frozen=True)
class Testbed:
    """A home and a project; *log* is written by the model server (see ``bench.server``)."""

    home: Path
    project: Path
    url: str
    log: Path

    @property
    def env(self) -> dict[str, str]:
        """The environment, with the program of this checkout, wherever another is installed."""
        return {**environment(self.home), "PYTHONPATH": str(ROOT)}

    def program(self, *arguments: str) -> Terminal:
        return self._started([COMMAND, *arguments])

    def empty_app(self) -> Terminal:
        return self._started([sys.executable, str(ROOT / "bench" / "empty_app.py")])

    def watched_program(self) -> Terminal:
        """Start the program with a watchdog, which writes to ``report``."""
        watched = str(ROOT / "bench" / "watched_app.py")
        return self._started([sys.executable, watched, str(self.report)])

    @property
    def report(self) -> Path:
        return self.log.with_name("report")

    def _started(self, argv: list[str]) -> Terminal:
        return Terminal(argv, cwd=self.project, env=self.env, columns=120, rows=40)

    @contextlib.contextmanager
    def ready(self, *, used: bool = True, watched: bool = False) -> Iterator[Terminal]:
        """Start the program and wait until it is idle; *used*: after a first turn, which loads
        deferred modules."""
        with self.watched_program() if watched else self.program() as terminal:
            terminal.wait(READY)
            settle(terminal)
            if used:
                ask(terminal, "hello")
                terminal.sees(b"DONE")
                settle(terminal)
            yield terminal

    def events(self, event: str, since: float) -> list[tuple[float, str]]:
        """Return the times and words of *event* in the server log, from *since* on."""
        told = [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]
        return [
            (each["t"], each.get("word", ""))
            for each in told
            if each["event"] == event and each["t"] >= since
        ]


@contextlib.contextmanager
def open_testbed(*, lenient: bool = False, context: int = 10_000_000) -> Iterator[Testbed]:
    """Open a test bed with a server for our program; *lenient* for other programs too. *context* is
    the model's context window in tokens."""
    with tempfile.TemporaryDirectory() as folder:
        home, project, log = Path(folder, "home"), Path(folder, "shop"), Path(folder, "log")
        home.mkdir()
        project.mkdir()
        log.touch()
        for number in range(40):
            (project / f"file{number}.txt").write_text("a line\n" * 400)
        server = subprocess.Popen(
            [sys.executable, "-m", "bench.server", str(log), *(["--lenient"] if lenient else [])],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            testbed = Testbed(home, project, server.stdout.readline().strip(), log)
            write_config(home, config(testbed.url, context))
            yield testbed
        finally:
            server.kill()
            server.wait()


def config(url: str, context: int = 10_000_000) -> dict[str, object]:
    """Return settings with the server at *url* as the only provider."""
    limit = {"context": context, "output": 32_000}
    return {
        "model": "bench/one",
        "provider": {
            "bench": {
                "options": {"baseURL": url, "apiKey": "sk-bench-0001"},
                "models": {"one": {"limit": limit}},
            }
        },
    }


def cpu(pid: int) -> float:
    """Return the user and system seconds that a process has used, without its children.

    Read from the process's own clock (on Linux its id inverted, with the bits for "of a process, as
    scheduled"), since /proc counts in steps of 10 ms.
    """
    return time.clock_gettime((~pid << 3) | 2)


def resident_memory(pid: int) -> float:
    """Return the resident memory in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def watch(terminal: Terminal, seconds: float) -> None:
    """Read the output of the program for a while."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        terminal.pass_time(left)


def settle(terminal: Terminal, most: float = 8.0) -> None:
    """Wait until the program is idle, at *most* so many seconds."""
    until = time.monotonic() + most
    before = -1.0
    while time.monotonic() < until and (now := cpu(terminal.pid)) - before > 0.002:
        before = now
        watch(terminal, QUIET)


def ask(terminal: Terminal, text: str) -> tuple[float, float]:
    """Type *text*, wait until idle, press Enter; return the time and the CPU just before."""
    terminal.send(text)
    settle(terminal)
    before = time.monotonic(), cpu(terminal.pid)
    terminal.send("\r")
    return before
