"""Signals end every command at once, whatever it waits for, with the exit code of a shell."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.conftest import InstalledProgram
from tests.support.harness import write_config

pytestmark = pytest.mark.e2e

LAUNCHER = [sys.executable, str(Path(__file__).parents[2] / "opencode_py.py")]
GUARD = 60
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

DEAF_SERVER = """\
import signal, socket, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as link:
    link.recv(1)
"""
"""An MCP server that never answers and does not end by itself. It connects to the test."""


@pytest.fixture
def hanging() -> Iterator[socket.socket]:
    """A provider that accepts connections and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        listening.settimeout(GUARD)
        yield listening


def start(installed: InstalledProgram, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*LAUNCHER, *words],
        cwd=installed.project,
        env=installed.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def settings(server: socket.socket, **more: object) -> dict[str, object]:
    url = f"http://127.0.0.1:{server.getsockname()[1]}/v1"
    provider = {
        "api": "openai-chat",
        "options": {"baseURL": url, "apiKey": "sk-scripted-0001"},
        "models": {"model-1": {"limit": {"context": 100_000, "output": 32_000}}},
    }
    return {"model": "hanging/model-1", "provider": {"hanging": provider}, **more}


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize(
    "words", [("run", "go"), ("run", "--format", "json", "go"), ("models", "hanging", "--refresh")]
)
def test_a_hung_provider(
    installed: InstalledProgram,
    hanging: socket.socket,
    words: tuple[str, ...],
    number: signal.Signals,
) -> None:
    write_config(installed.home, settings(hanging))
    process = start(installed, *words)
    assert process.stdin is not None
    process.stdin.close()
    connection, _ = hanging.accept()
    with closing(connection):
        process.send_signal(number)
        assert process.wait(GUARD) == 128 + number
    assert "Traceback" not in (process.stderr.read() if process.stderr else "")


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("words", [("run", "go"), ("mcp", "debug", "deaf")])
def test_an_mcp_server_that_never_answers(
    installed: InstalledProgram,
    hanging: socket.socket,
    tmp_path: Path,
    words: tuple[str, ...],
    number: signal.Signals,
) -> None:
    """Its program is ended too."""
    script = tmp_path / "deaf.py"
    script.write_text(DEAF_SERVER)
    command = [sys.executable, str(script), str(hanging.getsockname()[1])]
    write_config(installed.home, settings(hanging, mcp={"deaf": {"command": command}}))
    process = start(installed, *words)
    assert process.stdin is not None
    process.stdin.close()
    link, _ = hanging.accept()
    link.settimeout(GUARD)
    with closing(link):
        process.send_signal(number)
        assert process.wait(GUARD) == 128 + number
        assert link.recv(1) == b"", "the server's program lives on"


@pytest.mark.parametrize("number", SIGNALS)
def test_a_key_or_prompt_that_never_ends(
    installed: InstalledProgram, hanging: socket.socket, number: signal.Signals
) -> None:
    """Standard input stays open: the user reads what is awaited."""
    write_config(installed.home, settings(hanging))
    for words in (("run", "go"), ("auth", "login", "mistral")):
        process = start(installed, *words)
        assert process.stderr is not None
        assert "Waiting for" in process.stderr.readline()
        process.send_signal(number)
        assert process.wait(GUARD) == 128 + number


def test_an_editor_that_never_answers(installed: InstalledProgram, hanging: socket.socket) -> None:
    write_config(installed.home, settings(hanging))
    process = start(installed, "acp")
    assert process.stdin is not None
    assert process.stdout is not None
    params = {"protocolVersion": 1, "clientCapabilities": {}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    process.stdin.write(f"{json.dumps(call)}\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(GUARD) == 143
