"""``mcp auth``, ``logout`` and ``debug``: logins at remote servers, and a connection on trial."""

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from agent.config.loading import LoadedConfig
from agent.config.paths import Paths
from agent.mcp.records import STATE_LABELS, Server, ServerStatus
from agent.mcp.token_store import TokenStore
from agent.records.errors import ConfigError
from app.cli.command_support import DONE, FAILED
from app.cli.mcp.servers import read_servers
from app.terminal.browser import browser_opener
from app.text.sanitize import sanitize_line, without_colors

CONNECT_SECONDS = 120.0
"""The longest time that a server can take to connect."""


def log_in(name: str | None) -> int:
    """Log in at the server *name*; without a name, list the logins.

    Raises ``ConfigError`` for an unknown server, ``ToolError`` when the login fails.
    """
    servers, _ = asyncio.run(read_servers())
    data = Paths.find(os.environ).data
    if name is None:
        return _list(servers, TokenStore(data))
    return asyncio.run(_log_in(_named(servers, name), data))


def log_out(name: str) -> int:
    servers, _ = asyncio.run(read_servers())
    gone = TokenStore(Paths.find(os.environ).data).remove(_named(servers, name).url)
    print(f"The login at {name} is removed." if gone else f"There was no login at {name}.")
    return DONE if gone else FAILED


def _named(servers: tuple[Server, ...], name: str) -> Server:
    found = next((one for one in servers if one.name == name), None)
    if found is None:
        names = ", ".join(one.name for one in servers) or "none"
        raise ConfigError(f"There is no MCP server named {name} here. There are: {names}.")
    return found


def _list(servers: tuple[Server, ...], tokens: TokenStore) -> int:
    remote = [one for one in servers if one.remote]
    known = set(tokens.urls())
    for one in remote:
        state = "logged in" if one.url in known else "no login"
        print(f"{sanitize_line(one.name):20}{state:12}{sanitize_line(one.url)}")
    if not remote:
        print("No remote MCP server is configured, and others have no login.")
    return DONE


async def _log_in(server: Server, data: Path) -> int:
    from agent.mcp.login import Logins  # loads the SDK

    opener = browser_opener(os.environ)

    async def show(address: str) -> None:
        opened = await opener(address)
        print("Log in on the page that opens, or at:" if opened else "Open this page to log in:")
        print(sanitize_line(address))
        print("Waiting for the browser. Press ctrl+c to cancel.", flush=True)

    await Logins(data).log_in(server, show)
    print(f"You are logged in to {sanitize_line(server.name)}.")
    return DONE


def probe(name: str) -> int:
    """Connect to the server *name* and print what it is, says and offers.

    Raises ``ConfigError`` for an unknown server.
    """
    servers, loaded = asyncio.run(read_servers())
    status = asyncio.run(_connect(_named(servers, name), loaded))
    _show(status)
    return DONE if status.state == "connected" else FAILED


async def _connect(server: Server, loaded: LoadedConfig) -> ServerStatus:
    from agent.bus import Bus  # for this part only
    from agent.git import project_root  # as above
    from agent.mcp.service import mcp_service  # as above
    from agent.runtime.service_factories import command_sandbox  # as above
    from agent.tools.registry import Registry  # as above

    mcp = {server.name: replace(loaded.config.mcp[server.name], enabled=True)}
    only = replace(loaded, config=replace(loaded.config, mcp=mcp))
    paths = Paths.find(os.environ)
    bus = Bus()
    service = mcp_service(
        only,
        Path.cwd(),
        paths,
        os.environ,
        bus,
        Registry(()),
        sandbox=command_sandbox(only.config, paths, os.environ, bus),
        project=await project_root(Path.cwd()),
    )
    sys.stderr.write(f"Connecting to {sanitize_line(server.endpoint)} …\n")
    try:
        await service.wait_until_tried(CONNECT_SECONDS)
        found = service.status(server.name)
    finally:
        await service.close()
    assert found is not None  # the server was configured above
    return found


def _show(status: ServerStatus) -> None:
    reason = f": {sanitize_line(status.reason)}" if status.reason else ""
    state = STATE_LABELS["failed" if status.state == "connecting" else status.state]
    print(f"{sanitize_line(status.server.name)}   {state}{reason}")
    if status.state == "needs auth" and status.server.uses_login:
        print(f"Log in with: opencode-py mcp auth {sanitize_line(status.server.name)}")
    if status.server_info:
        print(f"{sanitize_line(status.server_info)}   over {status.transport}")
    changed = status.new_instructions
    for line in (status.instructions if changed is None else changed).splitlines():
        print(f"says       {sanitize_line(line)}")
    if changed is not None:
        print("           (changed since it was approved: accept it with ctrl+y in /mcp)")
    for name, definition in status.tools:
        described = sanitize_line(" ".join(definition.description.split()))[:100]
        is_changed = definition.name in status.changed_tools
        mark = "   (changed since it was approved)" if is_changed else ""
        print(f"tool       {sanitize_line(name)}   {described}{mark}")
    for prompt in status.prompts:
        print(f"prompt     {sanitize_line(prompt.name)}   {sanitize_line(prompt.description)}")
    for resource in status.resources:
        print(f"resource   {sanitize_line(resource.uri)}   {sanitize_line(resource.name)}")
    for problem in status.problems:
        print(f"problem    {sanitize_line(problem)}")
    if status.log:
        print(f"\nOutput of its program:\n{without_colors(status.log)}")
