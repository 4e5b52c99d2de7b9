"""Scrolling, wide characters, missing colors and the clipboard on a real terminal."""

import base64
import re

import pytest

from tests.e2e.conftest import READY, Runner, ServerThread
from tests.e2e.program import BUSY
from tests.support.script import Call, Hold, Text, answer

pytestmark = pytest.mark.e2e


def test_scrolled_up_the_view_stays_while_text_streams_and_a_dialog_opens(
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


def test_a_click_on_a_wide_character_places_the_cursor_beside_it(
    run: Runner, scripted: ServerThread
) -> None:
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


def test_everything_is_readable_without_colors(run: Runner) -> None:
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
            assert (front, back) == ("default", "default"), text


@pytest.mark.parametrize("tmux", [False, True])
def test_without_a_clipboard_program_the_terminal_copies_the_text(
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
