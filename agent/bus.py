"""In-process publish/subscribe with coalescing.

``publish`` never blocks and never raises. Each subscriber has its own bounded queue: adjacent
deltas of one part are merged there, and the queue of a subscriber that is more than ``QUEUE_LIMIT``
events behind is replaced by one ``Resync``.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Self

from agent.records.events import Event, PartDelta, Resync

QUEUE_LIMIT = 5_000
"""Events that a subscriber can be behind before it has to rebuild its state."""

log = logging.getLogger(__name__)

Predicate = Callable[[Event], bool]


class Subscription:
    """One subscriber's queue: iterate it, or take the queued events with ``drain``."""

    def __init__(self, bus: "Bus", accepts: Predicate | None, limit: int) -> None:
        self._bus = bus
        self._accepts = accepts
        self.limit = limit
        self._queue: deque[Event] = deque()
        self._ready = asyncio.Event()
        self.closed = False

    def offer(self, event: Event) -> None:
        if self.closed or (self._accepts is not None and not self._accepts(event)):
            return
        if not self._merge(event):
            self._queue.append(event)
        if len(self._queue) > self.limit:
            self._queue.clear()
            self._queue.append(Resync())
        self._ready.set()

    def _merge(self, event: Event) -> bool:
        """Merge *event* into the last queued one if both are consecutive deltas."""
        if not isinstance(event, PartDelta) or not self._queue:
            return False
        last = self._queue[-1]
        if (
            isinstance(last, PartDelta)
            and last.part_id == event.part_id
            and last.field == event.field
            and last.offset + len(last.delta) == event.offset
        ):
            self._queue[-1] = replace(last, delta=last.delta + event.delta)
            return True
        return False

    def drain(self) -> list[Event]:
        """Return all queued events, oldest first, without waiting."""
        events = list(self._queue)
        self._queue.clear()
        self._ready.clear()
        if self.closed:
            self._ready.set()
        return events

    async def wait(self) -> bool:
        """Wait until an event is queued; false when the subscription was closed instead."""
        await self._ready.wait()
        return bool(self._queue)

    def close(self) -> None:
        self.closed = True
        self._ready.set()
        self._bus.discard(self)

    async def __aiter__(self) -> AsyncIterator[Event]:
        while await self.wait():
            for event in self.drain():
                yield event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Bus:
    """Distributes the events of the whole process. Used from one event loop."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []

    def subscribe(
        self, accepts: Predicate | None = None, *, limit: int = QUEUE_LIMIT
    ) -> Subscription:
        """Return a new subscription to the events from now on that *accepts* admits."""
        subscription = Subscription(self, accepts, limit)
        self._subscriptions.append(subscription)
        return subscription

    def discard(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def publish(self, event: Event) -> None:
        """Hand *event* to every subscriber. A subscriber whose predicate raises is removed."""
        for subscription in list(self._subscriptions):
            try:
                subscription.offer(event)
            except Exception:
                log.exception("a subscriber failed on %s and was dropped", event.type)
                subscription.close()
