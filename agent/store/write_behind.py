"""Open parts on their way to the disk: applied and published at once, durable soon after.

Every change is written within 250 ms (spec 7, D3a) by one task that exists only while there
is something to write. What ``Store.save`` is writing is *held back* meanwhile, so that an
older state can't overtake it.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from agent.bus import Bus
from agent.records.errors import StoreError
from agent.records.events import DeltaField, MessageUpdated, Notice, PartUpdated
from agent.records.messages import AssistantMessage, Part, is_open
from agent.store.database import Database
from agent.store.open_parts import OpenParts
from agent.store.records import write_late

FLUSH_AFTER = 0.15
"""Seconds from a change to its write, which itself may take the rest of the 250 ms."""

SLOWEST_RETRY = 5.0
"""Seconds between two tries while the disk refuses writes."""


class WriteBehind:
    """The write-behind queue of one open store."""

    def __init__(self, database: Database, bus: Bus, parts: OpenParts) -> None:
        self._database = database
        self._bus = bus
        self._parts = parts
        self._dirty: dict[str, None] = {}
        self._owed: dict[str, AssistantMessage] = {}
        self._held_back: Counter[str] = Counter()
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._closed = False

    def stage(self, part: Part) -> None:
        """Hold *part* in memory, publish it, and write it soon."""
        self._parts.put(part)
        self._bus.publish(PartUpdated(part))
        self._mark((part.id,))

    def owe(self, message: AssistantMessage) -> None:
        """Publish *message*, whose end the disk would not take, and write it once it does."""
        self._owed[message.id] = message
        self._bus.publish(MessageUpdated(message))
        self._mark(())

    def settle(self, message_ids: Iterable[str]) -> None:
        """Newer states of these messages are about to be written: none is owed any more."""
        for message_id in message_ids:
            self._owed.pop(message_id, None)

    def append(self, part_id: str, field: DeltaField, delta: str) -> None:
        """Add *delta* to an open part, publish it, and write it soon."""
        event = self._parts.append(part_id, field, delta)
        self._bus.publish(event)
        if part_id not in self._dirty:
            self._mark((part_id,))

    def hold_back(self, part_ids: list[str]) -> None:
        """Keep the flush from writing what it has of *part_ids* until ``let_go``: a newer
        state of them is about to be committed."""
        self._held_back.update(part_ids)
        for part_id in part_ids:
            self._dirty.pop(part_id, None)

    def let_go(self, part_ids: list[str], *, committed: bool) -> None:
        """The end of ``hold_back``. If the commit failed, what memory has is written."""
        self._held_back.subtract(part_ids)
        self._held_back += Counter()  # drops the zeros
        if not committed:
            self._mark(part_ids)

    def forget(self, part_ids: Iterable[str]) -> None:
        """Neither hold nor write these parts any more."""
        for part_id in part_ids:
            self._dirty.pop(part_id, None)
            self._parts.drop(part_id)

    async def flush(self) -> None:
        """Return once every change made before the call is durable. Raises ``StoreError``."""
        async with self._writing:
            batch = [
                part
                for part_id in list(self._dirty)
                if part_id not in self._held_back and (part := self._parts.get(part_id)) is not None
            ]
            self._dirty = {part_id: None for part_id in self._dirty if part_id in self._held_back}
            owed = list(self._owed.values())
            if not batch and not owed:
                return
            written = False
            try:
                await self._database.write(partial(write_late, parts=batch, messages=owed))
                written = True
            finally:
                if not written:
                    self._mark(part.id for part in batch if self._parts.get(part.id) is not None)
            self.settle(each.id for each in owed if self._owed.get(each.id) is each)
            for part in batch:
                if not is_open(part) and self._parts.get(part.id) is part:
                    self._parts.drop(part.id)

    async def close(self) -> None:
        """Write everything and stop. Raises ``StoreError`` if that fails."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self.flush()

    def _mark(self, part_ids: Iterable[str]) -> None:
        self._dirty.update(dict.fromkeys(part_ids))
        idle = self._task is None or self._task.done()
        if (self._dirty or self._owed) and idle and not self._closed:
            self._task = asyncio.create_task(self._write_soon(), name="store flush")

    async def _write_soon(self) -> None:
        delay = FLUSH_AFTER
        while self._dirty or self._owed:
            await asyncio.sleep(delay)
            try:
                await self.flush()
            except StoreError as error:
                if delay == FLUSH_AFTER:
                    self._bus.publish(Notice(error.message, level="error"))
                delay = min(delay * 2, SLOWEST_RETRY)
            else:
                delay = FLUSH_AFTER
