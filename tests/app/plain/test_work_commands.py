"""Goals, loops, worktrees and changes in ``--plain``."""

import re
import signal
import subprocess
from pathlib import Path

from tests.app.cli.run.process import more_settings
from tests.app.plain.plain_program import LAUNCHER, plain
from tests.support.installed import InstalledProgram, ServerThread
from tests.support.script import Call, Text, Tokens, answer

WRITE = Call("write", {"file_path": "made.txt", "content": "made\n"})


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def repository(installed: InstalledProgram) -> Path:
    folder = installed.project
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.email", "me@example.org")
    git(folder, "config", "user.name", "Me")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def in_worktree(installed: InstalledProgram, typed: str, *words: str) -> str:
    done = subprocess.run(
        [*LAUNCHER, *words], cwd=installed.project, env=installed.env, input=typed.encode(),
        capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout.decode()


def test_a_goal_is_worked_on_until_its_check_passes(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    more_settings(installed, permission={"edit": "allow", "bash": "allow"})
    scripted.server.script(
        answer(Text("I looked at it.")), answer(WRITE), answer(Text("Now it is there."))
    )
    typed = '/goal Write it --check "test -f made.txt"\n/goal\n/goal stop\n/exit\n'
    printed = plain(installed, typed)
    assert "I looked at it." in printed
    assert "Goal reached: Write it · 2 rounds" in printed
    assert "Now it is there." in printed
    assert "is reached (round 2 of 20)" in printed
    assert "This session has no goal" in printed


def test_a_cap_can_be_set_before_the_first_prompt(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Call("read", {"file_path": "a.txt"}), Tokens(60, 40)))
    typed = "/budget session 90 tokens\ngo\n/budget\n/exit\n"
    printed = plain(installed, typed)
    assert "The cap for this session is 90 tokens." in printed
    assert "A spending cap is reached. This session has used 100 tokens" in printed
    assert len(scripted.server.requests) == 1


def test_a_worktree_is_begun_listed_and_left(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    folder = repository(installed)
    scripted.server.always(answer(Text("There.")))
    typed = "/new --worktree fix go\n/sessions\n/new --main\n!pwd\n/new --main\n/exit\n"
    printed = in_worktree(installed, typed, "--plain")
    assert re.search(r"Working in .*/worktrees/.*/fix\.\n", printed)
    assert "There." in printed
    assert re.search(r"ses_\w+  go  \d\d:\d\d   1 turn", printed)
    assert f"Working in {folder}." in printed
    assert f"\n{folder}\n" in printed
    assert "This session is not in a worktree." in printed


def test_a_loop_repeats_until_it_is_interrupted(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.always(answer(Text("Nothing new.")))
    process = subprocess.Popen(
        LAUNCHER,
        cwd=installed.project,
        env=installed.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"/loop 10s look around\n")
    process.stdin.flush()
    for line in process.stdout:
        if b"Nothing new." in line:
            break
    for line in process.stdout:
        if line.startswith(b"Agent "):  # the turn is over, and the loop waits
            break
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(b"/loop\n/exit\n", timeout=60)
    assert b"There is no loop" in output or b"/loop 10m PROMPT" in output
    assert process.returncode == 0


def test_a_worktree_is_reviewed_merged_and_removed(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    folder = repository(installed)
    more_settings(installed, permission={"edit": "allow"})
    scripted.server.script(answer(WRITE), answer(Text("Written.")))
    typed = "write it\n/review\n/merge\nno\n/merge remove\n/exit\n"
    printed = in_worktree(installed, typed, "--worktree", "fix")
    assert printed.count("+++ made.txt\n@@ -0,0 +1,1 @@\n+made") == 2
    assert "Nothing was merged." in printed
    assert "to remove the worktree" in printed
    assert not (folder / "made.txt").exists()
    printed = plain(installed, "/merge\n/merge nothing\n/merge fix\nsquash\nyes\n/merge\n/exit\n")
    assert "Name the worktree: fix." in printed
    assert "There is no worktree nothing. The worktrees are: fix." in printed
    assert "are staged in" in printed
    assert "The worktree fix is removed." in printed
    assert "This session is not in a worktree." in printed
    assert git(folder, "status", "--short") == "A  made.txt\n"


def test_a_session_of_a_worktree_continues_there(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    repository(installed)
    more_settings(installed, permission={"bash": "allow"})
    scripted.server.always(answer(Text("Here.")))
    printed = in_worktree(installed, "go\n/exit\n", "--worktree", "fix")
    found = re.search(r" -s (\S+)", printed)
    assert found is not None
    for number, typed, words in (
        (1, f"/resume {found[1]}\n!touch made-1\n/exit\n", ()),
        (2, "!touch made-2\n/exit\n", ("--session", found[1])),
    ):
        printed = in_worktree(installed, typed, *words)
        folder = re.search(r"Working in (.*/worktrees/.*/fix)\.", printed)
        assert folder is not None
        assert Path(folder[1], f"made-{number}").exists()
