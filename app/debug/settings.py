"""``debug config`` and ``debug paths``: each setting and where it came from (spec 10, K6)."""

import asyncio
import os
from pathlib import Path

from agent.config.loading import load_config
from agent.config.paths import Paths
from agent.git import project_root
from app.clean import clean


def show_config(directory: Path) -> int:
    """Print every value that some file, variable or flag set, with its source."""
    loaded = load_config(directory, asyncio.run(project_root(directory)), os.environ)
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


def show_paths() -> int:
    """Print the four folders."""
    paths = Paths.find(os.environ)
    for name in ("config", "data", "cache", "log"):
        print(f"{name:8}{clean(str(getattr(paths, name)))}")
    return 0
