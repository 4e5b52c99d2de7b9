"""Terminal behavior: sizes, suspend, early keys, pastes, untrusted text."""

import re
import shutil
import termios
from pathlib import Path

import pytest

from tests.e2e.conftest import COMMAND, READY, InstalledProgram, Runner, ServerThread
from tests.e2e.program import BUSY
from tests.support.script import Call, Failure, Text, answer
from tests.support.terminal import Terminal, children_of

pytestmark = pytest.mark.e2e

END = "\x1b[F"


def test_a_terminal_of_20_columns_is_enough(run: Runner, installed: InstalledProgram) -> None:
    with run(columns=20, rows=8) as terminal:
        terminal.wait(READY)
        terminal.enter("create a with b")
        terminal.wait(r"once always reject")
        terminal.answer("o")
        terminal.until((installed.project / "a").exists, "the file was never written")
        terminal.wait(READY)


def test_a_long_command_scrolls_and_the_answer_buttons_stay(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    lines = "\n".join(f"line {n}" for n in range(200))
    scripted.server.script(
        answer(Call("bash", {"command": f"echo {'x' * 5000} ; touch the_end"})),
        answer(Call("bash", {"command": f"cat > out.txt <<'EOF'\n{lines}\nEOF"})),
        answer(Text("fine now")),
    )
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"xxxx(?s:.*)once +always +reject")
        for columns, rows, answers in (
            (20, 8, r"▌ Run this(?s:.*)▌ once always reject"),
            (140, 45, r" {6}once {6}always {6}reject(?s:.*)model-1  ask mode {45}"),
            (80, 24, r"(?m) {6}once {6}always {6}reject"),
        ):
            terminal.resize(columns, rows)
            terminal.wait(answers)
        scroll_to(terminal, r"x ; touch the_end")
        terminal.answer("o")
        terminal.wait(r"line 0(?s:.*)once +reject")
        scroll_to(terminal, r"line 199(?s:.*)once +reject")
        terminal.answer("o")
        terminal.wait(r"fine now")
    assert (installed.project / "the_end").exists()
    assert (installed.project / "out.txt").read_text() == lines + "\n"


def scroll_to(terminal: Terminal, pattern: str) -> None:
    """Press End until the dialog reacts (it ignores keys for a moment after it opens)."""
    terminal.again(END, pattern)


def test_ctrl_z_suspends_and_fg_repaints_everything(installed: InstalledProgram) -> None:
    # A shell that leaves the terminal modes to programs, as many do; bash repairs them.
    shell = "dash -i" if shutil.which("dash") else "bash --norc --noediting -i"
    with Terminal(shell.split(), cwd=installed.project, env=installed.env) as terminal:
        terminal.enter(COMMAND)
        terminal.wait(READY)
        terminal.enter("read README.md")
        terminal.wait(r"● Read README\.md")
        terminal.wait(r"Working", gone=True)
        before = len(terminal.raw)
        terminal.send("\x1a")
        terminal.wait(r"Stopped")
        stopped = bytes(terminal.raw[before:])
        assert terminal.modes_now == terminal.modes_before
        for off in (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?2004l", b"\x1b[?25h"):
            assert off in stopped, off
        terminal.blank()
        terminal.enter("fg")
        terminal.wait(r"(?s)▌ read README\.md.*● Read README\.md.*" + READY)
        terminal.enter("list")
        terminal.wait(r"● List")
        terminal.wait(r"Working", gone=True)
        terminal.enter("/exit")
        terminal.wait(r"(?s)To continue:.*opencode-py -s ses_")
        terminal.until(lambda: not children_of(terminal.pid), "the program did not end")
        assert terminal.modes_now == terminal.modes_before


def test_ctrl_z_without_a_parent_shell_does_not_suspend(run: Runner) -> None:
    with run() as terminal:
        terminal.wait(READY)
        terminal.send("\x1a")
        terminal.wait(r"Cannot suspend")


def test_keys_typed_before_the_first_frame_are_kept(run: Runner) -> None:
    with run() as terminal:
        terminal.send("read README.md\r")
        terminal.wait(r"● Read README\.md")
        assert not terminal.modes_now[3] & termios.ECHO


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("/he", r"/help "),
        ("/help\r", r"Prompt keys"),
        ("\x10", r"All commands|Type to filter"),
        ("\x1b[200~one\ntwo\x1b[201~", r"one\s+▌\s+two"),
        ("@", r"README\.md"),
    ],
)
def test_every_key_works_before_the_first_frame(run: Runner, keys: str, shown: str) -> None:
    """Their code is imported after the first frame, or on demand."""
    with run() as terminal:
        terminal.send(keys)
        terminal.wait(shown)


def test_pasted_lines_are_one_prompt_with_and_without_markers(
    run: Runner, scripted: ServerThread
) -> None:
    scripted.server.always(answer(Text("got it")))
    with run() as terminal:
        terminal.wait(READY)
        terminal.wait(r"model-1")
        terminal.send("\x1b[200~a1\nb1\nc1\x1b[201~\r")
        terminal.wait(r"(?s)c1.*got it")
        terminal.send("a2\nb2\nc2")
        terminal.wait(r"▌ c2")
        terminal.send("\r")
        terminal.wait(r"(?s)c2.*got it")
    sent = [request.body["messages"][-1]["content"] for request in scripted.server.requests]
    assert sent == ["a1\nb1\nc1", "a2\nb2\nc2"]


