"""The worktrees of sub-agents: each is made for one session, and removed when it is unchanged."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from agent.config.paths import Paths
from agent.config.settings_schema import WorktreeConfig
from agent.records.errors import WorktreeError
from agent.records.messages import Session
from agent.runtime.worktrees import BRANCHES, Worktree, Worktrees, find_worktree
from agent.session.subagents.worktrees import KeptWorktree, WorkPlace

GONE = (
    "The worktree of this sub-agent was removed, and its branch {branch} is kept. Start a new "
    "sub-agent instead of continuing this one."
)


class RuntimeWorktrees:
    """Implements ``SubagentWorktrees`` with the settings of an opened folder; *env* are the
    variables that the setup command gets. *left* is awaited with a worktree that nobody works in
    any more."""

    def __init__(
        self,
        paths: Paths,
        config: WorktreeConfig,
        env: Mapping[str, str],
        left: Callable[[str], Awaitable[None]],
    ) -> None:
        self._left = left
        self._paths = paths
        self._config = config
        self._env = env

    async def enter(self, caller: Session, name: str) -> WorkPlace:
        project = Path(caller.project)
        made, notices = await self._create(project, name)
        directory = await asyncio.to_thread(_same_folder, made, Path(caller.directory), project)
        return WorkPlace(str(directory), made.folder, made.branch, notices)

    async def enter_again(self, caller: Session, child: Session) -> None:
        name = Path(child.project).name
        if await asyncio.to_thread(Path(child.project).is_dir):
            return
        if await Worktrees(self._paths, Path(caller.project)).has_branch(name):
            raise WorktreeError(GONE.format(branch=f"{BRANCHES}{name}"))
        await self._create(Path(caller.project), name)

    async def leave(self, child: Session) -> KeptWorktree | None:
        made = await asyncio.to_thread(find_worktree, self._paths, child.project)
        if made is None:
            return None
        await self._left(made.folder)
        worktrees = Worktrees(self._paths, Path(made.source))
        try:
            if await worktrees.discard_unchanged(made):
                return None
            files = await worktrees.changed_files(made)
        except WorktreeError:  # git does not tell: nothing is removed
            files = ()
        return KeptWorktree(made.name, made.folder, made.branch, files)

    async def _create(self, project: Path, name: str) -> tuple[Worktree, tuple[str, ...]]:
        return await Worktrees(self._paths, project).create(name, self._config, self._env)


def _same_folder(made: Worktree, directory: Path, project: Path) -> Path:
    """Return where *directory* of *project* is in the worktree; its root if it is not there."""
    inside = directory.relative_to(project) if directory.is_relative_to(project) else Path()
    folder = Path(made.folder, inside)
    return folder if folder.is_dir() else Path(made.folder)
