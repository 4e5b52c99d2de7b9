"""Open parts in memory, and their write-behind: published at once, durable within 250 ms.

Appending collects chunks and joins them only when the part is read, so thousands of deltas a second
cost next to nothing. One task writes; it exists only while there is something to write. Parts that
``Store.save`` is writing are *held back* meanwhile, so that an older state cannot overtake a newer
one.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from agent.bus import Bus
from agent.records.errors import StoreError
from agent.records.events import DeltaField, MessageUpdated, Notice, PartDelta, PartUpdated
from agent.records.messages import (
    AssistantMessage,
    Part,
    Pending,
    ReasoningPart,
    TextPart,
    ToolPart,
    is_open,
)
from agent.store.database import Database
from agent.store.writes import write_if_stored


class _OpenPart:
    def __init__(self, part: Part) -> None:
        self.part = part
        self._chunks: list[str] = []
        self._length = len(_growing(part)[1])

    def append(self, field: DeltaField, delta: str) -> int:
        """Add *delta* and return the length before it."""
        if _growing(self.part)[0] != field:
            message = f"Part {self.part.id} takes no {field} now; this is a fault of the program."
            raise StoreError(message)
        offset = self._length
        self._chunks.append(delta)
        self._length += len(delta)
        return offset

    def current(self) -> Part:
        if self._chunks:
            self.part = _extended(self.part, "".join(self._chunks))
            self._chunks.clear()
        return self.part


def _growing(part: Part) -> tuple[DeltaField | None, str]:
    """Return the field of *part* that takes deltas, and its text."""
    match part:
        case TextPart() | ReasoningPart():
            return "text", part.text
        case ToolPart(state=Pending() as state):
            return "raw", state.raw
        case _:
            return None, ""


def _extended(part: Part, more: str) -> Part:
    match part:
        case TextPart():
            return replace(part, text=part.text + more)
        case ReasoningPart():
            return replace(part, text=part.text + more)
        case ToolPart(state=Pending() as state):
            return replace(part, state=replace(state, raw=state.raw + more))
        case _:
            return part


class OpenParts:
    """The open parts of this process by id."""

    def __init__(self) -> None:
        self._parts: dict[str, _OpenPart] = {}

    def put(self, part: Part) -> None:
        """Hold *part*, replacing an earlier state."""
        self._parts[part.id] = _OpenPart(part)

    def get(self, part_id: str) -> Part | None:
        """Return the part with all its deltas, None if it is not open."""
        held = self._parts.get(part_id)
        return held.current() if held is not None else None

    def drop(self, part_id: str) -> None:
        self._parts.pop(part_id, None)

    def append(self, part_id: str, field: DeltaField, delta: str) -> PartDelta:
        """Apply a delta. Raises ``StoreError`` when the part is not open for *field*."""
        held = self._parts.get(part_id)
        if held is None:
            raise StoreError(f"Part {part_id} is not open; this is a fault of the program.")
        offset = held.append(field, delta)
        part = held.part
        return PartDelta(part.session_id, part.message_id, part_id, field, offset, delta)

    def session_ids(self) -> set[str]:
        """Return the sessions with open parts."""
        return {held.part.session_id for held in self._parts.values()}

    def ids(self, session_id: str) -> set[str]:
        """Return the ids of the open parts of a session."""
        return {id_ for id_, held in self._parts.items() if held.part.session_id == session_id}

    def of_session(self, session_id: str) -> list[Part]:
        """Return the open parts of a session with all their deltas."""
        return [
            held.current() for held in self._parts.values() if held.part.session_id == session_id
        ]


FLUSH_DELAY = 0.15
"""Seconds from a change to its write, which itself can take the rest of the 250 ms."""

MAX_RETRY_DELAY = 5.0
"""Seconds between two attempts while the disk refuses writes."""


class WriteBehind:
    """The write-behind queue of one open store."""

    def __init__(self, database: Database, bus: Bus, parts: OpenParts) -> None:
        self._database = database
        self._bus = bus
        self._parts = parts
        self._dirty: dict[str, None] = {}
        self._unsaved: dict[str, AssistantMessage] = {}
        self._held_back: Counter[str] = Counter()
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self._closed = False

    def stage(self, part: Part) -> None:
        """Hold *part* in memory, publish it, and write it soon."""
        self._parts.put(part)
        self._bus.publish(PartUpdated(part))
        self._mark((part.id,))

    def add_unsaved(self, message: AssistantMessage) -> None:
        """Publish *message*, whose end could not be saved, and retry the write."""
        self._unsaved[message.id] = message
        self._bus.publish(MessageUpdated(message))
        self._mark(())

    def drop_unsaved(self, message_ids: Iterable[str]) -> None:
        """Forget these messages: newer states of them are about to be written."""
        for message_id in message_ids:
            self._unsaved.pop(message_id, None)

    def append(self, part_id: str, field: DeltaField, delta: str) -> None:
        """Add *delta* to an open part, publish it, and write it soon."""
        event = self._parts.append(part_id, field, delta)
        self._bus.publish(event)
        if part_id not in self._dirty:
            self._mark((part_id,))

    def hold_back(self, part_ids: list[str]) -> None:
        """Keep the flush from writing *part_ids* until ``release``: a newer state of them is about
        to be committed."""
        self._held_back.update(part_ids)
        for part_id in part_ids:
            self._dirty.pop(part_id, None)

    def release(self, part_ids: list[str], *, committed: bool) -> None:
        """End ``hold_back``. If the commit failed, the state in memory is written."""
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
            owed = list(self._unsaved.values())
            if not batch and not owed:
                return
            written = False
            try:
                await self._database.write(partial(write_if_stored, parts=batch, messages=owed))
                written = True
            finally:
                if not written:
                    self._mark(part.id for part in batch if self._parts.get(part.id) is not None)
            self.drop_unsaved(each.id for each in owed if self._unsaved.get(each.id) is each)
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
        if (self._dirty or self._unsaved) and idle and not self._closed:
            self._task = asyncio.create_task(self._write_soon(), name="store flush")

    async def _write_soon(self) -> None:
        delay = FLUSH_DELAY
        while self._dirty or self._unsaved:
            await asyncio.sleep(delay)
            try:
                await self.flush()
            except StoreError as error:
                if delay == FLUSH_DELAY:
                    self._bus.publish(Notice(error.message, level="error"))
                delay = min(delay * 2, MAX_RETRY_DELAY)
            else:
                delay = FLUSH_DELAY
