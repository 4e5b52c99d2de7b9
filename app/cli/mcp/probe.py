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
"""The longest time that the server can take to connect."""


def probe(directory: Path, env: Mapping[str, str], name: str) -> int:
    """Print what the server *name* is, says and offers; return 0 if it is connected.

    Raises ``ConfigError`` for an unknown server.
    """
    status = asyncio.run(_status(directory, env, name))
    _show(status)
    return 0 if status.state == "connected" else 1


async def _status(directory: Path, env: Mapping[str, str], name: str) -> ServerStatus:
    servers, loaded, paths = await read_servers(directory, env)
    known = {server.name: server for server in servers}
    if name not in known:
        names = ", ".join(known) or "none"
        raise ConfigError(f"There is no MCP server named {name} here. There are: {names}.")
    mcp = {name: replace(loaded.config.mcp[name], enabled=True)}
    only = replace(loaded, config=replace(loaded.config, mcp=mcp))
    service = mcp_service(only, directory, paths, env, Bus(), Registry(()))
    sys.stderr.write(f"Connecting to {sanitize_line(known[name].endpoint)} …\n")
    try:
        await service.wait_until_tried(CONNECT_SECONDS)
        found = service.status(name)
    finally:
        await service.close()
    assert found is not None  # the server was configured above
    return found


def _show(status: ServerStatus) -> None:
    reason = f": {sanitize_line(status.reason)}" if status.reason else ""
    state = "failed" if status.state == "connecting" else status.state
    print(f"{sanitize_line(status.server.name)}   {state}{reason}")
    if status.state == "needs auth" and status.server.uses_login:
        print(f"Log in with: opencode-py mcp auth {sanitize_line(status.server.name)}")
    if status.server_info:
        print(f"{sanitize_line(status.server_info)}   over {status.transport}")
    for line in (
        status.instructions if status.new_instructions is None else status.new_instructions
    ).splitlines():
        print(f"says       {sanitize_line(line)}")
    if status.new_instructions is not None:
        print("           (that has changed since it was kept: accept it with ctrl+y in /mcp)")
    for name, definition in status.tools:
        described = sanitize_line(" ".join(definition.description.split()))[:100]
        mark = (
            "   (changed since it was approved)" if definition.name in status.changed_tools else ""
        )
        print(f"tool       {sanitize_line(name)}   {described}{mark}")
    for prompt in status.prompts:
        print(f"prompt     {sanitize_line(prompt.name)}   {sanitize_line(prompt.description)}")
    for resource in status.resources:
        print(f"resource   {sanitize_line(resource.uri)}   {sanitize_line(resource.name)}")
    for problem in status.problems:
        print(f"problem    {sanitize_line(problem)}")
    if status.log:
        print(f"\nWhat its program printed:\n{sanitize(status.log)}")
