"""The servers that count in a folder, as the settings have them."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from agent.config.loading import LoadedConfig
from agent.config.paths import Paths
from agent.git import project_root
from agent.mcp.records import Server
from agent.runtime.settings import read_settings


async def read_servers(
    directory: Path, env: Mapping[str, str]
) -> tuple[tuple[Server, ...], LoadedConfig, Paths]:
    """The servers by name. A project's are among them once it was trusted."""
    here = await asyncio.to_thread(directory.resolve)
    paths = Paths.find(env)
    loaded, _ = await read_settings(here, await project_root(here), env, paths=paths)
    servers = (Server.of(name, given, here) for name, given in loaded.config.mcp.items())
    return tuple(sorted(servers, key=lambda server: server.name)), loaded, paths
