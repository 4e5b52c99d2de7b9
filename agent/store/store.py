"""The store: everything that outlives the process (spec 7).

SQLite in WAL mode; sessions, messages and parts are saved in one transaction per call and
published on the bus after the commit. Parts that are still growing live in memory, are
published as they change and are durable within 250 ms; every read sees them.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from sqlite3 import Connection

from agent.bus import Bus
from agent.records.errors import SessionNotFound
from agent.records.events import (
    DeltaField,
    Event,
    MessageRemoved,
    MessageUpdated,
    PartRemoved,
    PartUpdated,
    SessionCreated,
    SessionDeleted,
    SessionUpdated,
)
from agent.records.messages import (
    AssistantMessage,
    Message,
    Part,
    Session,
    UserMessage,
    is_open,
)
from agent.store import lease, queries, records
from agent.store.database import Database
from agent.store.lease import Leases
from agent.store.reads import NO_SESSION, Reads
from agent.store.records import Record
from agent.store.recovery import recover
from agent.store.side_records import SideRecords
from agent.store.write_behind import WriteBehind


class Store(Reads, SideRecords):
    """The session database. Make one with ``open``; used from one event loop.

    *notices* are sentences for the user: a damaged file that was set aside.
    """

    notices: tuple[str, ...] = ()

    def __init__(self, database: Database, bus: Bus) -> None:
        super().__init__(database, bus)
        self._behind = WriteBehind(database, bus, self._parts)
        self._leases = Leases(database, secrets.token_hex(8))

    @classmethod
    async def open(cls, path: Path, bus: Bus) -> "Store":
        """Open the database at *path*, making it (0600) and its folder (0700) if need be.

        Raises ``StoreTooNew`` for a later version's file and ``StoreUnavailable`` when it
        can't be opened or written.
        """
        notices: list[str] = []
        store = cls(await Database.open(path, notices), bus)
        store.notices = tuple(notices)
        return store

    async def close(self) -> None:
        """Write what is still in memory, give the leases back and close the file.

        Raises ``StoreError`` if something could not be written; the file is closed anyway.
        """
        try:
            while self._writes:
                await asyncio.gather(*self._writes, return_exceptions=True)
            await self._behind.close()
        finally:
            try:
                await self._leases.close()
            finally:
                await self._database.close()

    async def save(self, *given: Session | Message | Part) -> None:
        """Insert or replace records in one transaction, then publish them in their order.

        A part that was open is replaced, and leaves memory if it is closed now. Runs to its
        end even if the caller is cancelled. Raises ``StoreError`` with nothing saved and
        nothing published; open parts stay in memory and are tried again.
        """
        parts = [r for r in given if not isinstance(r, Session | UserMessage | AssistantMessage)]
        users = records.user_message_ids(given)
        self._behind.hold_back([part.id for part in parts])
        self._behind.settle(r.id for r in given if isinstance(r, AssistantMessage))
        # An open part is in memory before its commit, so that what is appended meanwhile
        # is appended to it; a closed one stays open for readers until it is durable.
        closed: list[Part] = []
        for part in parts:
            if is_open(part) and part.message_id not in users:
                self._parts.put(part)
            else:
                closed.append(part)
        await self._finished(self._commit(given, parts, closed))

    async def update(
        self,
        session_id: str,
        change: Callable[[Session], Session],
        *beside: UserMessage | Part,
    ) -> Session:
        """Replace a session's record by what *change* makes of it, in one transaction, so that no
        change is lost, of whichever program. *change* runs in another thread, at times twice. A
        user's message with its parts *beside* it is stored with it, or not at all.

        Raises ``SessionNotFound``.
        """

        def work(connection: Connection) -> Session | None:
            found = queries.session(connection, session_id)
            changed = change(found) if found is not None else None
            if changed is not None:
                records.write(connection, (changed, *beside))
            return changed

        async def updated() -> Session:
            session = await self._database.write(work)
            if session is None:
                raise SessionNotFound(NO_SESSION.format(session_id=session_id))
            for record in beside:
                self._bus.publish(self._event(record, set()))
            self._bus.publish(SessionUpdated(session))
            return session

        return await self._finished(updated())

    async def _commit(
        self, given: tuple[Record, ...], parts: list[Part], closed: list[Part]
    ) -> None:
        committed = False
        try:
            created = await self._database.write(partial(records.write, records=given))
            committed = True
        finally:
            self._behind.let_go([part.id for part in parts], committed=committed)
        self._behind.forget(part.id for part in closed)
        for record in given:
            self._bus.publish(self._event(record, created))

    def _event(self, record: Record, created: set[str]) -> Event:
        match record:
            case Session():
                new = record.id in created
                created.discard(record.id)
                return SessionCreated(record) if new else SessionUpdated(record)
            case UserMessage() | AssistantMessage():
                return MessageUpdated(record)
            case _:
                # What was staged or appended during the commit is newer and counts.
                return PartUpdated(self._parts.get(record.id) or record)

    def stage(self, record: Part | AssistantMessage) -> None:
        """Hold an open part in memory and publish it now; durable within 250 ms. A message is one
        that could not be saved: it is stored once the disk takes it."""
        if isinstance(record, AssistantMessage):
            self._behind.owe(record)
        else:
            self._behind.stage(record)

    def append(self, part_id: str, field: DeltaField, delta: str) -> None:
        """Add *delta* to an open part and publish it now; durable within 250 ms.

        Raises ``StoreError`` if the part is not held or takes no such deltas.
        """
        self._behind.append(part_id, field, delta)

    async def flush(self) -> None:
        """Return once every staged and appended change is durable."""
        await self._behind.flush()

    async def remove_message(self, session_id: str, message_id: str) -> None:
        """Delete a message with its parts and publish ``MessageRemoved``."""
        await self._finished(self._remove_message(session_id, message_id))

    async def _remove_message(self, session_id: str, message_id: str) -> None:
        open_ids = [p.id for p in self._parts.of_session(session_id) if p.message_id == message_id]
        self._behind.forget(open_ids)
        await self._database.write(partial(records.delete_message, message_id=message_id))
        self._bus.publish(MessageRemoved(session_id, message_id))

    async def remove_part(self, part: Part) -> None:
        """Delete a part and publish ``PartRemoved``."""
        await self._finished(self._remove_part(part))

    async def _remove_part(self, part: Part) -> None:
        self._behind.forget((part.id,))
        await self._database.write(partial(records.delete_part, part_id=part.id))
        self._bus.publish(PartRemoved(part.session_id, part.message_id, part.id))

    async def delete_session(self, session_id: str) -> None:
        """Delete a session with its children and publish ``SessionDeleted`` for each.

        Raises ``SessionNotFound``.
        """
        await self._finished(self._delete_session(session_id))

    async def _delete_session(self, session_id: str) -> None:
        deleted = await self._database.write(partial(records.delete_session, session_id=session_id))
        if not deleted:
            raise SessionNotFound(f"There is no session {session_id} to delete.")
        for id_ in deleted:
            self._behind.forget(self._parts.ids(id_))
            self._bus.publish(SessionDeleted(id_))

    async def acquire_lease(self, session_id: str) -> bool:
        """Claim the session for a turn of this process; false while another living process
        has it. Take it before the turn writes anything, so that no other process closes
        the turn's open parts as those of a crash."""
        return await self._leases.acquire(session_id)

    async def release_lease(self, session_id: str) -> None:
        """Give the session free; nothing happens if it is not held."""
        await self._leases.release(session_id)

    async def leased_elsewhere(self, session_id: str) -> bool:
        """Whether a turn of this session runs in another living process."""
        if session_id in self._leases.held:
            return False
        found = await self._database.read(partial(lease.read, session_id=session_id))
        return found is not None and found.is_alive(time.time())

    async def foreign_version(self) -> int:
        """A number that changes when another process has written (D1a): a session that is
        followed is read again when it does."""
        return await self._database.foreign_version()

    async def recover(self) -> list[str]:
        """Close what processes that died left open; returns the sessions that were touched.

        Open tool calls fail as interrupted, open text is ended, its message completed, each
        marked interrupted. Work in the background ends as interrupted, and a message that waits
        tells the session that it was for. Sessions with a living owner are left alone.
        """
        own = self._leases.held | self._parts.session_ids()
        found = await self._database.write(partial(recover, own=own, now=time.time()))
        for record in found.records:
            self._bus.publish(self._event(record, set()))
        return list(found.session_ids)
