"""What the halves of the store share."""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from agent.bus import Bus
from agent.store.database import Database
from agent.store.open_parts import OpenParts

log = logging.getLogger(__name__)

T = TypeVar("T")


class StoreCore:
    """The open database, the bus, the open parts, and the writes that are under way."""

    def __init__(self, database: Database, bus: Bus) -> None:
        self._database = database
        self._bus = bus
        self._parts = OpenParts()
        self._writes: set[asyncio.Task[Any]] = set()

    async def _finished(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of *work*, which runs to its end even if the caller is cancelled: what
        was handed to the database will be committed, so memory and bus must follow."""
        task = asyncio.create_task(work)
        self._writes.add(task)
        task.add_done_callback(self._settled)
        return await asyncio.shield(task)

    def _settled(self, task: asyncio.Task[Any]) -> None:
        self._writes.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.debug("a write failed: %s", error)
