"""In-process publish/subscribe with coalescing (spec 1, L16 and L17).

``publish`` never blocks and never raises. Each subscriber has its own bounded queue:
adjacent deltas of one part are merged there, and a subscriber that is more than
``LIMIT`` events behind gets its queue replaced by one ``Resync``.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Self

from agent.records.events import Event, PartDelta, Resync

QUEUE_LIMIT = 5_000
"""Events a subscriber may be behind before it must rebuild (spec 1, L17)."""

log = logging.getLogger(__name__)

Predicate = Callable[[Event], bool]


class Subscription:
    """One subscriber's queue: iterate it, or take what is there with ``drain``."""

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
        """Join *event* to the last one queued if both are deltas that follow each other."""
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

    @property
    def has_events(self) -> bool:
        return bool(self._queue)

    def drain(self) -> list[Event]:
        """All events queued now, oldest first, without waiting."""
        events = list(self._queue)
        self._queue.clear()
        self._ready.clear()
        if self.closed:
            self._ready.set()
        return events

    async def wait(self) -> bool:
        """Wait until something is queued; false when the subscription was closed instead."""
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
    """Where events of the whole process meet. Used from one event loop."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []

    def subscribe(
        self, accepts: Predicate | None = None, *, limit: int = QUEUE_LIMIT
    ) -> Subscription:
        """A new subscription that gets every event from now on for which *accepts* is true."""
        subscription = Subscription(self, accepts, limit)
        self._subscriptions.append(subscription)
        return subscription

    def discard(self, subscription: Subscription) -> None:
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def publish(self, event: Event) -> None:
        """Hand *event* to every subscriber. A predicate that raises loses its subscription."""
        for subscription in list(self._subscriptions):
            try:
                subscription.offer(event)
            except Exception:
                log.exception("a subscriber failed on %s and was dropped", event.type)
                subscription.close()
