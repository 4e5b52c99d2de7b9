"""The catalogue for a command: the settings of the folder, without opening a session store."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from agent.config.paths import Paths
from agent.git import project_root
from agent.provider.catalog.catalog import Catalog
from agent.provider.catalog.from_config import catalog_of
from agent.runtime.settings import read_settings


async def open_catalog(directory: Path, env: Mapping[str, str]) -> tuple[Catalog, tuple[str, ...]]:
    """The models that count in *directory*, and what is to be told of its settings."""
    here = await asyncio.to_thread(directory.resolve)
    paths = Paths.find(env)
    loaded, _ = await read_settings(here, await project_root(here), env, paths=paths)
    return catalog_of(loaded, paths, env), loaded.notices


def catalog_here(directory: Path, env: Mapping[str, str]) -> tuple[Catalog, tuple[str, ...]]:
    """The same where no event loop runs."""
    return asyncio.run(open_catalog(directory, env))
