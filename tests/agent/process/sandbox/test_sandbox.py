"""The sandbox as commands see it: what can be written, read and reached."""

import subprocess
from pathlib import Path

import pytest

from agent.process.sandbox import Sandbox, SandboxPolicy, find_sandbox


@pytest.fixture
def sandbox() -> Sandbox:
    found = find_sandbox("auto")
    if found.name == "none":
        pytest.skip(found.reason)
    return found


def sh(sandbox: Sandbox, policy: SandboxPolicy, folder: Path, script: str) -> str:
    argv = sandbox.wrap(("/bin/sh", "-c", script), policy, str(folder))
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout


def test_off_leaves_the_command_as_it_is() -> None:
    policy = SandboxPolicy("read-only")
    assert find_sandbox("off").wrap(("ls",), policy, "/") == ("ls",)


def test_read_only_writes_its_temporary_folder_alone(sandbox: Sandbox, tmp_path: Path) -> None:
    script = "echo x > file; echo y > $TMPDIR/y && cat $TMPDIR/y"
    assert sh(sandbox, SandboxPolicy("read-only"), tmp_path, script) == "y\n"
    assert not list(tmp_path.iterdir())
