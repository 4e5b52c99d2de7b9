"""Several live sessions, worktrees and checkpoints on a pty, and a program that is killed."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import COMMAND, InstalledProgram, Runner, ServerThread
from tests.e2e.program import BUSY
from tests.support.harness import config_for, write_config
from tests.support.script import Answer, Call, Hold, Text, answer
from tests.support.terminal import Terminal

pytestmark = pytest.mark.e2e


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def repository(installed: InstalledProgram) -> Path:
    folder = installed.project
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.email", "me@example.org")
    git(folder, "config", "user.name", "Me")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    return folder


def scripted_reply(body: dict, hold: Hold) -> Answer:
    """Return the response by the last prompt of the user, and whether its call is done."""
    last = str(body["messages"][-1]["content"])
    if body["messages"][-1]["role"] == "tool":
        return answer(Text("it is written"))
    if "work long" in last:
        return answer(Text("on the way "), hold)
    if "ask me" in last:
        return answer(Call("bash", {"command": "touch made", "description": "Make it"}))
    if "write it" in last:
        return answer(Call("write", {"file_path": "made.txt", "content": "made\n"}))
    return answer(Text("it is answered"))


def test_all_live_sessions_are_resumed_after_a_kill(
    installed: InstalledProgram, scripted: ServerThread, repository: Path
) -> None:
    """One works in a worktree, one waits for approval, one is done."""
    hold = Hold()
    scripted.server.always(lambda body: scripted_reply(body, hold))
    with Terminal(
        [COMMAND], cwd=installed.project, env=installed.env, columns=120, rows=40
    ) as terminal:
        terminal.wait(r"model-1")
        terminal.enter("a quick one")
        terminal.wait(r"it is answered")
        terminal.wait(BUSY, gone=True)
        terminal.enter("/new --worktree fix")
        terminal.wait(r"worktree fix +▱")
        terminal.enter("work long")
        terminal.wait(r"on the way")
        terminal.enter("/new --main")
        terminal.wait(r"◐ work long")
        terminal.enter("ask me")
        terminal.wait(r"once +(always +)?reject")
        terminal.signal(signal.SIGKILL)
        terminal.end()
    with Terminal(
        [COMMAND], cwd=installed.project, env=installed.env, columns=120, rows=40
    ) as terminal:
        terminal.wait(r"⊘ work long +interrupted")
        terminal.wait(r"⊘ ask me +interrupted")
        terminal.enter("/next")
        terminal.wait(r"⊘ Interrupted")
        terminal.enter("/next")
        terminal.wait(r"interrupted", gone=True)
        terminal.enter("/sessions")
        terminal.wait(r"(?s)Active.*interrupted.*a quick one")
        terminal.enter("work long")
        terminal.wait(r"enter open", gone=True)
        terminal.wait(r"(?s)on the way.*worktree fix")
        terminal.enter("carry on")
        terminal.wait(r"it is answered")
        terminal.wait(BUSY, gone=True)
        terminal.enter("/exit")
        assert terminal.exit_code() == 0


def test_a_worktree_goes_through_review_merge_and_checkpoint(
    run: Runner, installed: InstalledProgram, scripted: ServerThread, repository: Path
) -> None:
    write_config(installed.home, config_for(scripted.server, permission={"edit": "allow"}))
    scripted.server.always(lambda body: scripted_reply(body, Hold()))
    with run("-w", "fix", columns=120, rows=40) as terminal:
        terminal.wait(r"worktree fix")
        terminal.enter("write it")
        terminal.wait(r"it is written")
        terminal.wait(BUSY, gone=True)
        terminal.enter("/history")
        terminal.wait(r"◉ Checkpoint")
        terminal.again("\x1b", r"◉ Checkpoint", gone=True)
        terminal.enter("/merge")
        terminal.wait(r"(?s)Review of the worktree fix.*enter merge")
        terminal.again("\r", r"Merge opencode/fix")  # at once it is dropped, as too early
        terminal.again("\r", r"Remove the worktree fix\?")  # as above
        terminal.again("y", r"Remove the worktree fix\?", gone=True)
        terminal.wait(r"The worktree fix and its branch are removed")
        assert (repository / "made.txt").read_text() == "made\n"
        terminal.enter("/exit")
        assert terminal.exit_code() == 0
    assert git(repository, "branch", "--list", "opencode/*") == ""
