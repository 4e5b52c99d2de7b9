"""An idle program sleeps."""

import sys
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import InstalledProgram, Runner, ServerThread
from tests.e2e.program import BUSY, LANGUAGE_SERVER, MCP_SERVER, allow_everything
from tests.support.script import Call, Text, answer
from tests.support.terminal import Terminal

pytestmark = pytest.mark.e2e

WINDOW = 2.0
"""Seconds that are watched at a time."""

MOST = 3
"""Wake-ups of threads allowed in the window: nothing needs attention."""

CLOCK = 24
"""Wake-ups allowed while a clock is drawn every second, which wakes several threads."""


def woken(pid: int) -> int:
    """Return the number of voluntary context switches of a process's threads."""
    told = (path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status"))
    return sum(int(text.partition("\nvoluntary_ctxt_switches:")[2].split()[0]) for text in told)


def sleeps(terminal: Terminal, most: int = MOST) -> None:
    """Wait for one quiet window. Every timer would fire many times within it, so a busy machine
    makes no difference."""

    def still() -> bool:
        before, until = woken(terminal.pid), time.monotonic() + WINDOW
        while (left := until - time.monotonic()) > 0:
            terminal.pass_time(left)
        return woken(terminal.pid) - before <= most

    terminal.until(still, "it never sleeps")


def test_an_idle_program_never_wakes_up(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    """Checked before the first turn and after one, with one server of each kind running."""
    allow_everything(
        installed,
        scripted,
        mcp={"chats": {"type": "local", "command": [sys.executable, MCP_SERVER, "chats"]}},
        lsp={"tiny": {"command": [sys.executable, LANGUAGE_SERVER, "good"], "extensions": [".t"]}},
    )
    scripted.server.script(
        answer(Call("chats_good", {}), Call("write", {"file_path": "a.t", "content": "fine\n"})),
        answer(Text("all done")),
    )
    with run() as terminal:
        terminal.wait(r"model-1")
        sleeps(terminal)
        terminal.enter("go")
        terminal.wait(r"all done")
        terminal.wait(BUSY, gone=True)
        sleeps(terminal)


def test_an_open_dialog_costs_at_most_a_clock(run: Runner, scripted: ServerThread) -> None:
    scripted.server.script(answer(Call("bash", {"command": "touch a"})), answer(Text("all done")))
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"once +always +reject")
        sleeps(terminal, CLOCK)
