"""The files that a turn changes: a snapshot before its first change, one after each step."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
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
    """Follows one turn.

    The turn's changes are the difference between two snapshots; but if every call in between names
    the files that it can change, changes of other files are not the turn's. Files that are only in
    snapshots that name them have two such snapshots of their own. *works* returns whether
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
        self._storing: asyncio.Task[None] | None = None
        self._base_lock = asyncio.Lock()
        self._kept: str | None = None
        """The snapshot of the files that are kept apart, each as before its first change."""
        self._kept_files: frozenset[str] = frozenset()

    def begin(self) -> None:
        """Take the turn's first snapshot while other work continues. Called when the first call of
        the turn arrives: a turn without calls needs no snapshot, which takes ten git commands."""
        if self._base is None:
            self._possible_files = self._initial_files()
            self._base = asyncio.create_task(self._snapshots.take_first(), name="snapshot")

    def _initial_files(self) -> frozenset[str] | None:
        return None if self._has_background_work() else frozenset()

    async def before_change(self, files: tuple[str, ...] | None, *, only: bool = True) -> None:
        """Wait for the snapshot before a call that can change *files* (absolute paths; None for
        any), and *only* these."""
        self._changing = True
        named = self._snapshots.relative_paths(files) if only and files is not None else None
        self._possible_files = (
            None if named is None or self._possible_files is None else self._possible_files | named
        )
        if self._base is not None:
            await asyncio.wait([self._base], timeout=FIRST_SNAPSHOT_TIMEOUT)
        await self.keep(files or ())

    async def keep(self, files: Iterable[str]) -> None:
        """Keep those of *files* (absolute paths) that are only in snapshots that name them."""
        async with self._base_lock:
            new = [path for path in files if path not in self._kept_files]
            new = await asyncio.to_thread(lambda: [*filter(self._snapshots.is_kept_apart, new)])
            if new:
                await self._keep(new)

    async def _keep(self, files: Sequence[str]) -> None:
        tree = await self._snapshots.keep(files, self._kept)
        if tree is not None:
            self._changing = True
            self._kept = tree
            self._kept_files |= {*files}

    async def include_saved_file(self, path: str) -> None:
        """Include a file that an editor saved for the user just now in the base: an undo of the
        following change restores the user's unsaved text."""
        async with self._base_lock:  # sub-agents save at the same time
            if path in self._kept_files:
                await self._keep([path])
                return
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

    async def after_step(self, message: AssistantMessage) -> None:
        """Store the changes of the step *message* as parts of it and publish them. A canceled call
        continues: the next call waits for its end."""
        if self._storing is None:
            self._storing = asyncio.create_task(self._store_patch(message), name="patch")
        keeping = self._storing
        try:
            await asyncio.shield(keeping)
        finally:
            if keeping.done():
                self._storing = None

    async def _store_patch(self, message: AssistantMessage) -> None:
        if not self._changing:
            return
        async with self._base_lock:
            self._changing = False
            changed = await self._store_project_changes(message)
            changed += await self._store_kept_changes(message, {each.path for each in changed})
            if changed:
                self._publish(message.session_id, changed)

    async def _store_project_changes(self, message: AssistantMessage) -> list[FileChange]:
        base = await asyncio.shield(self._base) if self._base is not None else None
        after = await self._snapshots.take() if base is not None else None
        if base is None or after is None:
            return []
        may, self._possible_files = self._possible_files, self._initial_files()
        self._base = asyncio.create_task(_resolved(after), name="snapshot")
        changes = await self._snapshots.changes(base, after) if after != base else ()
        changed = [each for each in changes if may is None or fold_path(each.path) in may]
        await self._store_changes(message, base, after, changed)
        return changed

    async def _store_kept_changes(
        self, message: AssistantMessage, covered: set[str]
    ) -> list[FileChange]:
        """Store the changes of files that are kept apart, without *covered* ones."""
        base, files = self._kept, self._kept_files
        self._kept, self._kept_files = None, frozenset()
        after = await self._snapshots.keep(files) if base is not None else None
        if base is None or after is None:
            return []
        changes = await self._snapshots.changes(base, after)
        changed = [each for each in changes if each.path not in covered]
        await self._store_changes(message, base, after, changed)
        return changed

    async def _store_changes(
        self, message: AssistantMessage, base: str, tree: str, changed: Sequence[FileChange]
    ) -> None:
        if not changed:
            return
        part = PatchPart(
            id=new_id("prt"),
            session_id=message.session_id,
            message_id=message.id,
            base=base,
            tree=tree,
            files=tuple(change.path for change in changed),
        )
        await self._store.save(part)

    def _publish(self, session_id: str, changed: Sequence[FileChange]) -> None:
        for change in changed:
            self._bus.publish(FileEdited(session_id, change.path, change.kind))
        counted = tuple((change.path, change.added, change.removed) for change in changed)
        self._bus.publish(SessionDiff(session_id, counted))


class ChangeTrackers:
    """The trackers of running turns, by session: a sub-agent changes files for its root session."""

    def __init__(self) -> None:
        self._running: WeakValueDictionary[str, ChangeTracker] = WeakValueDictionary()
        self._owners: dict[str, set[str]] = {}

    def register(self, session_id: str, tracker: ChangeTracker) -> None:
        """Use *tracker* for the changes in the session tree of the root *session_id*."""
        self._running[session_id] = tracker

    def claim(self, session_id: str, files: Iterable[str]) -> dict[str, set[str]]:
        """Note that a root session is about to change *files*; return those that the running turns
        of other sessions change too, with these sessions, each file once."""
        shared: dict[str, set[str]] = {}
        for path in files:
            owners = self._owners.setdefault(path, set())
            if owners and session_id not in owners:
                shared[path] = set(owners)
            owners.add(session_id)
        return shared

    def end(self, session_id: str) -> None:
        """Forget the files of a root session whose turn ended."""
        for owners in self._owners.values():
            owners.discard(session_id)
        self._owners = {path: owners for path, owners in self._owners.items() if owners}

    async def keep(self, session_id: str, files: Iterable[str]) -> None:
        """Like ``ChangeTracker.keep``, for calls in the session tree of *session_id*."""
        tracker = self._running.get(session_id)
        if tracker is not None:
            await tracker.keep(files)

    async def include_saved_file(self, session_id: str, path: str) -> None:
        """Like ``ChangeTracker.include_saved_file``, for calls in the session tree of
        *session_id*."""
        tracker = self._running.get(session_id)
        if tracker is not None:
            await tracker.include_saved_file(path)


async def _resolved(tree: str) -> str | None:
    return tree
