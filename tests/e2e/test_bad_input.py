"""Bad input: one sentence each, the right exit code, nothing lost."""

import re
import signal
import sqlite3
from pathlib import Path

import pytest

from tests.e2e.conftest import COMMAND, READY, InstalledProgram, Runner
from tests.support.harness import write_config
from tests.support.terminal import Terminal

pytestmark = pytest.mark.e2e


def ended(run: Runner, *arguments: str, **more: object) -> tuple[int, str]:
    """Return the exit code and everything printed by a start that fails."""
    with run(*arguments, **more) as terminal:
        code = terminal.exit_code()
        return code, terminal.raw.decode(errors="replace")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("/no/such/folder",), 2, "There is no folder"),
        (("-m", "nobody/model"), 1, "nobody"),
        (("--agent", "nobody"), 1, "There is no agent named nobody"),
        (("-s", "ses_nothing"), 1, "ses_nothing"),
        (("--effort",), 2, "--effort"),
        (("README.md",), 2, "README.md is not a folder."),
        (("-c", "-s", "ses_nothing"), 2, "not both"),
        (("--fork",), 2, "--fork needs the session to copy"),
    ],
)
def test_wrong_arguments_are_one_sentence_and_an_exit_code(
    run: Runner, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    got, text = ended(run, *arguments)
    assert (got, sentence in text, "Traceback" in text) == (code, True, False), text


def test_a_missing_key_names_the_variable_and_keeps_the_prompt(run: Runner) -> None:
    with run("-m", "openai/gpt-5") as terminal:
        terminal.wait(READY)
        terminal.enter("hello there")
        terminal.wait(r"OPENAI_API_KEY")
        terminal.wait(r"▌ hello there")


def test_a_broken_config_is_reported_and_the_rest_works(
    run: Runner, installed: InstalledProgram
) -> None:
    write_config(installed.home, {})
    (installed.home / "config" / "config.json").write_text('{\n  "model": ')
    with run(columns=120) as terminal:
        terminal.wait(READY)
        terminal.wait(r"config\.json")
        terminal.enter("list")
        terminal.wait(r"List")


def test_a_wrong_config_value_is_reported_with_its_line(
    run: Runner, installed: InstalledProgram
) -> None:
    write_config(installed.home, {"model": 17, "colour": "red"})
    with run(columns=140) as terminal:
        terminal.wait(r"config\.json:1: +model:")
        terminal.wait(r"line 1: +colour:")
        terminal.enter("list")
        terminal.wait(r"● List")


def test_an_unknown_model_in_the_config_is_reported(
    run: Runner, installed: InstalledProgram
) -> None:
    write_config(installed.home, {"model": "nobody/model"})
    code, text = ended(run)
    assert code == 1
    assert "There is no provider nobody." in text.rpartition("\x1b[?1049l")[2]
    assert "Traceback" not in text


def test_an_unreadable_database_is_reported(run: Runner, installed: InstalledProgram) -> None:
    (installed.home / "data" / "sessions.db").mkdir(parents=True)
    code, text = ended(run)
    assert code == 1
    assert "cannot be opened" in text.rpartition("\x1b[?1049l")[2]
    assert "Traceback" not in text


@pytest.mark.parametrize("arguments", ["", "--plain ."])
def test_a_removed_folder_is_reported(installed: InstalledProgram, arguments: str) -> None:
    script = f"mkdir gone && cd gone && rmdir ../gone && exec {COMMAND} {arguments}"
    with Terminal(["sh", "-c", script], cwd=installed.project, env=installed.env) as terminal:
        assert terminal.exit_code() == 2
        assert "There is no folder here: it was removed." in terminal.screen


def test_a_folder_without_write_permission(run: Runner) -> None:
    with run("/sys/kernel") as terminal:  # not even root may
        terminal.wait(READY)
        terminal.enter("create a.txt with b")
        terminal.wait(r"(?s)✕ Write.*file tools do not\s+touch")
        terminal.wait(r"esc to interrupt", gone=True)
        terminal.enter("list")
        terminal.wait(r"● List")


def test_a_damaged_database_is_set_aside(run: Runner, installed: InstalledProgram) -> None:
    data = installed.home / "data"
    data.mkdir()
    (data / "sessions.db").write_bytes(b"this is no database, and long enough to be read" * 200)
    with run(columns=120) as terminal:
        terminal.wait(READY)
        terminal.wait(r"damaged|set aside|kept")
        terminal.enter("list")
        terminal.wait(r"● List")
    kept = [p for p in data.iterdir() if p.is_file() and p.read_bytes()[:10] == b"this is no"]
    assert len(kept) == 1


def test_a_newer_database_is_refused(run: Runner, installed: InstalledProgram) -> None:
    data = installed.home / "data"
    data.mkdir()
    with sqlite3.connect(data / "sessions.db") as connection:
        connection.execute("PRAGMA user_version = 9999")
        connection.execute("CREATE TABLE future (x)")
    code, text = ended(run)
    assert code == 1
    assert "newer" in text
    assert "Traceback" not in text


def test_a_data_folder_that_cannot_be_made(run: Runner, installed: InstalledProgram) -> None:
    (installed.home / "file").write_text("in the way")
    code, text = ended(run, env={"OPENCODE_PY_DATA": str(installed.home / "file" / "data")})
    assert code == 1
    assert "OPENCODE_PY_DATA" in text
    assert "Traceback" not in text


@pytest.fixture
def bare_path(tmp_path: Path) -> str:
    """A PATH with a shell and nothing else: no git, no rg."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "sh", "sleep"):
        (folder / name).symlink_to(f"/bin/{name}")
    return str(folder)


def test_the_main_job_works_without_git_and_ripgrep(run: Runner, bare_path: str) -> None:
    with run(rows=40, env={"PATH": bare_path}) as terminal:
        terminal.wait(READY)
        terminal.enter("search for return")
        terminal.wait(r"● Grep .*1 match")
        terminal.enter("find *.py")
        terminal.wait(r"● Glob .*1 file")


OUTLAST = {b"25", b"7"}
"""Terminal modes that are on by default: the visible cursor and line wrapping."""


@pytest.mark.parametrize("way", ["exit", "SIGTERM", "SIGHUP"])
def test_the_terminal_is_restored_on_every_exit(run: Runner, way: str) -> None:
    with run() as terminal:
        terminal.wait(READY)
        if way == "exit":
            terminal.enter("/exit")
        else:
            terminal.signal(getattr(signal, way))
        terminal.exit_code()
        assert terminal.modes_now == terminal.modes_before
        raw = bytes(terminal.raw)
        now = dict(re.findall(rb"\x1b\[\?(\d+)([hl])", raw))
        assert {b"1049", b"1000", b"1006", b"2004"} <= set(now)
        assert {mode for mode, state in now.items() if state == b"h"} <= OUTLAST, now
        assert now[b"25"] == b"h"


def test_a_closed_window_ends_the_program(run: Runner) -> None:
    with run() as terminal:
        terminal.wait(READY)
        terminal.enter("list")
        terminal.wait(r"● List")
        assert terminal.hang_up() == 128 + signal.SIGHUP


def test_stray_bytes_do_no_harm(run: Runner) -> None:
    with run() as terminal:
        terminal.wait(READY)
        terminal.send(b"\x1b[M \x80!")
        terminal.send(b"\xff")
        terminal.enter("list")
        terminal.wait(r"● List")
