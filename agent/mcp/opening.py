"""The service of an opened folder's servers, by its settings."""

from collections.abc import Mapping
from pathlib import Path

from agent.bus import Bus
from agent.catalog_settings import secret_variables
from agent.config.loading import LoadedConfig
from agent.config.paths import Paths
from agent.mcp.eliciting import Ask
from agent.mcp.records import Server
from agent.mcp.service import McpDeps, McpService
from agent.process import strict_environment
from agent.tools.registry import Registry


def mcp_service(
    loaded: LoadedConfig,
    directory: Path,
    paths: Paths,
    env: Mapping[str, str],
    bus: Bus,
    registry: Registry,
    ask: Ask | None = None,
) -> McpService:
    """The servers of the settings; none is started yet. *ask* asks the user what one of them
    wants to know."""
    servers = [Server.of(name, given, directory) for name, given in loaded.config.mcp.items()]
    deps = McpDeps(
        bus=bus,
        registry=registry,
        root=directory,
        data=paths.data,
        environment=strict_environment(env, secret_variables(loaded.config)),
        ask=ask,
    )
    return McpService(servers, deps)
