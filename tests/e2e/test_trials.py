"""Faults that users report of terminal agents, against the installed program on a pty
(``tests/trials.py`` tells which fault is tried where)."""

import base64
import os
import re
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from app.theme.themes import contrast
from tests.e2e.conftest import COMMAND, READY, Place, Runner, ServerThread
from tests.support.harness import config_for, write_config
from tests.support.script import Call, Hold, Text, answer
from tests.support.terminal import Terminal, processes_with

pytestmark = pytest.mark.e2e

BUSY = r"esc to interrupt|Stopping"
ESC = "\x1b"
SERVER = str(Path(__file__).parents[1] / "support" / "language_server.py")


def allow(place: Place, scripted: ServerThread, **more: object) -> None:
    write_config(place.home, config_for(scripted.server, permission="allow", **more))


def test_v10_the_line_that_is_read_stays_while_text_comes_and_a_question_opens(
    run: Runner, scripted: ServerThread
) -> None:
    lines = [Text(f"line {n}\n\n") for n in range(90)]
    hold, ask = Hold(), Call("bash", {"command": "touch asked"})
    scripted.server.script(
        answer(*lines[:60], hold, *lines[60:], ask), answer(Text("the very end"))
    )
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"line 59")
        terminal.again("\x1b[5~", r"line 3\d")
        terminal.wait(r"line 59", gone=True)
        top = re.findall(r"line \d+", terminal.screen)[0]
        scripted.set(hold.gate)
        terminal.answer("o")
        terminal.wait(BUSY, gone=True)
        assert re.findall(r"line \d+", terminal.screen)[0] == top
        terminal.again("\x1b[F", r"the very end")


def test_v14_a_click_on_a_wide_character_is_beside_it(run: Runner, scripted: ServerThread) -> None:
    scripted.server.always(answer(Text("got it")))
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.send("こんにちは👩‍👩‍👧é")
        terminal.wait(r"こ ?ん ?に ?ち ?は")
        row, line = next(
            (y, text) for y, text in enumerate(terminal.screen.splitlines()) if "こ" in text
        )
        column = line.index("こ") + 2 * 2 + 1  # the right half of the third
        for end in "Mm":
            terminal.send(f"\x1b[<0;{column + 1};{row + 1}{end}")
        terminal.send("X")
        terminal.wait(r"X")
        terminal.send("\r")
        terminal.wait(r"got it")
    sent = scripted.server.requests[0].body["messages"][-1]["content"]
    assert sent in {"こんXにちは👩‍👩‍👧é", "こんにXちは👩‍👩‍👧é"}


def test_v18_without_colours_everything_can_be_read(run: Runner) -> None:
    with run(env={"NO_COLOR": "1"}) as terminal:
        terminal.wait(READY)
        terminal.enter("replace a - b with a + b in calc.py")
        terminal.answer("o")
        terminal.wait(r"● Edit calc.py")
        terminal.wait(BUSY, gone=True)
        terminal.send("typed text")
        terminal.wait(r"▌ typed text")
        for text, front, back in terminal.colours():
            if not text.isalnum():
                continue  # lines and bars
            assert len({front[at : at + 2] for at in (0, 2, 4)}) == 1, (text, front)
            assert contrast(f"#{front}", f"#{back}") >= 3 - 0.01, (text, front, back)


def test_d01_programs_that_start_at_once_lose_no_turn(place: Place, scripted: ServerThread) -> None:
    allow(place, scripted, limits={"repeats": 0})
    scripted.server.always(
        lambda body: (
            answer(Text("done"))
            if sum(message["role"] == "tool" for message in body["messages"]) == 5
            else answer(Call("bash", {"command": "head -c 200000 /dev/zero | tr '\\0' x"}))
        )
    )

    def one(number: int) -> int:
        words = [COMMAND, "run", f"prompt {number}"]
        done = subprocess.run(
            words, cwd=place.project, env=place.env, capture_output=True, timeout=300, check=False
        )
        assert done.stdout == b"done\n", done
        return done.returncode

    with ThreadPoolExecutor(10) as pool:
        assert list(pool.map(one, range(10))) == [0] * 10
    with closing(sqlite3.connect(place.home / "data" / "sessions.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("SELECT count(*) FROM session").fetchone() == (10,)
        assert database.execute("SELECT count(*) FROM message WHERE open").fetchone() == (0,)
        assert database.execute("SELECT count(*) FROM message").fetchone() == (70,)


@pytest.mark.parametrize("way", ["SIGTERM", "SIGKILL"])
def test_l03_no_language_server_outlives_the_program(
    run: Runner, place: Place, scripted: ServerThread, way: str
) -> None:
    mark = f"mark-{place.project.parent.name}"
    server = {"command": [sys.executable, SERVER, "good", mark], "extensions": [".tiny"]}
    write = Call("write", {"file_path": "a.tiny", "content": "fine\n"})
    scripted.server.script(answer(write), answer(Text("written")))
    allow(place, scripted, lsp={"tiny": server})
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"written")
        terminal.until(lambda: bool(processes_with(mark)), "the server never ran")
        terminal.signal(getattr(signal, way))
        terminal.exit_code()
        terminal.until(lambda: not processes_with(mark), "the server lives on")


def test_x03_esc_stops_a_sub_agent_and_its_command(
    run: Runner, place: Place, scripted: ServerThread
) -> None:
    mark = f"sleep 61.{os.getpid() % 10_000:04}"
    scripted.server.script(
        answer(Call("task", {"description": "d", "prompt": "p"})),
        answer(Call("bash", {"command": mark})),
    )
    scripted.server.always(answer(Text("fine now")))
    allow(place, scripted)
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.until(lambda: bool(processes_with(mark)), "the command never ran")
        terminal.send("draft")
        terminal.wait(r"▌ draft")
        terminal.send(ESC)
        terminal.wait(r"Interrupted")
        terminal.wait(BUSY, gone=True)
        terminal.until(lambda: not processes_with(mark), "the command lives on")
        assert len(scripted.server.requests) == 2
        terminal.enter(" goes on")
        terminal.wait(r"fine now")


def test_h01_a_redirected_answer_is_bare(place: Place, scripted: ServerThread) -> None:
    """On a pty whose output goes to a file there is nothing but the text."""
    scripted.server.script(answer(Text("**bold** `code`")))
    script = f"{COMMAND} run go > out.txt"
    with Terminal(["sh", "-c", script], cwd=place.project, env=place.env) as terminal:
        assert terminal.exit_code() == 0
    assert (place.project / "out.txt").read_bytes() == b"**bold** `code`\n"


@pytest.mark.parametrize("tmux", [False, True])
def test_v20_without_a_clipboard_program_the_terminal_gets_the_text(
    run: Runner, scripted: ServerThread, tmux: bool
) -> None:
    said = "漢字かな text " * 20 + "end"
    scripted.server.always(answer(Text(said)))
    where = {"TMUX": "/tmp/nowhere,1,0"} if tmux else {}
    with run(env={"PATH": "/usr/bin:/bin", **where}) as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"text end")
        terminal.wait(BUSY, gone=True)
        terminal.enter("/copy")
        terminal.wait(r"Sent \d+ characters")
        sent = re.findall(rb"\x1b\]52;c;([A-Za-z0-9+/=]+)", bytes(terminal.raw))
        assert [base64.b64decode(one).decode() for one in sent] == [said] * (2 if tmux else 1)
        assert (b"\x1bPtmux;" in terminal.raw) is tmux
