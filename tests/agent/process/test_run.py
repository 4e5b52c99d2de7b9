"""Commands as processes: real shells, real signals."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.process import (
    Capture,
    Command,
    SpillStore,
    child_environment,
    kill_all,
    run,
    shell_argv,
)
from agent.process.tree import descendants

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def spills(tmp_path: Path) -> SpillStore:
    return SpillStore(tmp_path / "spill")


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    kill_all()


def capture(spills: SpillStore, *, max_lines: int = 2000, max_bytes: int = 51_200) -> Capture:
    return Capture(spills, max_lines=max_lines, max_bytes=max_bytes)


def command(text: str, directory: Path, *, timeout: float = 30.0) -> Command:
    env = child_environment(os.environ, ())
    return Command(argv=shell_argv(text), directory=str(directory), env=env, timeout=timeout)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with contextlib.suppress(OSError):
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    return True


def sleeper() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(["sleep", "60"])


async def until(holds: Callable[[], bool]) -> None:
    """Wait for another process; the limit is a guard against a hang."""
    async with asyncio.timeout(30):
        while True:
            if holds():
                return
            await asyncio.sleep(0.005)


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def written(path: Path) -> bool:
    return path.exists() and path.read_text().endswith("\n")


def number_in(path: Path) -> int:
    return int(path.read_text())


async def pid_in(path: Path) -> int:
    """Return the process id that a command writes to *path*."""
    await until(lambda: written(path))
    return number_in(path)


async def test_output_and_exit_code_of_both_streams(tmp_path: Path, spills: SpillStore) -> None:
    done = await run(command("echo out; echo err >&2; exit 3", tmp_path), capture(spills))
    assert (done.output.text, done.exit_code, done.signal) == ("out\nerr\n", 3, "")
    assert done.output.complete
    assert not done.timed_out
    assert not done.left_running
    assert not spills.folder.exists()


async def test_a_signal_is_named(tmp_path: Path, spills: SpillStore) -> None:
    done = await run(command("kill -9 $$", tmp_path), capture(spills))
    assert (done.exit_code, done.signal) == (None, "SIGKILL")


@pytest.mark.parametrize(
    "text", ['read -p "ok? " x; echo rc=$?', "python3 -c 'input()'; echo rc=$?"]
)
async def test_stdin_is_empty(text: str, tmp_path: Path, spills: SpillStore) -> None:
    """A command that reads standard input gets its end at once."""
    done = await run(command(text, tmp_path), capture(spills))
    assert "rc=1" in done.output.text


async def test_pagers_and_editors_are_neutral(tmp_path: Path, spills: SpillStore) -> None:
    """No full-screen program starts, whatever the user's environment says."""
    env = child_environment(
        {**os.environ, "PAGER": "less", "GIT_PAGER": "less", "EDITOR": "vi"}, ()
    )
    wanted = command("echo $PAGER $GIT_PAGER $MANPAGER $EDITOR $GIT_EDITOR $TERM", tmp_path)
    done = await run(
        Command(argv=wanted.argv, directory=wanted.directory, env=env, timeout=30), capture(spills)
    )
    assert done.output.text == "cat cat cat true true dumb\n"


def test_secret_variables_are_dropped_and_others_kept() -> None:
    """API keys never reach a child."""
    env = child_environment({"MY_KEY": "x", "SSH_AUTH_SOCK": "/s", "BASH_ENV": "/rc"}, {"MY_KEY"})
    assert "MY_KEY" not in env
    assert "BASH_ENV" not in env
    assert env["SSH_AUTH_SOCK"] == "/s"


@pytest.mark.parametrize(
    "text",
    [
        "sleep 60 & echo $! > pid; echo done",
        "(echo $BASHPID > pid; while :; do echo x; sleep 0.1; done) & echo done; sleep 0.1",
        "nohup sleep 60 >/dev/null 2>&1 & echo $! > pid; echo done",
        "setsid sleep 60 & echo $! > pid; echo done",
    ],
)
async def test_a_background_child_does_not_hold_the_call(
    text: str, tmp_path: Path, spills: SpillStore
) -> None:
    """The call returns; the child continues and ends with the program."""
    done = await run(command(text, tmp_path), capture(spills))
    pid = await pid_in(tmp_path / "pid")
    assert "done" in done.output.text
    assert done.left_running
    assert alive(pid)
    kill_all()
    assert not alive(pid)


async def test_a_talking_background_child_is_not_killed_by_a_closed_pipe(
    tmp_path: Path, spills: SpillStore
) -> None:
    text = "(for i in $(seq 3000); do echo $i; done; echo ok > end; sleep 60) & echo done"
    await run(command(text, tmp_path), capture(spills))
    await until((tmp_path / "end").exists)


