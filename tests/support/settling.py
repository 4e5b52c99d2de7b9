"""When an app under test has come to rest: nothing is ready to run, and nothing is due soon.

Textual's pilot takes a process for idle that used less than a millisecond of CPU in twenty, and
asks that several times for a key. That is long where there is nothing to do, a second where there
always is a little, and on a busy machine true of a process that is only not let run. The event
loop knows better.
"""

import asyncio
import threading
import time
from asyncio import TimerHandle
from collections.abc import Sequence
from typing import Protocol, cast

SOON = 0.02
"""Seconds in which a timer is due that is waited for: more than a frame of the screen."""

BREATH = 0.003
"""Seconds of rest in which a thread or another process has a chance to answer."""

LOOKS = 2
"""Times in a row that all must be found at rest, a breath apart."""

LITTLE = 0.001
"""CPU seconds in a breath up to which the process, its threads included, has done nothing."""


class _Loop(Protocol):
    """What asyncio's own loops hold: handles that are ready, and timers, the next one first."""

    _ready: Sequence[object]
    _scheduled: Sequence[TimerHandle]

    def time(self) -> float: ...


async def wait_until_at_rest(min_sleep: float = 0.0, max_sleep: float = 1.0) -> None:
    """Wait until the loop has nothing to do but what is due later; at most *max_sleep* seconds.

    The signature is that of Textual's ``wait_for_idle``, for which this stands in.
    """
    loop = cast("_Loop", asyncio.get_running_loop())
    began = loop.time()
    # Where there is no other thread, nothing can answer but what the loop sees at once.
    breath = BREATH if threading.active_count() > 1 else 0.0
    looks = 0
    while looks < LOOKS and loop.time() - began < max_sleep:
        due = _due_by(loop, began + SOON)
        used = time.process_time()
        await asyncio.sleep(breath if due is None else max(0.0, due - loop.time()))
        busy = due is not None or time.process_time() - used > LITTLE
        # What that woke up goes as far as it can.
        while loop._ready and loop.time() - began < max_sleep:
            busy = True
            await asyncio.sleep(0)
        looks = 0 if busy else looks + 1
    if (left := began + min_sleep - loop.time()) > 0:
        await asyncio.sleep(left)


def _due_by(loop: _Loop, moment: float) -> float | None:
    """When the next timer is due that is so by *moment*."""
    times = [timer.when() for timer in loop._scheduled if not timer.cancelled()]
    return min((when for when in times if when <= moment), default=None)
