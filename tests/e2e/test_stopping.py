"""Stopping at any moment, and messages typed meanwhile."""

import json
import os
import signal

import pytest

from tests.e2e.conftest import READY, InstalledProgram, Runner, ServerThread
from tests.e2e.program import BUSY, ESC, allow_everything
from tests.support.script import Answer, Call, Failure, Hold, StreamFailure, Text, answer
from tests.support.terminal import processes_with

pytestmark = pytest.mark.e2e


def asked(scripted: ServerThread) -> list[str]:
    """Return the user's messages of the newest request, as JSON."""
    messages = scripted.server.requests[-1].body["messages"]
    return [json.dumps(message) for message in messages if message["role"] == "user"]


def test_ctrl_c_keeps_the_received_text_and_closes_the_connection(
    run: Runner, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("half of it "), Hold()), answer(Text("fine now")))
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"half of it")
        terminal.send("my draft")
        terminal.wait(r"▌ my draft")
        terminal.send("\x03")
        terminal.wait(r"Interrupted")
        screen = terminal.wait(BUSY, gone=True)
        assert "half of it" in screen
        assert "▌ my draft" in screen
        terminal.until(scripted.server.requests[0].closed.is_set, "the connection stays open")
        terminal.enter(" goes on")
        terminal.wait(r"fine now")
        assert "half of it" in terminal.screen
    assert "my draft goes on" in asked(scripted)[-1]
    with run("--continue") as terminal:
        terminal.wait(r"(?s)half of it.*Interrupted.*fine now")


def test_ctrl_c_during_the_wait_for_a_retry(run: Runner, scripted: ServerThread) -> None:
    busy = Failure(429, headers=(("retry-after", "500"),))
    scripted.server.script(busy, answer(Text("fine now")))
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"(?m)Retry 1 in \d+s.* esc to interrupt$")
        terminal.send("\x03")
        terminal.wait(r"Interrupted")
        terminal.wait(BUSY, gone=True)
        assert len(scripted.server.requests) == 1
        terminal.enter("again")
        terminal.wait(r"fine now")


def test_ctrl_c_in_the_permission_dialog_cancels_the_turn(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(
        answer(Call("write", {"file_path": "a.txt", "content": "x"})), answer(Text("fine now"))
    )
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"once +always +reject")
        terminal.send("\x03")
        terminal.wait(r"once +always +reject", gone=True)
        terminal.wait(r"(?s)⊘ Write a\.txt.*Interrupted")
        terminal.wait(BUSY, gone=True)
        assert len(scripted.server.requests) == 1
        terminal.enter("again")
        terminal.wait(r"fine now")
    assert not (installed.project / "a.txt").exists()


@pytest.mark.parametrize("ending", ["call", "error"])
def test_queued_messages_are_visible_and_arrive_once_in_order(
    run: Runner, scripted: ServerThread, ending: str
) -> None:
    hold = Hold()
    last = {"call": Call("list", {}), "error": StreamFailure("invalid_request_error", "no more")}
    scripted.server.script(answer(Text("Working on it."), hold, last[ending]))
    scripted.server.always(answer(Text("As you wish.")))
    with run(rows=40) as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"Working on it\.")
        terminal.enter("second thing")
        terminal.wait(r"1 message queued, ↑ to edit")
        terminal.enter("third thing")
        terminal.wait(r"(?s)queued, sent.*queued, sent.*2 messages queued, ↑ to edit")
        scripted.set(hold.gate)
        terminal.wait(r"As you wish\.")
        terminal.wait(BUSY, gone=True)
        assert "queued" not in terminal.screen
    text = "".join(asked(scripted))
    assert (text.count("second thing"), text.count("third thing")) == (1, 1)
    assert text.index("second thing") < text.index("third thing")


def test_a_queued_message_survives_a_restart(run: Runner, scripted: ServerThread) -> None:
    scripted.server.script(answer(Text("Working on it."), Hold()))
    scripted.server.always(answer(Text("As you wish.")))
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"Working on it\.")
        terminal.enter("second thing")
        terminal.wait(r"1 message queued, ↑ to edit")
        terminal.enter("/exit")
        assert terminal.exit_code() == 0
    with run("--continue") as terminal:
        terminal.wait(r"second thing")
        terminal.enter("third thing")
        terminal.wait(r"As you wish\.")
        terminal.wait(BUSY, gone=True)
    text = "".join(asked(scripted))
    assert (text.count("second thing"), text.count("third thing")) == (1, 1)


def _stored(installed: InstalledProgram, text: bytes) -> bool:
    return any(text in file.read_bytes() for file in (installed.home / "data").glob("sessions.db*"))


def test_a_kill_during_a_stream_loses_nothing_stored(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    rest: Answer = answer(Text("fine now"))
    scripted.server.script(answer(Text("half of it "), Hold()), rest)
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"half of it")
        terminal.until(lambda: _stored(installed, b"half of it"), "the text is never stored")
        terminal.signal(signal.SIGKILL)
        terminal.exit_code()
    with run("--continue") as terminal:
        terminal.wait(r"(?s)half of it.*Interrupted")
        terminal.wait(READY)
        terminal.enter("go on")
        terminal.wait(r"fine now")


def test_esc_stops_a_sub_agent_and_its_command(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    mark = f"sleep 61.{os.getpid() % 10_000:04}"
    scripted.server.script(
        answer(Call("task", {"description": "d", "prompt": "p"})),
        answer(Call("bash", {"command": mark})),
    )
    scripted.server.always(answer(Text("fine now")))
    allow_everything(installed, scripted)
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


def test_leaving_names_the_sessions_that_it_interrupts_and_keeps_what_they_have(
    run: Runner, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("half of it "), Hold()))
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("count the files")
        terminal.wait(r"half of it")
        terminal.enter("/new")
        terminal.wait(r"◐ count the files +ctrl\+x w next")
        terminal.send("\x03")
        terminal.wait(r"Press ctrl\+c again to exit. 1 other session will be interrupted.")
        terminal.send("\x03")
        terminal.wait(r"(?s)Interrupted: “count the files”. To continue:.*opencode-py -s ses_")
        assert terminal.exit_code() == 0
    with run("--continue") as terminal:
        terminal.wait(r"(?s)half of it.*Interrupted")