@pytest.mark.parametrize(
    "text",
    [
        'echo before; sh -c "echo \\$\\$ > pid; sleep 300; true"; true',
        "echo before; trap '' TERM; echo $$ > pid; while :; do sleep 1; done",
        pytest.param("echo before; setsid sleep 300 & echo $! > pid; wait", marks=linux_only),
        pytest.param(
            "echo before; (setsid sh -c 'echo $$ > pid; exec sleep 300' &) ; sleep 300",
            marks=linux_only,
        ),
        pytest.param(
            "echo before; env -i setsid sh -c 'echo $$ > pid; exec sleep 300' & wait",
            marks=linux_only,
        ),
    ],
)
async def test_a_cancel_ends_the_whole_tree(text: str, tmp_path: Path, spills: SpillStore) -> None:
    """Also grandchildren, processes that ignore TERM, and processes that left the group."""
    shown: list[str] = []
    task = asyncio.create_task(run(command(text, tmp_path), capture(spills), shown.append))
    pid = await pid_in(tmp_path / "pid")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert shown[-1] == "before\n"
    assert not alive(pid)


async def test_a_timeout_ends_the_whole_tree(tmp_path: Path, spills: SpillStore) -> None:
    """The output so far is kept."""
    text = "echo before; sh -c \"trap '' TERM; echo \\$\\$ > pid; while :; do sleep 1; done\"; true"
    done = await run(command(text, tmp_path, timeout=1.5), capture(spills))
    assert done.timed_out
    assert done.exit_code is None
    assert done.output.text == "before\n"
    assert not alive(await pid_in(tmp_path / "pid"))


@linux_only
async def test_a_cancel_at_any_moment_leaves_nothing(tmp_path: Path, spills: SpillStore) -> None:
    """Cancelled after each of many iterations of the event loop."""
    await run(command("true", tmp_path), capture(spills))  # the watchdog stays
    before = descriptors()
    known = {info.pid for info in descendants()}
    for turns in range(40):
        task = asyncio.create_task(
            run(command("setsid sleep 300 & sleep 300; true", tmp_path), capture(spills))
        )
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [info for info in descendants() if info.pid not in known] == []
    # Threads that were reading /proc close their files a little later.
    await until(lambda: descriptors() <= before)


async def test_a_second_cancel_does_not_stop_the_end(tmp_path: Path, spills: SpillStore) -> None:
    """The cleanup is shielded from a second cancel."""
    text = "trap '' TERM; echo $$ > pid; while :; do sleep 1; done"
    task = asyncio.create_task(run(command(text, tmp_path), capture(spills)))
    pid = await pid_in(tmp_path / "pid")
    task.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not alive(pid))


@linux_only
async def test_other_children_of_the_program_are_left_alone(
    tmp_path: Path, spills: SpillStore
) -> None:
    other = sleeper()
    try:
        await run(command("sleep 60 & echo x", tmp_path), capture(spills))
        kill_all()
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


async def test_start_failure_is_an_os_error(tmp_path: Path, spills: SpillStore) -> None:
    await run(command("true", tmp_path), capture(spills))  # the watchdog keeps its pipe
    before = descriptors()
    with pytest.raises(OSError, match="gone"):
        await run(command("true", tmp_path / "gone"), capture(spills))
    await until(lambda: descriptors() <= before)


async def test_descriptors_are_closed(tmp_path: Path, spills: SpillStore) -> None:
    await run(command("echo x", tmp_path), capture(spills))
    before = descriptors()
    for _ in range(5):
        await run(command("echo x", tmp_path), capture(spills))
    await until(lambda: descriptors() <= before)  # as above


async def test_a_flood_is_bounded_and_leaves_the_loop_free(
    tmp_path: Path, spills: SpillStore
) -> None:
    """Little memory is used, the first and last half are spilled, and the loop serves others."""
    turns = 0
    running = True

    async def other() -> None:
        nonlocal turns
        while running:
            turns += 1
            await asyncio.sleep(0)

    concurrent = asyncio.create_task(other())
    before = resident()
    done = await run(command("seq 1 16000000", tmp_path), capture(spills))
    grown = resident() - before
    running = False
    await concurrent
    assert done.output.lines == 16_000_000
    assert done.output.text.endswith("15999999\n16000000\n")
    assert len(done.output.text) < 1_000_000
    assert turns > 100
    assert grown < 100 * 1024 * 1024
    spill = done.output.spill
    assert spill is not None
    assert spill.omitted == done.output.size - 64 * 1024 * 1024
    check_spill(Path(spill.path))


def check_spill(spill: Path) -> None:
    text = spill.read_text()
    assert text.startswith("1\n2\n")
    assert text.endswith("16000000\n")
    assert "bytes are omitted here" in text
    assert spill.stat().st_size < 65 * 1024 * 1024
    assert spill.stat().st_mode & 0o777 == 0o600
    assert spill.parent.stat().st_mode & 0o777 == 0o700


def resident() -> int:
    status = Path("/proc/self/statm")
    if not status.exists():
        return 0
    return int(status.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_progress_is_collapsed_and_throttled(tmp_path: Path, spills: SpillStore) -> None:
    """Carriage returns and control sequences are resolved to the last state of the line."""
    text = (
        'for i in $(seq 1 1000); do printf "\\rProgress %d%%" $i; done; echo; '
        'printf "a\\r\\nb\\r\\n"'
    )
    shown: list[str] = []
    done = await run(command(text, tmp_path), capture(spills), shown.append)
    assert done.output.text == "Progress 1000%\na\nb\n"
    assert shown[-1] == done.output.text
    assert len(shown) <= 2 + done.duration / 0.1


def test_kill_all_can_be_called_at_any_time() -> None:
    kill_all()
    kill_all()
