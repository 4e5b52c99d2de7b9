"""Shared by the tests of the installed program: paths of scripted servers, and small steps."""

from pathlib import Path

from tests.support.harness import config_for, write_config
from tests.support.installed import InstalledProgram, ServerThread
from tests.support.terminal import Terminal

BUSY = r"esc to interrupt|Stopping"
ESC = "\x1b"
MB = 1024 * 1024
MCP_SERVER = str(Path(__file__).parents[1] / "agent" / "mcp" / "servers" / "raw.py")
LANGUAGE_SERVER = str(Path(__file__).parents[1] / "support" / "language_server.py")


def allow_everything(
    installed: InstalledProgram, scripted: ServerThread, **settings: object
) -> None:
    """Write a config that allows every tool, with more *settings*."""
    write_config(installed.home, config_for(scripted.server, permission="allow", **settings))


def run_turn(terminal: Terminal, text: str, ending: str) -> None:
    """Send *text* and wait until *ending* is on the screen and the turn is over."""
    terminal.enter(text)
    terminal.wait(ending)
    terminal.wait(BUSY, gone=True)


def tool_results(scripted: ServerThread) -> list[str]:
    """Return the results of tools in the newest request, in the order of their calls."""
    messages = scripted.server.requests[-1].body["messages"]
    return [message["content"] for message in messages if message["role"] == "tool"]


def memory(pid: int, name: str) -> int:
    """Return the bytes that a process uses (*name* VmRSS) or has used at most (VmHWM)."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) * 1024
