"""Servers in the sandbox of their settings, in every mechanism that works on this machine."""

import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.mcp.records import Server
from agent.permission.sandbox_policy.command_policy import SandboxFolders
from agent.permission.sandbox_policy.service import CommandSandbox
from agent.process.sandbox import Sandbox
from tests.agent.mcp.mcp_harness import SERVERS, open_mcp
from tests.agent.process.sandbox.conftest import sandbox as sandbox  # noqa: PLC0414 - a fixture


def command_sandbox(tmp_path: Path, found: Sandbox, setting: str = "off") -> CommandSandbox:
    for name in ("home", "data", "config"):
        (tmp_path / name).mkdir(exist_ok=True)
    folders = SandboxFolders(
        home=str(tmp_path / "home"), data=str(tmp_path / "data"), config=str(tmp_path / "config")
    )
    return CommandSandbox(setting, folders, find=lambda _: found)


def careless(folder: Path, level: str) -> Server:
    command = (sys.executable, str(SERVERS / "careless.py"))
    return Server(name="careless", command=command, folder=folder, sandbox=level)


@pytest.mark.parametrize(
    ("level", "saved", "connected"),
    [
        ("off", True, True),
        ("workspace-write with network", True, True),
        ("workspace-write", True, False),
        ("read-only", False, False),
    ],
)
async def test_a_server_can_do_what_its_sandbox_allows(
    tmp_path: Path, sandbox: Sandbox, level: str, saved: bool, connected: bool
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    settings: dict[str, Any] = {"sandbox": command_sandbox(tmp_path, sandbox), "project": project}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        async with open_mcp(tmp_path, careless(project, level), **settings) as mcp:
            assert mcp.status("careless").state == "connected", mcp.status("careless")
            result = await mcp.call("careless_save", path=str(project / "made"))
            assert ("saved" in result.output) is saved
            assert (project / "made").exists() is saved
            result = await mcp.call("careless_connect", port=port)
            assert ("connected" in result.output) is connected


async def test_a_server_is_not_started_without_its_sandbox(tmp_path: Path) -> None:
    missing = Sandbox("none", "There is no sandbox for this machine.")
    settings: dict[str, Any] = {"sandbox": command_sandbox(tmp_path, missing, "auto")}
    async with open_mcp(tmp_path, careless(tmp_path, "read-only"), **settings) as mcp:
        status = mcp.status("careless")
        assert status.state == "failed"
        assert "There is no sandbox for this machine." in status.reason
        assert "Trying again" not in status.reason


async def test_a_missing_program_is_named(tmp_path: Path, sandbox: Sandbox) -> None:
    server = Server(
        name="gone", command=("no-such-program",), folder=tmp_path, sandbox="workspace-write"
    )
    settings: dict[str, Any] = {"sandbox": command_sandbox(tmp_path, sandbox)}
    async with open_mcp(tmp_path, server, **settings) as mcp:
        assert mcp.status("gone").state == "failed"
        assert "no-such-program was not found" in mcp.status("gone").reason
