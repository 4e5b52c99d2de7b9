"""Waiting until an app under test is at rest: nothing is ready to run, and no timer is due soon.

Textual's pilot considers a process idle if it used less than a millisecond of CPU in twenty, and
checks that several times for each key. That takes long when there is nothing to do, a second when
there always is a little, and on a busy machine it is also true of a process that merely does not
get the CPU. The event loop knows better.
"""

import asyncio
import threading
import time
from asyncio import TimerHandle
from collections.abc import Sequence
from typing import Protocol, cast

SOON = 0.02
"""Timers due within so many seconds are waited for: more than a frame of the screen."""

BREATH = 0.003
"""Seconds of rest in which a thread or another process can respond."""

CHECKS = 2
"""Consecutive checks, a breath apart, that must all find the app at rest."""

IDLE_CPU = 0.001
"""CPU seconds in a breath up to which the process, with its threads, counts as idle."""


class _Loop(Protocol):
    """Internals of asyncio's own loops: handles that are ready, and timers, the next one first."""

    _ready: Sequence[object]
    _scheduled: Sequence[TimerHandle]

    def time(self) -> float: ...


async def wait_until_at_rest(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until the loop has nothing to do except timers that are due later, at most *max_sleep*
    seconds.

    The signature is that of Textual's ``wait_for_idle``, which this replaces.
    """
    loop = cast("_Loop", asyncio.get_running_loop())
    began = loop.time()
    # Without other threads, only events that the loop sees at once can arrive.
    breath = BREATH if threading.active_count() > 1 else 0.0
    checks = 0
    while checks < CHECKS and loop.time() - began < max_sleep:
        due = _due_by(loop, began + SOON)
        used = time.process_time()
        await asyncio.sleep(breath if due is None else max(0.0, due - loop.time()))
        busy = due is not None or time.process_time() - used > IDLE_CPU
        # Let the tasks that this woke up run as far as they can.
        while loop._ready and loop.time() - began < max_sleep:
            busy = True
            await asyncio.sleep(0)
        checks = 0 if busy else checks + 1
    if (left := began + min_sleep - loop.time()) > 0:
        await asyncio.sleep(left)


def _due_by(loop: _Loop, moment: float) -> float | None:
    """Return when the next timer is due, if that is by *moment*."""
    times = [timer.when() for timer in loop._scheduled if not timer.cancelled()]
    return min((when for when in times if when <= moment), default=None)
