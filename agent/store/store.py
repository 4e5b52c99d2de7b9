"""The store: everything that outlives the process.

SQLite in WAL mode; sessions, messages and parts are saved in one transaction per call and published
on the bus after the commit. Parts that still grow live in memory, are published as they change and
are durable within 250 ms; every read sees them.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from sqlite3 import Connection
from typing import Any, Concatenate, ParamSpec, TypeVar

from agent.bus import Bus
from agent.records.blocks import TodoItem
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
    TodoUpdated,
)
from agent.records.frozen import frozen
from agent.records.json import encodable
from agent.records.messages import (
    AssistantMessage,
    Message,
    MessageWithParts,
    Part,
    Session,
    UserMessage,
    is_open,
)
from agent.records.review_comment import ReviewComment
from agent.store import lease, listing, queries, stats, writes
from agent.store.database import Database
from agent.store.lease import Leases
from agent.store.listing import SessionHit, SessionListItem, SessionScope
from agent.store.recovery import recover
from agent.store.stats import UsageRow
from agent.store.write_behind import OpenParts, WriteBehind
from agent.store.writes import Record, Written

log = logging.getLogger(__name__)

T = TypeVar("T")
Given = ParamSpec("Given")

NO_SESSION = (
    "There is no session {session_id}. It may have been deleted; list the sessions to see those "
    "that exist."
)
_MAX_READS = 5


@frozen
class MessagePage:
    """Consecutive messages of a session, oldest first, and the number of *older* ones."""

    messages: tuple[MessageWithParts, ...]
    older: int


def _to_end(
    method: Callable[Concatenate["Store", Given], Coroutine[Any, Any, T]],
) -> Callable[Concatenate["Store", Given], Coroutine[Any, Any, T]]:
    """Let *method* run to its end even if its caller is canceled: the database will commit, so
    memory and bus must follow."""

    @wraps(method)
    async def run(self: "Store", *args: Given.args, **named: Given.kwargs) -> T:
        return await self.run_to_end(method(self, *args, **named))

    return run


class Store:
    """The session database. Make one with ``open``; used from one event loop.

    *notices* are sentences for the user, for example about a damaged file that was set aside.
    """

    notices: tuple[str, ...] = ()

    def __init__(self, database: Database, bus: Bus) -> None:
        self._database = database
        self._bus = bus
        self._parts = OpenParts()
        self._writes: set[asyncio.Task[Any]] = set()
        self._write_behind = WriteBehind(database, bus, self._parts)
        self._leases = Leases(database, secrets.token_hex(8))

    @classmethod
    async def open(cls, path: Path, bus: Bus) -> "Store":
        """Open the database at *path*, creating it (0600) and its folder (0700) if needed.

        Raises ``StoreTooNew`` for a later version's file and ``StoreUnavailable`` when it cannot be
        opened or written.
        """
        notices: list[str] = []
        store = cls(await Database.open(path, notices), bus)
        store.notices = tuple(notices)
        return store

    async def close(self) -> None:
        """Write the changes in memory, release the leases and close the file.

        Raises ``StoreError`` if something could not be written; the file is closed anyway.
        """
        try:
            while self._writes:
                await asyncio.gather(*self._writes, return_exceptions=True)
            await self._write_behind.close()
        finally:
            try:
                await self._leases.close()
            finally:
                await self._database.close()

    async def read(
        self,
        query: Callable[Concatenate[Connection, Given], T],
        *args: Given.args,
        **named: Given.kwargs,
    ) -> T:
        """Return what *query* finds in one consistent state of the database. Parts that still grow
        are not in there: messages have methods of their own."""
        return await self._database.read(lambda connection: query(connection, *args, **named))

    async def write(
        self,
        change: Callable[Concatenate[Connection, Given], T],
        *args: Given.args,
        **named: Given.kwargs,
    ) -> T:
        """Make *change* in one transaction, to its end even if the caller is canceled. It can run
        more than once."""
        work = self._database.write(lambda connection: change(connection, *args, **named))
        return await self.run_to_end(work)

    async def session(self, session_id: str) -> Session:
        """Return a session. Raises ``SessionNotFound``."""
        found = await self.read(queries.session, session_id)
        if found is None:
            raise SessionNotFound(NO_SESSION.format(session_id=session_id))
        return found

    async def sessions(
        self,
        *,
        directory: str | None = None,
        elsewhere: tuple[str, ...] = (),
        include_children: bool = False,
        archived: bool = False,
        limit: int = 100,
        before: str | None = None,
    ) -> list[Session]:
        """Return up to *limit* sessions, the last used first.

        *directory* selects those opened there or *elsewhere*. Sub-agents' sessions are excluded
        unless *include_children*, archived ones unless *archived*. *before*, the id of a session,
        selects those used earlier, for the next page.
        """
        wanted = queries.SessionFilter(
            directory, elsewhere, include_children, archived, limit, before
        )
        return await self.read(queries.sessions, wanted)

    async def session_list(self, scope: SessionScope) -> list[SessionListItem]:
        """Return the sessions of *scope* for a list: the pinned first, then newest first."""
        return await self.read(listing.session_list, scope)

    async def search_sessions(
        self, text: str, scope: SessionScope, limit: int = 100
    ) -> list[SessionHit]:
        """Return up to *limit* texts of sessions of *scope* that contain every word of *text*."""
        return await self.read(listing.search_sessions, text, scope, limit)

    async def children(self, session_id: str) -> list[Session]:
        """Return the sub-agents' sessions of a session, oldest first."""
        return await self.read(queries.children, session_id)

    async def messages(
        self, session_id: str, *, before: str | None = None, limit: int | None = None
    ) -> list[MessageWithParts]:
        """Return the last *limit* messages before the message *before* (default: all), oldest
        first.

        A session that does not exist has none.
        """
        work = partial(queries.messages, session_id=session_id, before=before, limit=limit)
        found = await self._consistent(work, session_id)
        return self._with_open_parts(found, session_id)

    async def messages_after(self, session_id: str, after: str) -> list[MessageWithParts]:
        """Return the messages of a session that were stored after the message *after*, which can be
        one of another session, oldest first."""
        work = partial(queries.messages_after, session_id=session_id, after=after)
        return self._with_open_parts(await self._consistent(work, session_id), session_id)

    async def context_messages(
        self, session_id: str, *, before: str | None = None
    ) -> list[MessageWithParts]:
        """Return the messages that a turn continues from, oldest first: the newest compaction with
        the messages that it kept and all later ones, and queued messages; every message where the
        session was never compacted. *before*: the state before that message."""
        work = partial(queries.context_messages, session_id=session_id, before=before)
        return self._with_open_parts(await self._consistent(work, session_id), session_id)

    async def page(self, session_id: str, *, before: str | None = None, limit: int) -> MessagePage:
        """Return the last *limit* messages before the message *before* (default: of all)."""
        messages = await self.messages(session_id, before=before, limit=limit)
        if len(messages) < limit:
            return MessagePage(tuple(messages), 0)
        first = messages[0].message.id
        older = await self.read(queries.message_count, session_id, first)
        return MessagePage(tuple(messages), older)

    async def message(self, message_id: str) -> MessageWithParts | None:
        """Return one message with its parts, None if it does not exist."""
        work = partial(queries.message, message_id=message_id)
        found = await self._database.read(work)
        if found is None:
            return None
        session_id = found.message.session_id
        if self._parts.ids(session_id):
            found = await self._consistent(work, session_id)
        return self._with_open_parts([found], session_id)[0] if found is not None else None

    async def usage_rows(
        self, since: float = 0.0, project: str | None = None
    ) -> tuple[UsageRow, ...]:
        """Return the usage of models from *since* on (seconds since the epoch), in *project* or in
        all."""
        return await self.read(stats.usage_rows, since, project)

    async def review_draft(self, scope: str, title: str) -> tuple[ReviewComment, ...]:
        """Return the comments that are not sent yet on the changes *title* of *scope*, a folder or
        a session."""
        return await self.read(queries.review_draft, scope, title)

    async def save_review_draft(
        self, scope: str, title: str, comments: Sequence[ReviewComment]
    ) -> None:
        """Replace the comments on the changes *title* of *scope*."""
        await self.write(writes.save_review_draft, scope, title, comments)

    async def _consistent(self, work: Callable[[Connection], T], session_id: str) -> T:
        """Read again while a part leaves memory during the read: the result can be from before its
        commit, and memory no longer has it."""
        for _ in range(_MAX_READS):
            held = self._parts.ids(session_id)
            found = await self._database.read(work)
            if held <= self._parts.ids(session_id):
                return found
        return await self._database.read(work)

    def _with_open_parts(
        self, found: list[MessageWithParts], session_id: str
    ) -> list[MessageWithParts]:
        by_message: dict[str, dict[str, Part]] = {}
        for part in self._parts.of_session(session_id):
            by_message.setdefault(part.message_id, {})[part.id] = part
        if not by_message:
            return found
        return [
            replace(entry, parts=_merge_parts(entry.parts, by_message[entry.message.id]))
            if entry.message.id in by_message
            else entry
            for entry in found
        ]

    async def save(self, *given: Session | Message | Part) -> None:
        """Insert or replace records in one transaction, then publish them in their order.

        An open part is replaced, and leaves memory if it is closed now. Runs to its end even if the
        caller is canceled. Raises ``StoreError`` with nothing saved and nothing published; open
        parts stay in memory and are retried.
        """
        parts = [r for r in given if not isinstance(r, Session | UserMessage | AssistantMessage)]
        users = writes.user_message_ids(given)
        self._write_behind.hold_back([part.id for part in parts])
        self._write_behind.drop_unsaved(r.id for r in given if isinstance(r, AssistantMessage))
        # An open part is in memory before its commit, so that what is appended meanwhile
        # is appended to it; a closed one stays open for readers until it is durable.
        closed: list[Part] = []
        for part in parts:
            if is_open(part) and part.message_id not in users:
                self._parts.put(part)
            else:
                closed.append(part)
        await self.run_to_end(self._commit(given, parts, closed))

    async def update(
        self,
        session_id: str,
        change: Callable[[Session], Session],
        *beside: UserMessage | Part,
    ) -> Session:
        """Replace a session's record by the result of *change*, in one transaction, so that no
        change of any program is lost. *change* runs in another thread, sometimes twice. The records
        *beside*, a user message with its parts, are stored in the same transaction.

        Raises ``SessionNotFound``.
        """

        def work(connection: Connection) -> tuple[Session, Written] | None:
            found = queries.session(connection, session_id)
            changed = change(found) if found is not None else None
            if changed is None:
                return None
            return changed, writes.write_records(connection, (changed, *beside))

        async def updated() -> Session:
            done = await self._database.write(work)
            if done is None:
                raise SessionNotFound(NO_SESSION.format(session_id=session_id))
            session, written = done
            for record in beside:
                self._bus.publish(self._event(record, written))
            self._bus.publish(SessionUpdated(session))
            return session

        return await self.run_to_end(updated())

    async def _commit(
        self, given: tuple[Record, ...], parts: list[Part], closed: list[Part]
    ) -> None:
        committed = False
        try:
            written = await self._database.write(partial(writes.write_records, records=given))
            committed = True
        finally:
            self._write_behind.release([part.id for part in parts], committed=committed)
        self._write_behind.forget(part.id for part in closed)
        for record in given:
            self._bus.publish(self._event(record, written))

    def _event(self, record: Record, written: Written) -> Event:
        match record:
            case Session():
                new = record.id in written.created
                written.created.discard(record.id)
                return SessionCreated(record) if new else SessionUpdated(record)
            case UserMessage() | AssistantMessage():
                return MessageUpdated(record, written.numbers.get(record.id, 0))
            case _:
                # What was staged or appended during the commit is newer and counts.
                return PartUpdated(self._parts.get(record.id) or record)

    def stage(self, record: Part | AssistantMessage) -> None:
        """Hold an open part in memory and publish it now; durable within 250 ms. A message is one
        that could not be saved: its write is retried."""
        if isinstance(record, AssistantMessage):
            self._write_behind.add_unsaved(record)
        else:
            self._write_behind.stage(record)

    def append(self, part_id: str, field: DeltaField, delta: str) -> None:
        """Add *delta* to an open part and publish it now; durable within 250 ms.

        Raises ``StoreError`` if the part is not open or takes no such deltas.
        """
        self._write_behind.append(part_id, field, delta)

    async def flush(self) -> None:
        """Return once every staged and appended change is durable."""
        await self._write_behind.flush()

    @_to_end
    async def remove_message(self, session_id: str, message_id: str) -> None:
        """Delete a message with its parts and publish ``MessageRemoved``."""
        open_ids = [p.id for p in self._parts.of_session(session_id) if p.message_id == message_id]
        self._write_behind.forget(open_ids)
        await self._database.write(partial(writes.delete_message, message_id=message_id))
        self._bus.publish(MessageRemoved(session_id, message_id))

    @_to_end
    async def remove_part(self, part: Part) -> None:
        """Delete a part and publish ``PartRemoved``."""
        self._write_behind.forget((part.id,))
        await self._database.write(partial(writes.delete_part, part_id=part.id))
        self._bus.publish(PartRemoved(part.session_id, part.message_id, part.id))

    @_to_end
    async def delete_session(self, session_id: str) -> None:
        """Delete a session with its children and publish ``SessionDeleted`` for each.

        Raises ``SessionNotFound``.
        """
        deleted = await self._database.write(partial(writes.delete_session, session_id=session_id))
        if not deleted:
            raise SessionNotFound(f"There is no session {session_id} to delete.")
        for id_ in deleted:
            self._write_behind.forget(self._parts.ids(id_))
            self._bus.publish(SessionDeleted(id_))

    async def todos(self, session_id: str) -> tuple[TodoItem, ...]:
        """Return the session's to-do list, in order."""
        rows = await self.read(queries.todos, session_id)
        return tuple(TodoItem(*row) for row in rows)

    @_to_end
    async def save_todos(self, session_id: str, items: tuple[TodoItem, ...]) -> None:
        """Replace the session's to-do list and publish ``TodoUpdated``."""
        await self._database.write(partial(writes.write_todos, session_id=session_id, items=items))
        self._bus.publish(TodoUpdated(session_id, items))

    async def session_rules(self, root_id: str) -> tuple[tuple[str, str], ...]:
        """Return the user's "always" rules for a session's tree, as ``(permission, pattern)``,
        oldest first."""
        rows = await self.read(queries.session_rules, root_id)
        return tuple((permission, pattern) for permission, pattern in rows)

    async def add_session_rule(self, root_id: str, permission: str, pattern: str) -> None:
        """Store one rule, unless it exists."""
        await self.write(writes.add_session_rule, root_id, permission, pattern)

    async def drop_session_rule(self, root_id: str, permission: str, pattern: str) -> None:
        """Delete one rule, if it exists."""
        await self.write(writes.delete_session_rule, root_id, permission, pattern)

    async def prompt_history(self, limit: int = 500) -> list[str]:
        """Return the last prompts of all sessions, newest first."""
        rows = await self.read(queries.prompt_history, limit)
        return [text for (text,) in rows]

    async def add_prompt_history(self, text: str, directory: str) -> None:
        """Store one prompt, unless it repeats the last one."""
        await self.write(writes.add_prompt_history, encodable(text), directory)

    async def acquire_lease(self, session_id: str) -> bool:
        """Claim the session for a turn of this process; false while another living process has it.
        Call it before the turn writes anything, so that no other process closes the turn's open
        parts as those of a crash."""
        return await self._leases.acquire(session_id)

    async def release_lease(self, session_id: str) -> None:
        """Release the session's lease, if it is held."""
        await self._leases.release(session_id)

    async def foreign_lease(self, session_id: str) -> lease.Lease | None:
        """Return the lease under which another living process runs a turn of this session."""
        if session_id in self._leases.held:
            return None
        found = await self.read(lease.read_lease, session_id)
        return found if found is not None and found.is_alive(time.time()) else None

    async def foreign_leases(self) -> dict[str, lease.Lease]:
        """Return the leases of other living processes by session."""
        found, now = await self.read(lease.read_leases), time.time()
        return {
            one.session_id: one
            for one in found
            if one.session_id not in self._leases.held and one.is_alive(now)
        }

    async def foreign_version(self) -> int:
        """Return a number that changes when another process has written: a displayed session is
        read again then."""
        return await self._database.foreign_version()

    async def recover(self) -> list[str]:
        """Close what dead processes left open; return the changed sessions.

        Open tool calls fail as interrupted, open text is ended, its message completed, each marked
        interrupted. Background tasks end as interrupted, and a queued message reports that to the
        parent session. Sessions with a living owner are left alone.
        """
        own = self._leases.held | self._parts.session_ids()
        found = await self._database.write(partial(recover, own=own, now=time.time()))
        for record in found.records:
            self._bus.publish(self._event(record, found.written))
        return list(found.session_ids)

    async def run_to_end(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of *work*, which runs to its end even if the caller is canceled: the
        database will commit it, so memory and bus must follow."""
        task = asyncio.create_task(work)
        self._writes.add(task)
        task.add_done_callback(self._write_done)
        return await asyncio.shield(task)

    def _write_done(self, task: asyncio.Task[Any]) -> None:
        self._writes.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.debug("a write failed: %s", error)


def _merge_parts(stored: tuple[Part, ...], held: dict[str, Part]) -> tuple[Part, ...]:
    parts = {part.id: part for part in stored} | held
    return tuple(sorted(parts.values(), key=lambda part: part.id))
