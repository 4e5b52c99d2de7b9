"""Run one command and return its result.

``run`` returns when the *shell* has exited. A process that it left in the background continues,
without its output being read, until the program ends (``kill_all``). A timeout or a cancel ends
the shell and everything it started: SIGTERM, 250 ms, SIGKILL. A command that is detached meanwhile
continues and is handed over to the caller.
"""

import asyncio
import atexit
import signal
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import lru_cache
from typing import Any

from agent.process.capture import Capture, CapturedOutput
from agent.process.child import ShellProcess, kill_all, reap_finished
from agent.process.pump import Pump
from agent.records.frozen import frozen

__all__ = ["Command", "FinishedCommand", "RunningCommand", "kill_all", "run", "start"]

DRAIN_TIMEOUT = 0.2
"""Seconds that output can still come after the shell has exited."""

_cleanups: set[asyncio.Task[None]] = set()


@frozen(kw_only=True)
class Command:
    """A command to run."""

    argv: tuple[str, ...]
    directory: str
    env: Mapping[str, str]
    """The complete environment: nothing is inherited."""
    timeout: float | None
    """In seconds; None for no limit."""


@frozen(kw_only=True)
class FinishedCommand:
    """The end of a command."""

    exit_code: int | None
    """None if a signal or the timeout ended the command."""
    signal: str
    """The name of the signal, or ""."""
    timed_out: bool
    left_running: bool
    """True if a process that the command started still runs."""
    duration: float
    """In seconds."""
    output: CapturedOutput
    remark: str = ""
    """A sentence about a problem, such as output that is missing."""


@frozen
class RunningCommand:
    """A running shell, and the task that moves its output into *capture*."""

    child: ShellProcess
    pump: Pump
    pumping: asyncio.Task[None]
    capture: Capture
    began: float
    """By the monotonic clock."""


@lru_cache(maxsize=1)
def _end_with_program() -> None:
    """A net below the runtime's own ``kill_all``: runs whatever way the program ends."""
    atexit.register(kill_all)


async def start(
    command: Command, capture: Capture, on_output: Callable[[str], None] | None = None
) -> RunningCommand:
    """Start *command* and read what it prints. Raises ``OSError`` if it can't start.

    *on_output* gets the end of the output (about 4,000 characters), at most ten times a
    second, and once more at the end.
    """
    _end_with_program()
    await asyncio.to_thread(reap_finished)
    child = ShellProcess(command.argv, command.directory, command.env)
    pump = Pump(child.output, capture, on_output)
    pumping = asyncio.create_task(pump.run(), name="command output")
    return RunningCommand(child, pump, pumping, capture, time.monotonic())


async def run(
    command: Command,
    capture: Capture,
    on_output: Callable[[str], None] | None = None,
    detach: asyncio.Event | None = None,
) -> FinishedCommand | RunningCommand:
    """Run *command*. Raises ``OSError`` if it can't start; a cancel ends all of it first.

    *on_output* is as for ``start``. Once *detach* is set, the running command is returned as it is.
    """
    started = await start(command, capture, on_output)
    child, pump, pumping = started.child, started.pump, started.pumping
    try:
        ended = await child.wait(command.timeout, detach)
        if not ended and detach is not None and detach.is_set():
            return started
        if not ended:
            await shielded(child.end())
        code = child.reap()
        await asyncio.wait({pumping}, timeout=DRAIN_TIMEOUT)
        pump.stop()
        await pumping
        left = await asyncio.to_thread(child.tree.has_leftovers)
        output = await asyncio.to_thread(capture.finish)
    except BaseException:
        await shielded(_abandon(child, pump, pumping, capture))
        raise
    # From here on nothing waits, so a cancel comes before all of it or after.
    pump.show_last()
    if pump.ended:
        pump.close()
    else:
        pump.discard_rest()
    background = left or not pump.ended
    if not background:
        child.unregister()
    return FinishedCommand(
        exit_code=code if ended and code is not None and code >= 0 else None,
        signal=signal_name(-code) if code is not None and code < 0 else "",
        timed_out=not ended,
        left_running=background,
        duration=time.monotonic() - started.began,
        output=output,
    )


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


async def _abandon(
    child: ShellProcess, pump: Pump, pumping: asyncio.Task[None], capture: Capture
) -> None:
    """After a cancel: end everything, show the output so far, keep nothing."""
    try:
        await child.end()
        await asyncio.wait({pumping}, timeout=DRAIN_TIMEOUT)
    finally:
        pump.stop()
        await asyncio.wait({pumping})
        pump.show_last()
        pump.close()
        await asyncio.to_thread(capture.discard)


async def shielded(work: Coroutine[Any, Any, None]) -> None:
    """Await *work* so that a further cancel leaves it running to its end."""
    task = asyncio.create_task(work, name="end command")
    _cleanups.add(task)
    task.add_done_callback(_cleanups.discard)
    await asyncio.shield(task)
