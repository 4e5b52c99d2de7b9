"""What a killed program leaves is ended. Each command has a pipe open that tells its end."""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.process.tree import start_of
from agent.process.watchdog import CHILD_SCRIPT
from tests.support.terminal import GUARD, children_of, read_of

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

PROGRAM = """
import asyncio, os, sys
from pathlib import Path
from agent.process import Capture, Command, SpillStore, start
from agent.process.watchdog import watch

async def main(folder):
    while line := await asyncio.to_thread(sys.stdin.readline):
        if line == "fill\\n":
            for _ in range(10_000):
                watch("cal_fill")
            continue
        command = Command(
            argv=("bash", "-c", line),
            directory=folder,
            env={"PATH": os.environ["PATH"]},
            timeout=None,
        )
        started = await start(command, Capture(SpillStore(Path(folder)), max_lines=9, max_bytes=99))
        if "left" in line:
            await started.child.wait(None)
        print("started", flush=True)

asyncio.run(main(sys.argv[1]))
"""

READY = "echo ready >&9"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    with subprocess.Popen(words, cwd=ROOT, stdin=-1, stdout=-1, text=True) as started:
        yield started
        started.kill()


def run(program: subprocess.Popen[str], folder: Path, line: str) -> int:
    """Have *program* run a command line; return a pipe that ends with all its processes."""
    pipe = folder / f"pipe-{len(list(folder.iterdir()))}"
    os.mkfifo(pipe)
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(f"exec 9>{pipe}; {line}\n")
    program.stdin.flush()
    opened = os.open(pipe, os.O_RDONLY)
    assert os.read(opened, 100) == b"ready\n"
    assert program.stdout.readline() == "started\n"
    return opened


def watchdog_of(program: subprocess.Popen[str]) -> int:
    (found,) = (
        pid for pid in children_of(program.pid) if b"watchdog_child" in read_of(pid, "cmdline")
    )
    return found


def opened_by(pid: int) -> set[Path]:
    """Return what the descriptors of a process refer to."""
    found: set[Path] = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            found.add(descriptor.readlink())
    return found


LINES = {
    "a child": f"sleep 1000 & {READY}; wait",
    "deaf to SIGTERM": f"trap '' TERM; sleep 1000 & {READY}; wait",
    "in another session": f"setsid sleep 1000 & {READY}; wait",
    "an orphan": f"(setsid sleep 1000 &); {READY}; sleep 1000; true",
    "without environment": f"exec env -i sh -c '{READY}; exec {shutil.which('sleep')} 1000'",
    "left in the background": f"sleep 1000 & {READY}; : left",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_commands_end_with_a_killed_program(
    program: subprocess.Popen[str], tmp_path: Path, line: str
) -> None:
    command = run(program, tmp_path, line)
    program.kill()
    assert os.read(command, 1) == b""


def test_commands_continue_if_the_process_is_stopped(
    program: subprocess.Popen[str], tmp_path: Path
) -> None:
    """Another one takes over once the pipe is full: the first one ends nothing, and its pipe is
    closed."""
    commands = [run(program, tmp_path, LINES["a child"])]
    first = watchdog_of(program)
    pipe = Path(f"/proc/{first}/fd/0").readlink()
    os.kill(first, signal.SIGSTOP)
    assert program.stdin is not None
    program.stdin.write("fill\n")
    program.stdin.flush()
    commands.append(run(program, tmp_path, LINES["a child"]))
    assert watchdog_of(program) != first
    assert pipe not in opened_by(program.pid)
    assert select.select(commands, [], [], 0)[0] == []
    program.kill()
    assert [os.read(command, 1) for command in commands] == [b"", b""]


def test_a_later_process_with_the_number_of_a_command_lives_on() -> None:
    """A process that was stopped can read a line after the command's number was used again."""
    with (
        subprocess.Popen(["sleep", "1000"]) as command,
        subprocess.Popen(["sleep", "1000"]) as other,
        subprocess.Popen([sys.executable, "-I", "-S", CHILD_SCRIPT], stdin=-1) as watchdog,
    ):
        try:
            lines = f"cal_1 {command.pid} {start_of(command.pid)}\ncal_2 {other.pid} 1\n"
            watchdog.communicate(lines.encode(), GUARD)
            assert command.wait(GUARD) == -signal.SIGTERM
            assert other.poll() is None
        finally:
            command.kill()
            other.kill()


def test_another_process_watches_if_the_first_is_ended(
    program: subprocess.Popen[str], tmp_path: Path
) -> None:
    commands = [run(program, tmp_path, LINES["a child"])]
    first = watchdog_of(program)
    ended = os.pidfd_open(first)
    os.kill(first, signal.SIGKILL)
    select.select([ended], [], [])
    commands.append(run(program, tmp_path, LINES["deaf to SIGTERM"]))
    program.kill()
    assert [os.read(command, 1) for command in commands] == [b"", b""]
