"""Run one command and say how it ended (spec 3, ``bash``; spec 1, L10a, L11).

``run`` returns when the *shell* has exited. A process that it left in the background lives
on, unheard, until the program ends (``kill_all``). A time-out or a cancel ends the shell and
everything it started: SIGTERM, 250 ms, SIGKILL.
"""

import asyncio
import atexit
import signal
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agent.process.capture import Capture, Captured
from agent.process.child import Child, collect, kill_all
from agent.process.pump import Pump

__all__ = ["Command", "Finished", "kill_all", "run"]

DRAIN = 0.2
"""Seconds that output may still come after the shell has exited."""

_cleanups: set[asyncio.Task[None]] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """*argv* runs in *directory* with exactly *env*. *timeout* is in seconds."""

    argv: tuple[str, ...]
    directory: str
    env: Mapping[str, str]
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended. *exit_code* is None if a signal or the time-out ended it.

    *signal* is the signal's name or "". *background* tells that something it started still
    runs. *duration* is in seconds.
    """

    exit_code: int | None
    signal: str
    timed_out: bool
    background: bool
    duration: float
    output: Captured


@lru_cache(maxsize=1)
def _end_with_program() -> None:
    """A net below the runtime's own ``kill_all``: runs whatever way the program ends."""
    atexit.register(kill_all)


async def run(
    command: Command, capture: Capture, on_output: Callable[[str], None] | None = None
) -> Finished:
    """Run *command*. Raises ``OSError`` if it can't start; a cancel ends all of it first.

    *on_output* gets the end of the output (about 4,000 characters), at most ten times a
    second, and once more at the end.
    """
    _end_with_program()
    await asyncio.to_thread(collect)
    began = time.monotonic()
    child = Child(command.argv, command.directory, command.env)
    pump = Pump(child.output, capture, on_output)
    pumping = asyncio.create_task(pump.run(), name="command output")
    try:
        ended = await child.wait(command.timeout)
        if not ended:
            await _shielded(child.end())
        code = child.reap()
        await asyncio.wait({pumping}, timeout=DRAIN)
        pump.stop()
        await pumping
        left = await asyncio.to_thread(child.tree.left)
        output = await asyncio.to_thread(capture.finish)
    except BaseException:
        await _shielded(_abandon(child, pump, pumping, capture))
        raise
    # From here on nothing waits, so a cancel comes before all of it or after.
    pump.show_last()
    if pump.ended:
        pump.close()
    else:
        pump.discard_rest()
    background = left or not pump.ended
    if not background:
        child.forget()
    return Finished(
        exit_code=code if ended and code is not None and code >= 0 else None,
        signal=_signal_name(-code) if code is not None and code < 0 else "",
        timed_out=not ended,
        background=background,
        duration=time.monotonic() - began,
        output=output,
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


async def _abandon(child: Child, pump: Pump, pumping: asyncio.Task[None], capture: Capture) -> None:
    """After a cancel: end everything, show what was printed, keep nothing."""
    try:
        await child.end()
        await asyncio.wait({pumping}, timeout=DRAIN)
    finally:
        pump.stop()
        await asyncio.wait({pumping})
        pump.show_last()
        pump.close()
        await asyncio.to_thread(capture.discard)


async def _shielded(work: Coroutine[Any, Any, None]) -> None:
    """Await *work* so that a further cancel leaves it running to its end."""
    task = asyncio.create_task(work, name="end command")
    _cleanups.add(task)
    task.add_done_callback(_cleanups.discard)
    await asyncio.shield(task)
