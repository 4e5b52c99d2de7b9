"""From the bus to the screen: one task that sleeps until something happens (spec 0, rooms).

The first event after a pause is shown at once, what follows within a frame is gathered.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

from agent.bus import Subscription
from agent.records.events import Event

FRAME = 1 / 30
"""Seconds between two updates of the screen while events keep coming (spec 8, U4)."""


async def pump(
    subscription: Subscription,
    show: Callable[[Sequence[Event]], None],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Hand every event of *subscription* to *show*, in order, a frame's worth at a time.

    Ends when the subscription is closed. What *show* raises ends it too: the caller looks
    at the task's exception.
    """
    shown = clock() - FRAME
    while await subscription.wait():
        early = FRAME - (clock() - shown)
        if early > 0:
            await asyncio.sleep(early)
        show(subscription.drain())
        shown = clock()
