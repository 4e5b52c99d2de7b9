"""``--plain`` over pipes with a scripted model server."""

import subprocess
import sys
from pathlib import Path

from tests.support.installed import InstalledProgram, ServerThread
from tests.support.script import Call, Text, answer

LAUNCHER = [sys.executable, str(Path(__file__).parents[3] / "opencode_py.py"), "--plain"]
ASKS = {
    "questions": [
        {"question": "Which \x1b[31mway?", "options": [{"label": "left"}, {"label": "right"}]},
        {"question": "How far?"},
    ]
}


def plain(installed: InstalledProgram, typed: str) -> str:
    done = subprocess.run(
        LAUNCHER, cwd=installed.project, env=installed.env, input=typed.encode(),
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout.decode()


def test_questions_are_answered_by_number_or_text(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Call("question", ASKS)), answer(Text("Going right.")))
    printed = plain(installed, "go\n\n2\na mile or so\n/exit\n")
    assert "Which ␛[31mway?" in printed
    assert "  2  right" in printed
    assert "Going right." in printed
    results = str(scripted.server.requests[-1].body["messages"][-1]["content"])
    assert "Answer: right" in results
    assert "Answer: a mile or so" in results


def test_skip_and_the_end_of_input_dismiss_a_question(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    for typed in ("go\n/skip\n/exit\n", "go\n"):
        scripted.server.script(answer(Call("question", ASKS)))
        assert "denied: Ask" in plain(installed, typed)
    assert len(scripted.server.requests) == 2


def test_a_users_slash_command_is_sent(installed: InstalledProgram, scripted: ServerThread) -> None:
    folder = installed.home / "config/commands"
    folder.mkdir(parents=True)
    (folder / "greet.md").write_text("Say hello to $1, !`echo kindly`.")
    scripted.server.script(answer(Text("Hello, Ann.")))
    out = plain(installed, "/greet Ann\n")
    assert "Hello, Ann." in out
    assert "Say hello to Ann, kindly" in str(scripted.server.requests[-1].body)
