"""``debug config`` and ``debug paths``: each setting and where it came from (spec 10, K6)."""

import asyncio
import json
import os
from pathlib import Path

from agent.config.loading import LoadedConfig
from agent.config.paths import Paths
from agent.git import project_root
from agent.jsontypes import JsonObject
from agent.permission.trust import Trust
from agent.settings import read_settings
from app.clean import clean


def show_config(directory: Path, *, as_json: bool = False) -> int:
    """Print every value that some file, variable or flag set, with its source. Values that may
    be secrets are not among what is printed."""
    loaded, _ = asyncio.run(settings_here(directory))
    if as_json:
        print(json.dumps(_as_json(loaded), indent=1))
        return 0
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


def show_paths(*, as_json: bool = False) -> int:
    """Print the four folders."""
    paths = Paths.find(os.environ)
    found = {name: str(getattr(paths, name)) for name in ("config", "data", "cache", "log")}
    if as_json:
        print(json.dumps(found, indent=1))
        return 0
    for name, path in found.items():
        print(f"{name:8}{clean(path)}")
    return 0


def _as_json(loaded: LoadedConfig) -> JsonObject:
    return {
        "sources": dict(sorted(loaded.sources.items())),
        "rules": [
            {
                "permission": rule.permission,
                "pattern": rule.pattern,
                "action": rule.action,
                "source": rule.source,
            }
            for rule in loaded.rules
        ],
        "notices": list(loaded.notices),
    }
