"""Commands in a sandbox end as others do, and leave nothing."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from agent.process import Capture, Command, SpillStore, child_environment, kill_all, run, shell_argv
from agent.process.run import FinishedCommand
from agent.process.tree import descendants
from tests.agent.process.sandbox.conftest import Trial
from tests.support.processes import living


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    kill_all()


async def finish(
    trial: Trial, script: str, level: str = "workspace-write", timeout: float = 30.0
) -> FinishedCommand:
    argv = trial.sandbox.wrap(shell_argv(script), trial.policy(level), str(trial.project))
    env = child_environment(os.environ, ())
    command = Command(argv=argv, directory=str(trial.project), env=env, timeout=timeout)
    capture = Capture(SpillStore(trial.base / "spill"), max_lines=2000, max_bytes=51_200)
    done = await run(command, capture)
    assert isinstance(done, FinishedCommand)
    return done


@pytest.mark.parametrize("level", ["read-only", "workspace-write"])
@pytest.mark.parametrize("code", [0, 1, 127, 128, 129, 255])
async def test_exit_codes_pass(trial: Trial, level: str, code: int) -> None:
    done = await finish(trial, f"echo said; exit {code}", level)
    assert (done.exit_code, done.signal, done.output.text) == (code, "", "said\n")
    assert not done.left_running


@pytest.mark.parametrize("name", ["SIGSEGV", "SIGKILL", "SIGABRT", "SIGTERM"])
async def test_signals_pass(trial: Trial, name: str) -> None:
    done = await finish(trial, f"kill -{name[3:]} $$")
    assert (done.exit_code, done.signal) == (None, name)


async def test_a_command_gets_the_polite_signal_first(trial: Trial) -> None:
    script = "trap 'echo bye; exit' TERM; echo ready; sleep 60 & wait"
    done = await finish(trial, script, timeout=5.0)
    assert done.timed_out
    assert done.output.text == "ready\nbye\n"


async def test_a_timeout_ends_everything(trial: Trial) -> None:
    before = living()
    script = "trap '' TERM; setsid sleep 60 & (setsid sh -c 'sleep 60' &); sleep 60"
    done = await finish(trial, script, timeout=0.5)
    assert done.timed_out
    assert living() <= before


async def test_a_cancel_ends_everything(trial: Trial) -> None:
    before = living()
    fifo = trial.project / "ready"
    os.mkfifo(fifo)
    task = asyncio.create_task(finish(trial, "echo > ready; sleep 60 & sleep 60"))
    await asyncio.to_thread(fifo.read_text)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert living() <= before


async def test_a_background_process_continues(trial: Trial) -> None:
    done = await finish(trial, "sleep 60 & echo said")
    assert done.left_running
    assert done.output.text == "said\n"


@pytest.mark.parametrize("level", ["read-only", "workspace-write"])
def test_a_program_ends_with_the_process_that_was_started(trial: Trial, level: str) -> None:
    argv = trial.sandbox.wrap(
        ("/bin/sh", "-c", "echo ready; exec sleep 60"), trial.policy(level), str(trial.project)
    )
    with subprocess.Popen(argv, cwd=trial.project, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.kill()
        assert process.stdout.read() == b""  # nobody has it open anymore


async def test_no_zombies_remain(trial: Trial) -> None:
    await finish(trial, "true")  # reaps what earlier tests left
    before = zombies()
    for _ in range(3):
        await finish(trial, "true")
    assert zombies() <= before


def zombies() -> set[int]:
    return {info.pid for info in descendants() if info.zombie and info.parent == os.getpid()}


async def test_a_missing_program_is_reported(trial: Trial) -> None:
    if trial.sandbox.name == "bubblewrap":
        pytest.skip("bubblewrap itself starts")
    argv = trial.sandbox.wrap(("/no/such/program",), trial.policy("read-only"), "/")
    capture = Capture(SpillStore(trial.base / "spill"), max_lines=2000, max_bytes=51_200)
    with pytest.raises(FileNotFoundError):
        await run(Command(argv=argv, directory="/", env={}, timeout=30.0), capture)


async def test_the_environment_is_that_of_the_command(trial: Trial) -> None:
    argv = trial.sandbox.wrap(
        (sys.executable, "-I", "-S", "-c", "import os; print(sorted(os.environ))"),
        trial.policy("workspace-write"),
        str(trial.project),
    )
    capture = Capture(SpillStore(trial.base / "spill"), max_lines=2000, max_bytes=51_200)
    command = Command(argv=argv, directory=str(trial.project), env={"ONE": "1"}, timeout=30.0)
    done = await run(command, capture)
    assert isinstance(done, FinishedCommand)
    assert "ONE" in done.output.text
    assert "PATH" not in done.output.text
