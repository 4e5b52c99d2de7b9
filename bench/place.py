"""A home, a project and a model server for one run, and the processes that are measured."""

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.harness import environment, write_config
from tests.support.terminal import Terminal

ROOT = Path(__file__).parent.parent
COMMAND = str(Path(sys.executable).with_name("opencode-py"))
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Place:
    home: Path
    project: Path
    url: str

    @property
    def env(self) -> dict[str, str]:
        return environment(self.home)

    def program(self, *arguments: str) -> Terminal:
        return Terminal([COMMAND, *arguments], cwd=self.project, env=self.env, columns=120, rows=40)

    def floor(self) -> Terminal:
        return Terminal(
            [sys.executable, str(ROOT / "bench" / "floor.py")],
            cwd=self.project,
            env=self.env,
            columns=120,
            rows=40,
        )


@contextlib.contextmanager
def opened() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder, "home"), Path(folder, "shop")
        home.mkdir()
        project.mkdir()
        for number in range(40):
            (project / f"file{number}.txt").write_text("a line\n" * 400)
        server = subprocess.Popen(
            [sys.executable, "-m", "bench.server"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            place = Place(home, project, server.stdout.readline().strip())
            write_config(home, _config(place.url))
            yield place
        finally:
            server.kill()
            server.wait()


def _config(url: str) -> dict[str, object]:
    limit = {"context": 10_000_000, "output": 32_000}
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
    """User and system seconds that a process has used, ended children included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(fields[i]) for i in (11, 12, 13, 14)) / TICK


def resident(pid: int) -> float:
    """Resident memory in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
