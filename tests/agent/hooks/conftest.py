"""Hooks as users write them: small shell scripts."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Script = Callable[..., dict[str, object]]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Return ``script(body)``: the entry of a settings file that runs *body* in a shell.

    Its input is appended to a file, one line of JSON per run, which ``hook_inputs`` reads.
    """

    def make(body: str, *, name: str = "hook", matcher: str = "", timeout: float = 0):
        path = tmp_path / f"{name}.sh"
        log = tmp_path / f"{name}.inputs"
        path.write_text(f"cat >> '{log}'; echo >> '{log}'\n{body}\n")
        command: dict[str, object] = {"type": "command", "command": f"sh '{path}'"}
        if timeout:
            command["timeout"] = timeout
        return {"matcher": matcher, "hooks": [command]}

    return make


def hook_inputs(tmp_path: Path, name: str = "hook") -> list[dict]:
    """Return the inputs of the runs of a hook script."""
    path = tmp_path / f"{name}.inputs"
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
