"""The main job on the built-in demo model, as a user does it."""

import re

import pytest

from tests.e2e.conftest import READY, InstalledProgram, Runner
from tests.support.terminal import processes_with

pytestmark = pytest.mark.e2e


def test_the_home_page_explains_the_program(run: Runner) -> None:
    with run() as terminal:
        terminal.wait(READY)
        screen = terminal.wait("no model is connected")
        assert "a coding agent for this folder" in screen
        terminal.wait("tour")


def test_the_demo_lists_reads_and_searches(run: Runner) -> None:
    with run(rows=40) as terminal:
        terminal.wait(READY)
        terminal.enter("list")
        terminal.wait(r"● List")
        terminal.enter("read README.md")
        terminal.wait(r"● Read README.md +3 lines")
        terminal.enter("search for return")
        terminal.wait(r"● Grep .*1 match")
        terminal.wait(r"Working|Waiting", gone=True)


def test_an_edit_shows_its_diff_and_once_allows_it(
    run: Runner, installed: InstalledProgram
) -> None:
    with run(rows=40) as terminal:
        terminal.wait(READY)
        terminal.enter("replace a - b with a + b in calc.py")
        terminal.wait(r"\+ +return a \+ b")
        assert (installed.project / "calc.py").read_text() == "def add(a, b):\n    return a - b\n"
        terminal.answer("o")
        terminal.wait(r"● Edit calc.py")
        terminal.until(
            lambda: "a + b" in (installed.project / "calc.py").read_text(), "the file is unchanged"
        )


def test_program_data_is_private_and_files_made_for_the_user_are_not(
    run: Runner, installed: InstalledProgram
) -> None:
    with run() as terminal:
        terminal.wait(READY)
        terminal.enter("create notes.txt with hello")
        terminal.answer("o")
        terminal.wait(r"● Write notes.txt")
        terminal.enter("run touch made.txt")
        terminal.answer("o")
        terminal.wait(r"● Bash touch made.txt")
        terminal.enter("/exit")
        terminal.exit_code()
    for name in ("notes.txt", "made.txt"):
        assert (installed.project / name).stat().st_mode & 0o777 == 0o644
    kept = list((installed.home / "data").rglob("*"))
    assert kept
    for path in kept:
        assert path.stat().st_mode & 0o077 == 0, path


def test_reject_leaves_the_file_alone_and_the_prompt_works(
    run: Runner, installed: InstalledProgram
) -> None:
    with run(rows=40) as terminal:
        terminal.wait(READY)
        terminal.enter("create notes.txt with hello")
        terminal.answer("r")
        terminal.wait(r"✕ Write notes.txt")
        assert not (installed.project / "notes.txt").exists()
        terminal.enter("read README.md")
        terminal.wait(r"● Read README.md")


def test_always_covers_the_second_time(run: Runner, installed: InstalledProgram) -> None:
    with run(rows=40) as terminal:
        terminal.wait(READY)
        terminal.enter("run touch one.txt")
        terminal.answer("a")
        terminal.wait(r"● Bash touch one.txt")
        terminal.enter("run touch one.txt")
        terminal.wait(r"(?s)● Bash touch one.txt.*● Bash touch one.txt")
        assert (installed.project / "one.txt").exists()


def test_ctrl_c_stops_a_long_response_and_the_prompt_works_at_once(run: Runner) -> None:
    with run() as terminal:
        terminal.wait(READY)
        terminal.enter("stream 2000 words")
        terminal.wait(r"esc to interrupt")
        terminal.wait(r"(?s)word.*word|\w+ \w+ \w+ \w+ \w+ \w+ \w+")
        terminal.send("\x03")
        terminal.wait(r"esc to interrupt", gone=True)
        terminal.wait(r"[Ii]nterrupted")
        terminal.enter("read README.md")
        terminal.wait(r"● Read README.md")


def test_ctrl_c_during_a_command_leaves_no_process(run: Runner) -> None:
    with run() as terminal:
        terminal.wait(READY)
        terminal.enter("run sleep 61.37")
        terminal.until(lambda: bool(processes_with("sleep 61.37")), "the command never ran")
        terminal.send("\x03")
        terminal.wait(r"⊘ Bash")
        terminal.until(lambda: not processes_with("sleep 61.37"), "the command lives on")
        terminal.enter("list")
        terminal.wait(r"● List")


def test_exit_prints_the_resume_command_and_continue_shows_everything(run: Runner) -> None:
    with run() as terminal:
        terminal.wait(READY)
        terminal.enter("read README.md")
        terminal.wait(r"● Read README.md")
        terminal.wait(r"esc to interrupt", gone=True)
        terminal.send("\x03")
        terminal.wait(r"again to exit")
        terminal.send("\x03")
        assert terminal.exit_code() == 0
        told = re.search(rb"opencode-py -s (ses_\w+)", terminal.raw)
        assert told
    session = told.group(1).decode()
    for arguments in (("--continue",), ("--session", session)):
        with run(*arguments) as terminal:
            terminal.wait(r"● Read README.md")
            terminal.enter("list")
            terminal.wait(r"(?s)● Read README.md.*● List")
    with run("-s", session, "--fork") as terminal:
        terminal.wait(r"● List")
        terminal.enter("/exit")
        assert terminal.exit_code() == 0
        (copy,) = re.findall(rb" -s (ses_\w+)", terminal.raw)
        assert copy.decode() != session


def test_a_prompt_on_the_command_line_is_sent_at_once(run: Runner) -> None:
    with run("--prompt", "read README.md") as terminal:
        terminal.wait(r"● Read README.md")


def test_plain_is_line_based_and_asks_for_permission(
    run: Runner, installed: InstalledProgram
) -> None:
    with run("--plain", rows=60) as terminal:
        terminal.wait(r"demo/offline")
        terminal.send("read README.md\n")
        terminal.wait(r"Read README.md")
        terminal.send("create notes.txt with hello\n")
        terminal.wait(r"(?i)once|\by/")
        terminal.send("o\n")
        terminal.until((installed.project / "notes.txt").exists, "the file was never written")
        terminal.send("\x04")
        assert terminal.exit_code() == 0
        assert b"\x1b[?1049h" not in terminal.raw
