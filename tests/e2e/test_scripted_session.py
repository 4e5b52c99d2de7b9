"""The main job against an OpenAI-compatible server from the config file."""

import json

import pytest

from tests.e2e.conftest import READY, InstalledProgram, Runner, ServerThread
from tests.support.script import Call, Hold, Reason, Text, answer

pytestmark = pytest.mark.e2e


def transcript(screen: str) -> str:
    """Return the text above the prompt."""
    return screen.rpartition("▌ Ask for")[0].rstrip("▌ \n")


def test_a_whole_session_and_its_continuation(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(
        answer(
            Reason("The reader must be looked at."),
            Text("I look at **calc.py** first."),
            Call("read", {"file_path": "calc.py"}),
        ),
        answer(
            Call("edit", {"file_path": "calc.py", "old_string": "a - b", "new_string": "a + b"}),
        ),
        answer(Text("It adds now.")),
        answer(Text("Yes, I remember calc.py.")),
    )
    with run(rows=40) as terminal:
        terminal.wait(READY)
        terminal.wait(r"model-1")
        terminal.enter("why does add not add?")
        terminal.wait(r"I look at calc.py first")
        terminal.answer("o")
        terminal.wait(r"It adds now\.")
        screen = terminal.wait(r"esc to interrupt", gone=True)
        assert "The reader must be looked at." in screen
        assert "● Read calc.py" in screen
        assert "● Edit calc.py" in screen
        shown = transcript(screen)
        terminal.enter("/exit")
        assert terminal.exit_code() == 0
    assert "a + b" in (installed.project / "calc.py").read_text()
    with run("--continue", rows=40) as terminal:
        terminal.wait(r"It adds now\.")
        terminal.until(lambda: transcript(terminal.screen) == shown, "it looks otherwise")
        terminal.enter("do you remember?")
        terminal.wait(r"Yes, I remember calc\.py")
    sent = json.dumps(scripted.server.requests[-1].body["messages"])
    assert "why does add not add?" in sent
    assert "It adds now." in sent


def test_a_message_typed_during_a_turn_steers_it(run: Runner, scripted: ServerThread) -> None:
    hold = Hold()
    scripted.server.script(
        answer(Text("Working on it."), hold, Call("list", {})), answer(Text("As you wish."))
    )
    with run() as terminal:
        terminal.wait(READY)
        terminal.enter("go")
        terminal.wait(r"Working on it\.")
        terminal.enter("stop and use tabs")
        terminal.wait(r"queued")
        scripted.set(hold.gate)
        terminal.wait(r"As you wish\.")
        terminal.wait(r"queued", gone=True)
    assert "stop and use tabs" in json.dumps(scripted.server.requests[1].body["messages"][-1])


def test_markup_in_untrusted_text_is_shown_literally(run: Runner, scripted: ServerThread) -> None:
    scripted.server.script(answer(Text("see [/] and [bold [red]x[/blue] in the text")))
    with run() as terminal:
        terminal.wait(READY)
        terminal.enter("[/] [bold [red]x[/blue]")
        screen = terminal.wait(r"in the text")
        assert screen.count("[bold [red]x[/blue]") == 2


def test_resizing_during_a_stream_breaks_nothing(run: Runner, scripted: ServerThread) -> None:
    hold = Hold()
    words = [Text(f"word{n} ") for n in range(300)]
    scripted.server.script(answer(*words[:150], hold, *words[150:], Text("theend")))
    with run() as terminal:
        terminal.wait(READY)
        terminal.enter("go")
        terminal.wait(r"word149")
        for columns, rows in ((20, 8), (26, 10), (140, 45), (80, 24)):
            terminal.resize(columns, rows)
            terminal.wait(r"word149")
        scripted.set(hold.gate)
        terminal.wait(r"theend")
        terminal.enter("/exit")
        assert terminal.exit_code() == 0


def test_a_bracketed_paste_of_lines_is_one_prompt(run: Runner, scripted: ServerThread) -> None:
    scripted.server.script(answer(Text("got it")))
    with run() as terminal:
        terminal.wait(READY)
        terminal.wait(r"model-1")
        terminal.send("\x1b[200~first\nsecond\nthird\x1b[201~")
        terminal.wait(r"third")
        terminal.send("\r")
        terminal.wait(r"got it")
    (request,) = scripted.server.requests
    assert request.body["messages"][-1]["content"] == "first\nsecond\nthird"


@pytest.mark.parametrize("newline", ["\n", "\x1b\r", "\x1b[13;2u", "\x1b[27;2;13~", "\\\r"])
def test_every_newline_key_inserts_a_newline(
    run: Runner, scripted: ServerThread, newline: str
) -> None:
    scripted.server.script(answer(Text("got it")))
    with run() as terminal:
        terminal.wait(READY)
        terminal.wait(r"model-1")
        terminal.send("a")
        terminal.wait(r"▌ a")
        terminal.send(newline)
        terminal.wait(r"▌ a\n▌\n▌\n")  # the new line and the edge of the box
        terminal.send("b")
        terminal.wait(r"▌ b")
        terminal.send("\r")
        terminal.wait(r"got it")
    assert scripted.server.requests[0].body["messages"][-1]["content"] == "a\nb"
