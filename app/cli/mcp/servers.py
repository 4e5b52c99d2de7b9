"""The MCP servers in the settings of a folder, and ``mcp list``, which starts none of them."""

import asyncio
import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from agent.config.claude_code import claude_code_servers
from agent.config.loading import LoadedConfig
from agent.config.paths import Paths
from agent.git import project_root
from agent.mcp.records import Server
from agent.records.json import JsonObject
from agent.runtime.settings import read_settings
from app.text.sanitize import sanitize, sanitize_line


async def read_servers(
    directory: Path, env: Mapping[str, str]
) -> tuple[tuple[Server, ...], LoadedConfig, Paths]:
    """Return the servers by name. A project's own are included once it is trusted."""
    here = await asyncio.to_thread(directory.resolve)
    paths = Paths.find(env)
    loaded, _ = await read_settings(here, await project_root(here), env, paths=paths)
    servers = (Server.from_config(name, given, here) for name, given in loaded.config.mcp.items())
    return tuple(sorted(servers, key=lambda server: server.name)), loaded, paths


NO_SERVERS = "No MCP server is configured. Add one with: opencode-py mcp add"

IMPORT_COMMAND = "opencode-py mcp add NAME --from-claude-code"


def show_servers(directory: Path, env: Mapping[str, str], *, as_json: bool) -> int:
    """Print the servers that are configured for *directory*."""
    servers, loaded, _ = asyncio.run(read_servers(directory, env))
    for notice in loaded.notices:
        sys.stderr.write(f"{sanitize(notice)}\n")
    if as_json:
        print(json.dumps({"servers": [_as_json(one, loaded) for one in servers]}, indent=1))
        return 0
    if not servers:
        print(NO_SERVERS)
    width = max((len(sanitize_line(one.name)) for one in servers), default=0) + 2
    for one in servers:
        state = one.problem or ("on" if one.enabled else "off")
        line = f"{sanitize_line(one.name):{width}}{state:5}{_what(one)}"
        print(f"{line}   {sanitize_line(_source(one, loaded))}")
    known = {one.name for one in servers}
    more = [name for name in claude_code_servers(env, directory) if name not in known]
    if more:
        names = ", ".join(sanitize_line(name) for name in more)
        print(f"Claude Code has these too: {names}. Take one over: {IMPORT_COMMAND}")
    return 0


def _what(server: Server) -> str:
    return sanitize_line(server.url or shlex.join(server.command))


def _source(server: Server, loaded: LoadedConfig) -> str:
    """Return the file that sets most of the server."""
    keys = (f"mcp.{server.name}.{key}" for key in ("url", "command", "enabled"))
    return next((loaded.sources[key] for key in keys if key in loaded.sources), "")


def _as_json(server: Server, loaded: LoadedConfig) -> JsonObject:
    return {
        "name": server.name,
        "type": "remote" if server.remote else "local",
        "command": list(server.command) or None,
        "url": server.url or None,
        "enabled": server.enabled,
        "source": _source(server, loaded) or None,
        "problem": server.problem or None,
    }
