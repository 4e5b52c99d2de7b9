"""The queue of messages that wait in a session until a turn dequeues them.

A queued message is stored like any other, with ``turn_id`` None, so it survives an error
and a restart; it enters the history, at its end, when it is dequeued.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from dataclasses import replace

from agent.bus import Bus
from agent.records.events import QueueChanged
from agent.records.messages import Delivery, MessageWithParts, UserMessage
from agent.store.store import Store


class Queues:
    """The queued messages of every session, oldest first."""

    def __init__(self, store: Store, bus: Bus, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._waiting: dict[str, list[MessageWithParts]] = {}
        self._moving: set[asyncio.Task[list[MessageWithParts]]] = set()
        self._doors: dict[str, asyncio.Lock] = {}
        self._arriving: set[str] = set()

    def queued(self, session_id: str) -> tuple[MessageWithParts, ...]:
        return tuple(self._waiting.get(session_id, ()))

    def ids(self, session_id: str) -> tuple[str, ...]:
        return tuple(item.message.id for item in self.queued(session_id))

    def restore(self, session_id: str, messages: list[MessageWithParts]) -> None:
        """Queue the unsent ones of *messages*, if the queue of this session is not known yet."""
        if session_id not in self._waiting:
            self.reload(session_id, messages, known=())

    def reload(
        self, session_id: str, messages: list[MessageWithParts], *, known: Collection[str]
    ) -> None:
        """Replace the queue by the queued ones of *messages*: another instance can have dequeued
        some. Messages that were added while *messages* were read, and so were not *known*
        (``ids``) before, stay queued.

        The caller must hold the session's lease.
        """
        read = {item.message.id for item in messages}
        self._waiting[session_id] = [
            *(
                item
                for item in messages
                if is_queued(item) and item.message.id not in self._arriving
            ),
            *(
                item
                for item in self.queued(session_id)
                if item.message.id not in read and item.message.id not in known
            ),
        ]

    @contextmanager
    def adding(self, item: MessageWithParts) -> Generator[None]:
        """Queue a message after it was stored inside, and not sooner: a turn that began meanwhile
        would read it from the store, and dequeue it once more."""
        self._arriving.add(item.message.id)
        try:
            yield
            self._waiting.setdefault(item.message.session_id, []).append(item)
            self._changed(item.message.session_id)
        finally:
            self._arriving.discard(item.message.id)

    async def remove(self, session_id: str, message_id: str) -> MessageWithParts | None:
        """Remove a queued message that the user wants to edit or drop."""
        item = self._leaves(session_id, message_id)
        if item is not None:
            await self._store.remove_message(session_id, message_id)
            self._changed(session_id)
        return item

    async def deliver(self, session_id: str, message_id: str, delivery: Delivery) -> bool:
        """Set when a queued message is dequeued; return false if it is no longer queued."""
        queue = self._waiting.get(session_id, [])
        for place, item in enumerate(queue):
            if item.message.id == message_id and isinstance(item.message, UserMessage):
                changed = replace(item.message, delivery=delivery)
                queue[place] = MessageWithParts(changed, item.parts)
                await self._store.save(changed)
                return True
        return False

    def forget(self, session_id: str) -> None:
        for known in (self._waiting, self._doors):
            known.pop(session_id, None)

    async def dequeue(
        self, session_id: str, *, turn_id: str, steered: bool, everything: bool
    ) -> list[MessageWithParts]:
        """Move queued messages into the history, oldest first: all of them, or the steers.

        *steered* marks them permanently as sent during a turn.
        """
        queue = self._waiting.get(session_id, [])
        due = [
            item
            for item in queue
            if everything
            or (isinstance(item.message, UserMessage) and item.message.delivery == "steer")
        ]
        if not due:
            return []
        # In a task of its own: a cancel in the middle must not lose a message or send it twice.
        move = asyncio.create_task(self._move(session_id, due, turn_id, steered=steered))
        self._moving.add(move)
        move.add_done_callback(self._moving.discard)
        return await asyncio.shield(move)

    async def wait_until_moved(self) -> None:
        """Wait for messages that are on their way into the history."""
        if self._moving:
            await asyncio.wait(set(self._moving))

    async def _move(
        self, session_id: str, due: list[MessageWithParts], turn_id: str, *, steered: bool
    ) -> list[MessageWithParts]:
        taken: list[MessageWithParts] = []
        async with self._doors.setdefault(session_id, asyncio.Lock()):
            for due_one in due:
                item = self._leaves(session_id, due_one.message.id)
                if item is None:  # removed by the user while those before it were stored
                    continue
                message = item.message
                assert isinstance(message, UserMessage)  # only user messages are queued
                now = self._clock()
                moved = replace(message, turn_id=turn_id, steered=steered, created=now)
                # The store gives it its place: after everything that came before it.
                await self._store.save(moved)
                taken.append(MessageWithParts(moved, item.parts))
        self._changed(session_id)
        return taken

    def _leaves(self, session_id: str, message_id: str) -> MessageWithParts | None:
        """The waiting message, which waits no more; None if it was gone."""
        queue = self._waiting.get(session_id, [])
        found = next((item for item in queue if item.message.id == message_id), None)
        if found is not None:
            queue.remove(found)
        return found

    def _changed(self, session_id: str) -> None:
        self._bus.publish(QueueChanged(session_id, self.ids(session_id)))


def is_queued(item: MessageWithParts) -> bool:
    """Return whether no turn has picked up the message yet."""
    return isinstance(item.message, UserMessage) and item.message.turn_id is None