def test_text_typed_before_a_list_is_visible_chooses_from_it(
    run: Runner, scripted: ServerThread
) -> None:
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("/models")
        terminal.send("offline\r")
        terminal.wait(r"build +demo/offline")
        terminal.wait(r"▌ +offline", gone=True)
        terminal.wait(r"Models", gone=True)
    assert scripted.server.requests == []


def test_lines_pasted_before_the_first_frame_are_one_prompt(
    run: Runner, scripted: ServerThread
) -> None:
    scripted.server.always(answer(Text("got it")))
    with run() as terminal:
        terminal.until(lambda: _reads_early(terminal), "the terminal was never read")
        terminal.send("one\rtwo\rthree")
        terminal.wait(r"▌ one\s+▌ two\s+▌ three")
        terminal.wait(r"model-1")
        terminal.send("\r")
        terminal.wait("got it")
    sent = [request.body["messages"][-1]["content"] for request in scripted.server.requests]
    assert sent == ["one\ntwo\nthree"]


def _reads_early(terminal: Terminal) -> bool:
    """Return whether the program reads in its second thread."""
    return len(list(Path(f"/proc/{terminal.pid}/task").iterdir())) > 1


def test_keys_of_one_read_work_in_order(run: Runner, scripted: ServerThread) -> None:
    scripted.server.always(answer(Text("got it")))
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.send("ab👩‍👩‍👧é\x1b[D\x7fc\x7fd\x1b[3~e\x1b[Hs\x1b[Fz")
        terminal.wait(r"sabdez")
        terminal.send("\r")
        terminal.wait(r"got it")
    assert scripted.server.requests[0].body["messages"][-1]["content"] == "sabdez"


def test_untrusted_text_is_shown_literally_everywhere(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    (installed.project / "[").mkdir()
    (installed.project / "[" / "b].txt").write_text("[/file]\n")
    scripted.server.script(
        answer(
            Text("see [/] and \x1b]0;stolen\x07 and \x1b[2J"),
            Call("read", {"file_path": "[/b].txt"}),
            Call("bash", {"command": "printf '[/x] \\033]0;stolen\\007\\n'"}),
            Call("bash", {"command": "touch '[/y] [red]'"}),
        ),
        answer(Text("done [bold [red]x[/blue]")),
        Failure(400, '{"error": {"message": "no [/red] \\u001b]0;stolen\\u0007 here"}}'),
    )
    with run(rows=40) as terminal:
        terminal.wait(r"model-1")
        terminal.enter("title [/] [bold [red]x[/blue]")
        terminal.wait(r"▌ +touch '\[/y\] \[red\]'")  # the dialog
        terminal.answer("o")
        terminal.wait(r"done \[bold \[red\]x\[/blue\]")
        terminal.enter("/export [/z].md")
        terminal.wait(r"\[/z\]\.md")  # a notification
        terminal.enter("again")
        screen = terminal.wait(r"no \[/red\]")
        assert "see [/] and " in screen
        assert "● Read [/b].txt" in screen
        assert "[/x]" in screen.split("● Bash")[1].partition("\n")[2]
        terminal.wait(r"Working", gone=True)
        terminal.enter("/sessions")
        terminal.wait(r"(?s)Sessions of this folder.*● title \[/\] \[bold \[red\]x")
        assert b"\x1b]0;stolen" not in terminal.raw
        assert b"title [/] [bold [red]x[/blue]\x07" in terminal.raw  # the terminal's title


def test_the_external_editor_gets_the_screen_and_returns_it(
    run: Runner, installed: InstalledProgram
) -> None:
    """The text from the editor becomes the prompt, and the program repaints."""
    script = installed.project.parent / "editor"
    script.write_text('#!/bin/sh\nprintf "in the editor "; read answer\necho "$answer!" > "$1"\n')
    script.chmod(0o755)
    with run(env={"EDITOR": str(script), "VISUAL": ""}) as terminal:
        terminal.wait(READY)
        terminal.enter("/editor")
        terminal.wait(r"in the editor")
        terminal.enter("from outside")
        terminal.wait(r"▌ from outside!(?s:.*)demo/offline")


def test_a_click_on_a_file_and_line_opens_an_editor_of_the_terminal_there(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    script = installed.project.parent / "vim"
    script.write_text('#!/bin/sh\nprintf "opened $* "; read answer\n')
    script.chmod(0o755)
    (installed.project / "shop.py").write_text("x = 1\n" * 30)
    scripted.server.always(answer(Text("The fault is in shop.py:12, not in README.md.")))
    with run(env={"EDITOR": str(script), "VISUAL": ""}, columns=200) as terminal:
        terminal.wait(r"model-1")
        terminal.enter("where?")
        terminal.wait(r"shop\.py:12, not")
        terminal.wait(BUSY, gone=True)
        rows = terminal.screen.split("\n")
        row = next(at for at, text in enumerate(rows, 1) if "shop.py:12" in text)
        column = rows[row - 1].index("shop.py") + 3
        terminal.send(f"\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m")
        terminal.wait(re.escape(f"opened +12 {installed.project / 'shop.py'}"))
        terminal.send("\r")
        terminal.wait(r"shop\.py:12, not")
        terminal.send("\x0f")  # ctrl+o: the rows by key
        terminal.wait(r"e edit")
        terminal.send("e")
        terminal.wait(r"(?s)Open in the editor.*shop\.py:12.*README\.md")
        terminal.send("READ")
        terminal.wait(r"shop\.py:12\n", gone=True)
        terminal.send("\r")
        terminal.wait(r"opened \S+README\.md")
