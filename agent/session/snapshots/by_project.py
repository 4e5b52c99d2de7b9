"""The snapshots of all projects that sessions of one runtime work in: the opened one, and the
worktrees of sub-agents."""

import asyncio
from pathlib import Path

from agent.session.snapshots.snapshots import Snapshots


class ProjectSnapshots:
    """The snapshots of each project, under *folder*."""

    def __init__(self, folder: Path, *, enabled: bool = True) -> None:
        self._folder = folder
        self._enabled = enabled
        self._made: dict[str, Snapshots] = {}

    def of(self, project: str) -> Snapshots:
        """Return the snapshots of *project*, its root."""
        if project not in self._made:
            self._made[project] = Snapshots(self._folder, project, enabled=self._enabled)
        return self._made[project]

    async def close(self) -> None:
        await asyncio.gather(*(one.close() for one in self._made.values()))
