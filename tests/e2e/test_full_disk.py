"""The disk fills up while the program runs. The program reports it, loses nothing that was said or
typed, and continues once there is space."""

import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.conftest import COMMAND, InstalledProgram, Runner, ServerThread
from tests.e2e.program import BUSY
from tests.support.harness import config_for, write_config
from tests.support.installed import left_as_found
from tests.support.script import Call, Hold, Text, answer
from tests.support.terminal import Terminal

pytestmark = pytest.mark.e2e

FULL = r"(?s)The\s+session\s+database.*full"


@contextmanager
def no_file_may_grow(pid: int) -> Iterator[None]:
    """Simulate a full disk for the files of one process."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def fills(
    terminal: Terminal,
    scripted: ServerThread,
    full: Callable[[], object],
    room: Callable[[], object],
) -> None:
    """Fill the disk during a turn and at the next prompt, then free it again."""
    hold = Hold()
    scripted.server.replace(
        (
            answer(
                Text("half of it"),
                hold,
                Text(" and the rest of it"),
                Call("write", {"file_path": "made.txt", "content": "x"}),
            ),
            answer(Text("as you wish")),
        )
    )
    terminal.wait(r"model-1")
    terminal.enter("go")
    terminal.wait(r"half of it")
    full()
    scripted.set(hold.gate)
    terminal.wait(FULL)
    terminal.wait(BUSY, gone=True)
    assert "half of it and the rest of it" in terminal.screen
    terminal.wait(r"✕ .*\n?.*session database")  # the message stays
    terminal.enter("my words")
    terminal.sees(b"session database")  # reported again
    terminal.wait(r"▌ my words")
    terminal.wait(BUSY, gone=True)
    assert len(scripted.server.requests) == 1
    room()
    terminal.again("\r", r"as you wish")
    terminal.wait(BUSY, gone=True)
    terminal.enter("/exit")
    assert terminal.exit_code() == 0

    sent = str(scripted.server.requests[-1].body["messages"])
    assert sent.count("my words") == 1
    assert "and the rest of it" in sent


def test_a_full_disk_is_reported_and_nothing_is_lost(
    run: Runner, installed: InstalledProgram, scripted: ServerThread
) -> None:
    write_config(installed.home, config_for(scripted.server, permission="allow"))
    with run(rows=40) as terminal:
        limited = no_file_may_grow(terminal.pid)
        fills(terminal, scripted, limited.__enter__, lambda: limited.__exit__(None, None, None))
    with run("--continue", rows=40) as terminal:
        terminal.wait(
            r"(?s)half of it and the rest of it.*✕ .*\n?.*session database.*▌ my words.*as you wish"
        )
        assert "Interrupted" not in terminal.screen


def may_mount() -> bool:
    unshare = shutil.which("unshare")
    if unshare is None:
        return False
    words = [unshare, "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="this user may mount nothing, not even for itself")
def test_a_small_file_system_that_fills_up(
    installed: InstalledProgram, scripted: ServerThread
) -> None:
    """The data folder is a file system of 3 MB that another program fills."""
    write_config(installed.home, config_for(scripted.server, permission="allow"))
    data = installed.home / "data"
    data.mkdir()
    script = f"mount -t tmpfs -o size=3m,mode=700 tmpfs {data} && exec {COMMAND}"
    words = ["unshare", "-rm", "sh", "-c", script]
    with Terminal(words, cwd=installed.project, env=installed.env, rows=40) as terminal:
        terminal.wait(r"model-1")
        filler = Path(f"/proc/{terminal.pid}/root{data}/filler")

        def full() -> None:
            with filler.open("wb", buffering=0) as file:
                for size in (65_536, 512, 1):
                    try:
                        while True:
                            file.write(b"x" * size)
                    except OSError:
                        continue

        fills(terminal, scripted, full, filler.unlink)
        left_as_found(terminal, installed)
