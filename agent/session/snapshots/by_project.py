"""The snapshots of all projects that sessions of one runtime work in: the opened one, and the
worktrees of sub-agents."""

import asyncio
import logging
import time
from pathlib import Path

from agent.records.errors import StoreError
from agent.session.snapshots import pruning
from agent.session.snapshots.snapshots import Snapshots
from agent.store import queries
from agent.store.store import Store

PRUNED_AFTER = 60.0
"""Seconds after the first use of a project when its old snapshots are removed: short runs do not
wait for that."""

log = logging.getLogger(__name__)


class ProjectSnapshots:
    """The snapshots of each project, under *folder*. Those that no session in *store* needs are
    removed in the background, *pruned_after* some seconds."""

    def __init__(
        self,
        folder: Path,
        store: Store,
        *,
        enabled: bool = True,
        pruned_after: float = PRUNED_AFTER,
    ) -> None:
        self._folder = folder
        self._store = store
        self._enabled = enabled
        self._pruned_after = pruned_after
        self._made: dict[str, Snapshots] = {}
        self._pruning: set[asyncio.Task[None]] = set()

    def of(self, project: str) -> Snapshots:
        """Return the snapshots of *project*, its root."""
        if project not in self._made:
            self._made[project] = Snapshots(self._folder, project, enabled=self._enabled)
            task = asyncio.create_task(self._prune(project), name="prune snapshots")
            self._pruning.add(task)
            task.add_done_callback(self._pruning.discard)
        return self._made[project]

    async def _prune(self, project: str) -> None:
        await asyncio.sleep(self._pruned_after)
        git, now = self._folder / pruning.folder_name(project), time.time()
        try:
            if not await asyncio.to_thread(lambda: git.is_dir() and pruning.is_due(git, now)):
                return
            done = await pruning.prune_project(
                git, await self._store.read(queries.snapshot_trees, project), now
            )
            projects = await self._store.read(queries.projects)
            await asyncio.to_thread(pruning.remove_orphans, self._folder, projects, now)
        except (OSError, StoreError):
            log.warning("old snapshots could not be removed", exc_info=True)
        else:
            log.info("old snapshots of %s were %sremoved", project, "" if done else "not ")

    async def close(self) -> None:
        for task in self._pruning:
            task.cancel()
        await asyncio.gather(*self._pruning, return_exceptions=True)
        await asyncio.gather(*(one.close() for one in self._made.values()))
