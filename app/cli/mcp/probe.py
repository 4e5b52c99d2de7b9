"""``mcp debug``: connect to one server and report how that goes."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from agent.bus import Bus
from agent.mcp.records import ServerStatus
from agent.mcp.service import mcp_service
from agent.records.errors import ConfigError
from agent.tools.registry import Registry
from app.cli.mcp.servers import read_servers
from app.text.sanitize import sanitize, sanitize_line

CONNECT_SECONDS = 120.0
"""How long the server can take to connect."""


def probe(directory: Path, env: Mapping[str, str], name: str) -> int:
    """Print what the server *name* is, says and offers; return 0 if it is connected.

    Raises ``ConfigError`` for an unknown server.
    """
    standing = asyncio.run(_standing(directory, env, name))
    _show(standing)
    return 0 if standing.state == "connected" else 1


async def _standing(directory: Path, env: Mapping[str, str], name: str) -> ServerStatus:
    servers, loaded, paths = await read_servers(directory, env)
    known = {server.name: server for server in servers}
    if name not in known:
        names = ", ".join(known) or "none"
        raise ConfigError(f"There is no MCP server named {name} here. There are: {names}.")
    mcp = {name: replace(loaded.config.mcp[name], enabled=True)}
    only = replace(loaded, config=replace(loaded.config, mcp=mcp))
    service = mcp_service(only, directory, paths, env, Bus(), Registry(()))
    sys.stderr.write(f"Connecting to {sanitize_line(known[name].shown)} …\n")
    try:
        await service.tried(CONNECT_SECONDS)
        found = service.standing(name)
    finally:
        await service.close()
    assert found is not None  # the server was configured above
    return found


def _show(standing: ServerStatus) -> None:
    reason = f": {sanitize_line(standing.reason)}" if standing.reason else ""
    state = "failed" if standing.state == "connecting" else standing.state
    print(f"{sanitize_line(standing.server.name)}   {state}{reason}")
    if standing.state == "needs auth" and standing.server.logs_in:
        print(f"Log in with: opencode-py mcp auth {sanitize_line(standing.server.name)}")
    if standing.about:
        print(f"{sanitize_line(standing.about)}   over {standing.wire}")
    for line in (standing.words if standing.new_words is None else standing.new_words).splitlines():
        print(f"says       {sanitize_line(line)}")
    if standing.new_words is not None:
        print("           (that has changed since it was kept: accept it with ctrl+y in /mcp)")
    for name, definition in standing.tools:
        described = sanitize_line(" ".join(definition.description.split()))[:100]
        mark = "   (changed since it was approved)" if definition.name in standing.changed else ""
        print(f"tool       {sanitize_line(name)}   {described}{mark}")
    for prompt in standing.prompts:
        print(f"prompt     {sanitize_line(prompt.name)}   {sanitize_line(prompt.description)}")
    for resource in standing.resources:
        print(f"resource   {sanitize_line(resource.uri)}   {sanitize_line(resource.name)}")
    for problem in standing.problems:
        print(f"problem    {sanitize_line(problem)}")
    if standing.log:
        print(f"\nWhat its program printed:\n{sanitize(standing.log)}")
