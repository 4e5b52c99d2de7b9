"""Which files a turn changes: a snapshot before its first change, one after each step."""

import asyncio
from collections.abc import Callable, Sequence
from weakref import WeakValueDictionary

from agent.bus import Bus
from agent.records.events import FileEdited, SessionDiff
from agent.records.ids import new_id
from agent.records.messages import AssistantMessage, PatchPart
from agent.session.snapshots.snapshots import TIMEOUT, FileChange, Snapshots, fold_path
from agent.store.store import Store

FIRST_SNAPSHOT_TIMEOUT = TIMEOUT
"""Seconds that the first change of a turn waits for the snapshot before it: a change that comes
too early is in that snapshot and cannot be taken back. A busy machine needs more than ten."""


class ChangeTracker:
    """Follows one turn. Where a project is not covered it does nothing.

    What the turn changed is what differs between two snapshots; but where every call in between
    says which files it may change, what somebody else did to others meanwhile is not the turn's.
    *works* tells whether something in the background may change files for it.
    """

    def __init__(
        self, snapshots: Snapshots, store: Store, bus: Bus, works: Callable[[], bool]
    ) -> None:
        self._snapshots = snapshots
        self._store = store
        self._bus = bus
        self._has_background_work = works
        self._possible_files: frozenset[str] | None = frozenset()
        """Files that may have been changed since the last snapshot; None for any."""
        self._base: asyncio.Task[str | None] | None = None
        self._changing = False
        self._storing: asyncio.Task[PatchPart | None] | None = None
        self._base_lock = asyncio.Lock()

    def begin(self) -> None:
        """Take the turn's first snapshot beside what else goes on."""
        if self._base is None:
            self._possible_files = self._initial_files()
            self._base = asyncio.create_task(self._snapshots.take(), name="snapshot")

    def _initial_files(self) -> frozenset[str] | None:
        return None if self._has_background_work() else frozenset()

    async def before_change(self, files: tuple[str, ...] | None) -> None:
        """A call that may change *files* (in full; None: any) is about to run: wait until what is
        there was kept."""
        self._changing = True
        named = None if files is None else self._snapshots.relative_paths(files)
        self._possible_files = None if named is None or self._possible_files is None else self._possible_files | named
        if self._base is not None:
            await asyncio.wait([self._base], timeout=FIRST_SNAPSHOT_TIMEOUT)

    async def include_saved_file(self, path: str) -> None:
        """What the user had not saved of the file at *path* (in full) was saved for them: it was
        there before the change that comes now, so an undo of that goes back to it."""
        async with self._base_lock:  # sub-agents save beside each other
            if self._base is None:
                return
            base = await asyncio.shield(self._base)
            kept = await self._snapshots.with_file(base, path) if base is not None else None
            if kept is not None:
                self._base = asyncio.create_task(_resolved(kept), name="snapshot")

    async def close(self) -> None:
        """End what is still read: the turn is over."""
        if self._base is not None and not self._base.done():
            self._base.cancel()
            await asyncio.wait([self._base])

    async def after_step(self, message: AssistantMessage) -> PatchPart | None:
        """Keep what the step *message* changed as a part of it, and tell of it; None where
        nothing changed. Cancelled, it goes on: called again, it waits for the end of that."""
        if self._storing is None:
            self._storing = asyncio.create_task(self._store_patch(message), name="patch")
        keeping = self._storing
        try:
            return await asyncio.shield(keeping)
        finally:
            if keeping.done():
                self._storing = None

    async def _store_patch(self, message: AssistantMessage) -> PatchPart | None:
        if not self._changing:
            return None
        async with self._base_lock:
            if self._base is None:
                return None
            self._changing = False
            base = await asyncio.shield(self._base)
            after = await self._snapshots.take() if base is not None else None
            if base is None or after is None:
                return None
            may, self._possible_files = self._possible_files, self._initial_files()
            self._base = asyncio.create_task(_resolved(after), name="snapshot")
            changes = await self._snapshots.changes(base, after) if after != base else ()
            changed = [each for each in changes if may is None or fold_path(each.path) in may]
            if not changed:
                return None
            part = PatchPart(
                id=new_id("prt"),
                session_id=message.session_id,
                message_id=message.id,
                base=base,
                tree=after,
                files=tuple(change.path for change in changed),
            )
            await self._store.save(part)
            self._publish(message.session_id, changed)
            return part

    def _publish(self, session_id: str, changed: Sequence[FileChange]) -> None:
        for change in changed:
            self._bus.publish(FileEdited(session_id, change.path))
        counted = tuple((change.path, change.added, change.removed) for change in changed)
        self._bus.publish(SessionDiff(session_id, counted))


class ChangeTrackers:
    """Those of the turns that run, by their session: a sub-agent changes files for the root's."""

    def __init__(self) -> None:
        self._running: WeakValueDictionary[str, ChangeTracker] = WeakValueDictionary()

    def begin(self, session_id: str, tracker: ChangeTracker) -> None:
        """A step of a root session begins."""
        tracker.begin()
        self._running[session_id] = tracker

    async def include_saved_file(self, session_id: str, path: str) -> None:
        """As ``ChangeTracker.saved``, for what runs in the tree of *session_id*."""
        tracker = self._running.get(session_id)
        if tracker is not None:
            await tracker.include_saved_file(path)


async def _resolved(tree: str) -> str | None:
    return tree
