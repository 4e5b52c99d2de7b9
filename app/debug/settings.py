"""``debug config`` and ``debug paths``: each setting and where it came from (spec 10, K6)."""

import asyncio
import os
from pathlib import Path

from agent.config.loading import LoadedConfig
from agent.config.paths import Paths
from agent.git import project_root
from agent.permission.trust import Trust
from agent.settings import read_settings
from app.clean import clean


def show_config(directory: Path) -> int:
    """Print every value that some file, variable or flag set, with its source."""
    loaded, _ = asyncio.run(settings_here(directory))
    if not loaded.sources:
        print("No configuration file sets anything: the defaults hold.")
    for key, source in sorted(loaded.sources.items()):
        print(f"{clean(key)}   {clean(source)}")
    for rule in loaded.rules:
        what = f"{clean(rule.permission)}: {clean(rule.pattern)}"
        print(f"{rule.action:6}{what}   {clean(rule.source)}")
    for notice in loaded.notices:
        print(clean(notice))
    return 0


async def settings_here(directory: Path) -> tuple[LoadedConfig, Trust]:
    """What holds in *directory*, with the trust that was given to it before."""
    return await read_settings(directory, await project_root(directory), os.environ)


def show_paths() -> int:
    """Print the four folders."""
    paths = Paths.find(os.environ)
    for name in ("config", "data", "cache", "log"):
        print(f"{name:8}{clean(str(getattr(paths, name)))}")
    return 0
