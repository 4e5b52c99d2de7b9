"""Large inputs against the installed program on a pty. ``make soak`` uses the sizes that users
reported (``TRIAL_SIZE=full``); the suite uses sizes that take seconds."""

import os
import re
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.conftest import COMMAND, READY, InstalledProgram, Runner, ServerThread
from tests.e2e.program import BUSY, ESC, MB, allow_everything, memory
from tests.support.script import Call, Text, answer

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1_200)]


@dataclass(frozen=True)
class Size:
    """Sizes: bytes of output; turns; messages in each session; folders of 100 files; bytes of a
    file that is too large for undo; files that git ignores."""

    flood: int = 150_000_000
    turns: int = 20
    messages: int = 2
    folders: int = 100
    large: int = 8 * MB
    ignored: int = 2_000


SIZE = (
    Size(500_000_000, 100, 40, 3_000, 1024 * MB, 100_000)
    if os.environ.get("TRIAL_SIZE") == "full"
    else Size()
)


def opened(gate: Path) -> bool:
    """Return whether a reader waits at a named pipe, and release it. The screen must be read
    meanwhile: a terminal that nobody reads blocks its writers."""
    try:
        descriptor = os.open(gate, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # no reader yet
        return False
    os.write(descriptor, b"over\n")
    os.close(descriptor)
    return True


def test_keys_work_during_a_flood_of_output_and_memory_is_bounded(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    flood = f"yes {'0123456789' * 4} | head -c {SIZE.flood}; cat go"
    os.mkfifo(installed.project / "go")
    scripted.server.script(answer(Call("bash", {"command": flood})), answer(Text("all seen")))
    allow_everything(installed, scripted)
    with run() as terminal:
        terminal.wait(r"model-1")
        before = memory(terminal.pid, "VmRSS")
        terminal.enter("go")
        terminal.wait(r"0123456789")
        terminal.send("my draft")
        terminal.wait(r"▌ my draft")
        terminal.until(lambda: opened(installed.project / "go"), "the flood did not end")
        terminal.wait(r"all seen")
        assert memory(terminal.pid, "VmRSS") - before < 150 * MB
        assert "▌ my draft" in terminal.screen
    (result,) = [m for m in scripted.server.requests[-1].body["messages"] if m["role"] == "tool"]
    assert len(result["content"]) < 60_000
    assert f"{SIZE.flood + 5:,} bytes" in result["content"]


def test_memory_is_bounded_over_many_commands(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    allow_everything(installed, scripted)
    held: list[int] = []
    with run() as terminal:
        terminal.wait(r"model-1")
        for number in range(SIZE.turns):
            scripted.server.script(
                answer(Call("bash", {"command": "seq 1 200000"})), answer(Text(f"end {number}."))
            )
            terminal.enter("again")
            terminal.wait(rf"end {number}\.")
            terminal.wait(BUSY, gone=True)
            held.append(memory(terminal.pid, "VmRSS"))
            scripted.server.requests.clear()  # in this process, which is not measured
        assert held[-1] - held[9] < 100 * MB
    stored = sum(file.stat().st_size for file in (installed.home / "data").glob("sessions.db*"))
    assert stored < SIZE.turns * 300 * 1024


def test_a_file_of_50_mb_is_edited(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    file = installed.project / "big.txt"
    file.write_bytes(b"".join(b"line %08d %s\n" % (n, b"x" * 35) for n in range(1_070_000)))
    size = file.stat().st_size
    allow_everything(installed, scripted)

    def edit(old: str, new: str, **more: object) -> object:
        return answer(
            Call("edit", {"file_path": "big.txt", "old_string": old, "new_string": new} | more)
        )

    scripted.server.script(
        edit("line 01069999", "the end"), edit("line 0000", "L", replace_all=True),
        answer(Text("all done")),
    )  # fmt: skip
    with run() as terminal:
        terminal.wait(r"model-1")
        before = memory(terminal.pid, "VmHWM")
        terminal.enter("go")
        terminal.wait(r"all done")
        assert memory(terminal.pid, "VmHWM") - before < 5 * size
    text = file.read_text()
    assert text.startswith("L0000 xxx")
    assert text.count("\nL") == 9_999
    assert "\nthe end " in text
    told = [
        m["content"] for m in scripted.server.requests[-1].body["messages"] if m["role"] == "tool"
    ]
    assert [len(one) < 2_000 for one in told] == [True, True]


def copied(database: sqlite3.Connection, sessions: int, turns: int) -> None:
    """Copy the only session of a database *sessions* times, with its only turn *turns* times."""

    def another(value: object, session: int, turn: int) -> object:
        if not isinstance(value, str):
            return value
        value = re.sub(r"\bses_\w+", f"ses_{session:026}", value)
        value = re.sub(r"\b(msg|prt|trn)(_\w{18})\w+", rf"\g<1>\g<2>{session:04}{turn:04}", value)
        return value.replace("the first", f"number {session:04}")

    for table, times in (("session", 1), ("message", turns), ("part", turns)):
        columns = [column[1] for column in database.execute(f"PRAGMA table_info({table})")]
        names = [name for name in columns if name != "number"]
        rows = database.execute(f"SELECT {','.join(names)} FROM {table}").fetchall()
        database.executemany(
            f"INSERT INTO {table} ({','.join(names)}) VALUES ({','.join('?' * len(names))})",
            (
                [another(value, session, turn) for value in row]
                for session in range(sessions)
                for turn in range(times)
                for row in rows
            ),
        )


def test_five_thousand_sessions_are_listed_and_filtered(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    scripted.server.always(answer(Text("done")))
    subprocess.run(
        [COMMAND, "run", "the first"], cwd=installed.project, env=installed.env, check=True,
        capture_output=True,
    )  # fmt: skip
    with closing(sqlite3.connect(installed.home / "data" / "sessions.db")) as database, database:
        copied(database, 5_000, SIZE.messages // 2)
        (messages,) = database.execute("SELECT count(*) FROM message").fetchone()
        assert messages == 5_000 * SIZE.messages + 2
    with run() as terminal:
        terminal.wait(r"model-1")
        terminal.enter("/sessions")
        terminal.wait(r"Sessions of this folder")
        terminal.send("4321")  # most likely before the list is loaded
        terminal.wait(r"number 4321")
        terminal.send("\x03")
        terminal.wait(READY)


def test_a_large_tree_without_git_delays_neither_start_nor_completion(
    run: Runner, installed: InstalledProgram, tmp_path: Path
) -> None:
    tree = tmp_path / "tree"
    for folder in range(SIZE.folders):
        (tree / f"folder{folder}").mkdir(parents=True)
        for number in range(100):
            (tree / f"folder{folder}" / f"file{number}").touch()
    (tree / "folder77" / "needle.py").touch()
    with run(str(tree)) as terminal:
        terminal.wait(READY)
        terminal.send("see @needle")
        terminal.wait(r"▌ see @needle")
        terminal.wait(r"folder77/needle\.py")


@pytest.mark.parametrize("linked", [False, True])
def test_a_home_folder_gets_no_snapshot(
    run: Runner, installed: InstalledProgram, scripted: ServerThread, linked: bool
) -> None:
    """Nothing is copied, not even through a symbolic link, and /undo says so."""
    home = installed.home
    if linked:
        home = installed.home.with_name("link")
        home.symlink_to(installed.home)
    (installed.home / "big.bin").write_bytes(os.urandom(MB))
    allow_everything(installed, scripted)
    scripted.server.script(answer(Call("bash", {"command": "echo z > made"})), answer(Text("done")))
    with run(str(installed.home), rows=40, env={"HOME": str(home)}) as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"done")
        terminal.wait(BUSY, gone=True)
        terminal.enter("/undo")
        terminal.wait(r"(?s)The home folder is\s.*not a\s+project")
    kept = sum(f.stat().st_size for f in (installed.home / "data").rglob("*") if f.is_file())
    assert kept < MB


def test_large_and_ignored_files_are_not_copied_for_undo(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    with (installed.project / "big.bin").open("wb") as file:
        for _ in range(0, SIZE.large, MB):
            file.write(os.urandom(MB))
    (installed.project / ".gitignore").write_text("node_modules\n")
    for number in range(SIZE.ignored):
        if number % 1_000 == 0:
            (installed.project / "node_modules" / f"d{number}").mkdir(parents=True)
        (installed.project / "node_modules" / f"d{number // 1_000 * 1_000}" / f"f{number}").touch()
    allow_everything(installed, scripted)
    command = "echo z >> big.bin; echo made > small.txt"
    scripted.server.script(answer(Call("bash", {"command": command})), answer(Text("all done")))
    with run(rows=40) as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.wait(r"all done")
        terminal.wait(BUSY, gone=True)
        terminal.enter("/undo")
        terminal.wait(r"big\.bin +cannot be undone")
        terminal.wait(r"small\.txt +will be deleted")
        terminal.send(ESC)
    kept = sum(f.stat().st_size for f in (installed.home / "data").rglob("*") if f.is_file())
    assert kept < (50 * MB if SIZE.large > 50 * MB else 2 * MB)
