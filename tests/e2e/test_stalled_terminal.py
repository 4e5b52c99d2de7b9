"""A terminal that nobody reads for a while (a dropped connection): work continues, the final screen
is complete, and the program can still be ended."""

import signal
import time
from collections.abc import Callable

import pytest

from tests.e2e.conftest import InstalledProgram, Runner, ServerThread
from tests.support.harness import config_for, write_config
from tests.support.script import Call, Text, answer
from tests.support.terminal import GUARD, Terminal

pytestmark = pytest.mark.e2e

SIZE = {"columns": 200, "rows": 50}
"""Many cells, so that a few frames fill every buffer between the program and its terminal."""

CHATTER = "for n in $(seq 250); do printf '%s%0150d\\n' $RANDOM $n; sleep 0.02; done; touch made"


def unread(holds: Callable[[], bool], complaint: str) -> None:
    """Wait without reading the terminal."""
    deadline = time.monotonic() + GUARD
    while not holds():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.02)


def start(terminal: Terminal, installed: InstalledProgram) -> None:
    """Start a turn that paints a lot, and read nothing until its command is done."""
    terminal.wait(r"model-1")
    terminal.enter("go")
    terminal.wait(r"0{100}")
    unread((installed.project / "made").exists, "the command is held up by the terminal")


def whole(terminal: Terminal, pattern: str) -> None:
    """Check that the screen after *pattern* equals the screen after a full repaint."""
    seen = terminal.wait(pattern)
    for columns in (SIZE["columns"] - 1, SIZE["columns"]):
        terminal.blank()
        terminal.resize(columns, SIZE["rows"])
        terminal.wait(pattern)
    terminal.until(lambda: terminal.screen == seen, f"what was seen is not whole:\n{seen}")


@pytest.fixture(autouse=True)
def chatter(installed: InstalledProgram, scripted: ServerThread) -> None:
    permission = {"bash": "allow", "edit": "ask"}
    write_config(installed.home, config_for(scripted.server, permission=permission))
    scripted.server.script(
        answer(Call("bash", {"command": CHATTER})),
        answer(Call("write", {"file_path": "next", "content": "x"})),
        answer(Text("all done")),
    )


def test_work_continues_and_the_final_screen_is_complete(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    """A permission dialog that opened meanwhile is there too."""
    with run(**SIZE) as terminal:
        start(terminal, installed)
        unread(lambda: len(scripted.server.requests) == 2, "the turn is held up by the terminal")
        terminal.answer("o")
        terminal.wait(r"all done")
        terminal.wait(r"esc to interrupt", gone=True)
        terminal.send("a draft")
        whole(terminal, r"▌ a draft")
    assert (installed.project / "next").read_text() == "x"


def test_the_program_ends_though_nobody_reads(run: Runner, installed: InstalledProgram) -> None:
    with run(**SIZE) as terminal:
        start(terminal, installed)
        terminal.signal(signal.SIGTERM)
        unread(terminal._ended, "the program waits for its terminal")
        assert terminal.exit_code() == 128 + signal.SIGTERM
        assert terminal.modes_now == terminal.modes_before
