"""Steps of tests of worktrees."""

import os
from pathlib import Path

from agent.config.paths import Paths
from agent.config.settings_schema import WorktreeConfig
from agent.runtime.worktrees import Worktree, Worktrees

ENV = {"PATH": os.environ["PATH"]}


async def make(
    paths: Paths, shop: Path, name: str = "fix", **config: object
) -> tuple[Worktree, tuple[str, ...]]:
    return await Worktrees(paths, shop).create(name, WorktreeConfig(**config), ENV)
