"""A worker process driven by the state machine."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

from tests.support.harness import GUARD

ROOT = Path(__file__).parents[2]


class Refused(AssertionError):
    """The program refused a command; the argument is the class of the error."""


class Instance:
    """A worker started in *folder*. Commands run one after the other."""

    def __init__(self, folder: Path, home: Path) -> None:
        self._name = uuid.uuid4().hex
        command = [sys.executable, "-m", "tests.chaos.worker", str(folder), str(home), self._name]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def do(self, name: str, **given: object) -> Any:
        """Return the response to a command. Raises ``Refused``."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps({"do": name, **given}).encode() + b"\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], 4 * GUARD)
        assert ready, f"no answer to {name} {given}"
        line = process.stdout.readline()
        assert line, f"the worker ended at {name} {given}"
        response = json.loads(line)
        if "error" in response:
            raise Refused(response["error"])
        return response["got"]

    def kill(self) -> None:
        """Kill with SIGKILL, and end the processes of its tools, which the instance can no longer
        end."""
        self._process.kill()
        self._reap()
        for left in self.running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)

    def close(self) -> None:
        """Close its input, which ends it in good order."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            assert self._process.wait(2 * GUARD) == 0
        finally:
            self._reap()

    def _reap(self) -> None:
        self._process.wait(GUARD)
        assert self._process.stdout is not None
        self._process.stdout.close()

    @property
    def running(self) -> list[int]:
        """The processes that its tool calls started and that still run."""
        marks = (b"OPENCODE_PY_CALL=", f"CHAOS_WORKER={self._name}".encode())
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with contextlib.suppress(OSError):
                    state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                    environment = (folder / "environ").read_bytes()
                    if state != "Z" and all(mark in environment for mark in marks):
                        found.append(int(folder.name))
        return found
