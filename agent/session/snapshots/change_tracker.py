"""The files that a turn changes: a snapshot before its first change, one after each step."""

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
"""Seconds that the first change of a turn waits for the snapshot before it: a change that comes too
early is in that snapshot and cannot be undone. A busy machine needs more than ten."""


class ChangeTracker:
    """Follows one turn. Does nothing for a project without snapshots.

    The turn's changes are the difference between two snapshots; but if every call in between names
    the files that it can change, changes of other files are not the turn's. *works* returns whether
    background work can change files for it.
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
        """Take the turn's first snapshot while other work continues."""
        if self._base is None:
            self._possible_files = self._initial_files()
            self._base = asyncio.create_task(self._snapshots.take_first(), name="snapshot")

    def _initial_files(self) -> frozenset[str] | None:
        return None if self._has_background_work() else frozenset()

    async def before_change(self, files: tuple[str, ...] | None) -> None:
        """Wait for the snapshot before a call that can change *files* (absolute paths; None for
        any)."""
        self._changing = True
        named = None if files is None else self._snapshots.relative_paths(files)
        self._possible_files = None if named is None or self._possible_files is None else self._possible_files | named
        if self._base is not None:
            await asyncio.wait([self._base], timeout=FIRST_SNAPSHOT_TIMEOUT)

    async def include_saved_file(self, path: str) -> None:
        """Include a file that an editor saved for the user just now in the base: an undo of the
        following change restores the user's unsaved text."""
        async with self._base_lock:  # sub-agents save at the same time
            if self._base is None:
                return
            base = await asyncio.shield(self._base)
            kept = await self._snapshots.with_file(base, path) if base is not None else None
            if kept is not None:
                self._base = asyncio.create_task(_resolved(kept), name="snapshot")

    async def close(self) -> None:
        """Cancel a snapshot that is still being taken: the turn is over."""
        if self._base is not None and not self._base.done():
            self._base.cancel()
            await asyncio.wait([self._base])

    async def after_step(self, message: AssistantMessage) -> PatchPart | None:
        """Store the changes of the step *message* as a part of it and publish them; None without
        changes. A canceled call continues: the next call waits for its end."""
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
    """The trackers of running turns, by session: a sub-agent changes files for its root session."""

    def __init__(self) -> None:
        self._running: WeakValueDictionary[str, ChangeTracker] = WeakValueDictionary()

    def begin(self, session_id: str, tracker: ChangeTracker) -> None:
        """Begin a step of a root session."""
        tracker.begin()
        self._running[session_id] = tracker

    async def include_saved_file(self, session_id: str, path: str) -> None:
        """Like ``ChangeTracker.include_saved_file``, for calls in the session tree of
        *session_id*."""
        tracker = self._running.get(session_id)
        if tracker is not None:
            await tracker.include_saved_file(path)


async def _resolved(tree: str) -> str | None:
    return tree
