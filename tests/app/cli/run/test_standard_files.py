"""``opencode-py run`` where scripts, cron and services start it: its standard files."""

import asyncio
import subprocess

import pytest

from tests.app.cli.run.process import GUARD, LAUNCHER, run
from tests.support.installed import InstalledProgram, ServerThread
from tests.support.script import Call, Hold, Text, answer

FULL = b"The output cannot be written: No space left on device.\n"


def shell(installed: InstalledProgram, line: str) -> subprocess.CompletedProcess[bytes]:
    """Run *line*, where ``"$@"`` is the command with its prompt."""
    return subprocess.run(
        ["sh", "-c", line, "sh", *LAUNCHER, "go"],
        cwd=installed.project, env=installed.env, stdin=subprocess.DEVNULL, capture_output=True,
        timeout=GUARD, check=False,
    )  # fmt: skip


def test_a_silent_open_standard_input_does_not_hold_up_a_given_prompt(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("done")))
    with subprocess.Popen(
        [*LAUNCHER, "go"], cwd=installed.project, env=installed.env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.wait(GUARD) == 0  # and nothing was written or closed
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read() == b"done\n"
        assert b"Waiting for standard input" in process.stderr.read()


def test_input_that_comes_too_late_is_named(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    hold = Hold()
    scripted.server.script((hold, *answer(Text("done"))))
    with subprocess.Popen(
        [*LAUNCHER, "go"], cwd=installed.project, env=installed.env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stderr is not None
        asyncio.run_coroutine_threadsafe(hold.reached.wait(), scripted.loop).result(GUARD)
        process.stdin.write(b"late")
        process.stdin.close()
        scripted.set(hold.gate)
        assert process.wait(GUARD) == 0
        assert b"Add - after the prompt to wait for it." in process.stderr.read()
    assert "late" not in str(scripted.server.requests[0].body["messages"][-1])


def test_a_hyphen_after_the_prompt_waits_for_standard_input(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("done")))
    with subprocess.Popen(
        [*LAUNCHER, "go", "-"], cwd=installed.project, env=installed.env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stderr is not None
        # Said only after the time that a silent input is given otherwise.
        assert process.stderr.readline().startswith(b"Waiting for standard input to end;")
        process.stdin.write(b"late")
        process.stdin.close()
        assert process.wait(GUARD) == 0
    assert "late" in str(scripted.server.requests[0].body["messages"][-1])


def test_input_that_comes_in_pieces_is_read_to_its_end(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("done")))
    with subprocess.Popen(
        [*LAUNCHER, "go"], cwd=installed.project, env=installed.env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(b"first ")
        process.stdin.flush()
        process.stdin.write(b"second")
        process.stdin.close()
        assert process.wait(GUARD) == 0
    assert "first second" in str(scripted.server.requests[0].body["messages"][-1])


@pytest.mark.parametrize("words", ["", "--format json", "--format opencode", "--format claude"])
def test_a_full_disk_is_one_sentence(
    installed: InstalledProgram, scripted: ServerThread, words: str
) -> None:
    scripted.server.always(answer(Text("x" * 100)))
    done = shell(installed, f'"$@" {words} > /dev/full')
    assert (done.returncode, done.stderr) == (1, FULL)


@pytest.mark.parametrize("words", ["--help", "--version", "models", "session --help", "run --help"])
def test_a_full_disk_is_one_sentence_for_every_command(
    installed: InstalledProgram, words: str
) -> None:
    line = f"shift; exec {LAUNCHER[0]} {LAUNCHER[1]} {words} > /dev/full"
    done = shell(installed, line)
    assert (done.returncode, done.stderr) == (1, FULL)


def test_a_closed_standard_output_is_one_sentence(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.always(answer(Text("done")))
    done = shell(installed, '"$@" >&-')
    assert done.returncode == 1
    assert done.stderr == b"The output cannot be written: Bad file descriptor.\n"


def test_closed_standard_files_are_not_taken_by_the_database(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Call("list", {})), answer(Text("done")))
    done = shell(installed, '"$@" <&- 2>&-')
    assert (done.returncode, done.stdout) == (0, b"done\n")


def test_an_unwritable_standard_error_changes_nothing(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Call("bash", {"command": "touch made"})), answer(Text("done")))
    done = shell(installed, '"$@" 2> /dev/full')
    assert (done.returncode, done.stdout) == (3, b"done\n")


def test_a_model_that_its_provider_does_not_list_is_reported(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.script(answer(Text("done")))
    done = run(installed, "-m", "scripted/model-2", "go")
    assert b"scripted/model-2 is not among the known models of scripted." in done.stderr
    assert b"Did you mean scripted/model-1?" in done.stderr
