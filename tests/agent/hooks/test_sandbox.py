"""Hooks in the sandbox of their settings, with what this machine has."""

from pathlib import Path

import pytest

from agent.process.sandbox import find_sandbox
from agent.records.messages import Completed, Failed
from tests.agent.hooks.tool_runs import ECHO, run

needs_sandbox = pytest.mark.skipif(
    find_sandbox("auto").name == "none", reason="there is no sandbox on this machine"
)


def hook(command: str, **more: object) -> dict[str, object]:
    return {"PreToolUse": [{"hooks": [{"command": command, **more}]}]}


@needs_sandbox
@pytest.mark.parametrize(
    ("level", "written"),
    [("off", True), ("workspace-write", True), ("read-only", False)],
)
async def test_a_hook_can_do_what_its_sandbox_allows(tmp_path: Path, level: str, written: bool):
    command = "read line; echo x > made; echo refused >&2; exit 2"
    _, (part,), _, _ = await run(tmp_path, hook(command, sandbox=level), ECHO)
    assert (tmp_path / "project" / "made").exists() is written
    # Its input and its reason pass through the sandbox.
    assert isinstance(part.state, Failed)
    assert part.state.error.startswith("A hook refused this call: ")
    assert part.state.error.endswith("refused")


@needs_sandbox
async def test_a_hook_that_takes_too_long_ends_in_its_sandbox(tmp_path: Path):
    slow = hook("sleep 30", sandbox="read-only", timeout=0.2)
    _, (part,), _, _ = await run(tmp_path, slow, ECHO)
    assert isinstance(part.state, Failed)
    assert "took longer than 0.2 seconds" in part.state.error


@needs_sandbox
@pytest.mark.parametrize(("setting", "reached"), [("auto", True), ("required", False)])
async def test_hooks_run_in_a_sandbox_where_one_is_required(
    tmp_path: Path, setting: str, reached: bool
):
    # A socket is refused without network, whatever else a hook can do.
    python = "import socket; socket.socket().bind(('127.0.0.1', 0))"
    command = f'python3 -c "{python}" 2> said && touch reached; exit 0'
    _, (part,), _, _ = await run(tmp_path, hook(command), ECHO, bash={"sandbox": setting})
    assert isinstance(part.state, Completed)
    assert (tmp_path / "project" / "said").exists()
    assert (tmp_path / "project" / "reached").exists() is reached
