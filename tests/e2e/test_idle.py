"""V06: while nothing moves, the program sleeps."""

import sys
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import Place, Runner, ServerThread
from tests.e2e.test_trials_processes import BUSY, LANGUAGE_SERVER, MCP, allow
from tests.support.script import Call, Text, answer
from tests.support.terminal import Terminal

pytestmark = pytest.mark.e2e

WINDOW = 2.0
"""Seconds that are watched at a time."""

MOST = 3
"""Times that a thread may wake up meanwhile: there is nothing to look after."""

CLOCK = 24
"""The same where a clock is drawn each second, which wakes several threads some times over."""


def woken(pid: int) -> int:
    """How often the threads of a process went to sleep and were woken again."""
    told = (path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status"))
    return sum(int(text.partition("\nvoluntary_ctxt_switches:")[2].split()[0]) for text in told)


def sleeps(terminal: Terminal, most: int = MOST) -> None:
    """Whether there is one quiet moment within a time in which each timer would have gone off
    many times: a machine with much to do makes nothing of that worse."""

    def still() -> bool:
        before, until = woken(terminal.pid), time.monotonic() + WINDOW
        while (left := until - time.monotonic()) > 0:
            terminal.pass_time(left)
        return woken(terminal.pid) - before <= most

    terminal.until(still, "it never sleeps")


def test_v06_an_idle_program_is_woken_by_nothing(
    run: Runner, place: Place, scripted: ServerThread
) -> None:
    """Before the first turn and after one, with a server of each kind at work."""
    allow(
        place,
        scripted,
        mcp={"chats": {"type": "local", "command": [sys.executable, MCP, "chats"]}},
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


def test_v06_a_question_that_waits_costs_a_clock_at_most(
    run: Runner, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Call("bash", {"command": "touch a"})), answer(Text("all done")))
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"once +always +reject")
        sleeps(terminal, CLOCK)
