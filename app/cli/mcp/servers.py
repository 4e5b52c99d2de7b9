"""``mcp list`` and ``add``: the servers in the settings. Neither starts any of them."""

import argparse
import asyncio
import json
import os
import re
import shlex
from pathlib import Path

from agent.config.claude_code import claude_code_servers
from agent.config.loading import LoadedConfig
from agent.config.paths import Paths
from agent.mcp.records import Server
from agent.permission.saved_rules import save_setting
from agent.records.json import JsonObject
from app.cli.command_support import DONE, USAGE, read_folder_settings, report
from app.text.sanitize import sanitize, sanitize_line

NO_SERVERS = "No MCP server is configured. Add one with: opencode-py mcp add"
IMPORT_COMMAND = "opencode-py mcp add NAME --from-claude-code"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")
_WRONG_NAME = "A server's name is made of letters, digits, - and _ (40 at most)."


async def read_servers() -> tuple[tuple[Server, ...], LoadedConfig]:
    """Return the servers by name. A project's own are included once it is trusted."""
    loaded, _ = await read_folder_settings()
    here = Path.cwd()
    servers = (Server.from_config(name, given, here) for name, given in loaded.config.mcp.items())
    return tuple(sorted(servers, key=lambda server: server.name)), loaded


def show_servers(*, as_json: bool) -> int:
    servers, loaded = asyncio.run(read_servers())
    for notice in loaded.notices:
        report(sanitize(notice))
    if as_json:
        print(json.dumps({"servers": [_as_json(one, loaded) for one in servers]}, indent=1))
        return DONE
    if not servers:
        print(NO_SERVERS)
    width = max((len(sanitize_line(one.name)) for one in servers), default=0) + 2
    for one in servers:
        state = one.problem or ("on" if one.enabled else "off")
        what = sanitize_line(one.url or shlex.join(one.command))
        line = f"{sanitize_line(one.name):{width}}{state:5}{what}"
        print(f"{line}   {sanitize_line(_source(one, loaded))}")
    known = {one.name for one in servers}
    more = [name for name in claude_code_servers(os.environ, Path.cwd()) if name not in known]
    if more:
        names = ", ".join(sanitize_line(name) for name in more)
        print(f"Claude Code has these too: {names}. Copy one: {IMPORT_COMMAND}")
    return DONE


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
        **({"sandbox": server.sandbox} if server.sandbox != "off" else {}),
    }


def add_server(arguments: argparse.Namespace, command: list[str]) -> int:
    """Write a server to the user's settings, keeping their comments and layout.

    Raises ``ConfigError`` for a file that cannot be changed.
    """
    if arguments.from_claude_code:
        return _import_from_claude_code(arguments.name)
    url, headers, variables = arguments.url, arguments.header, arguments.env
    if not _NAME.fullmatch(arguments.name):
        return report(_WRONG_NAME, USAGE)
    if bool(url) == bool(command):
        return report("Pass either --url URL or, after --, a program and its arguments.", USAGE)
    if url and not url.startswith(("http://", "https://")):
        what = f"{sanitize_line(url)} is not an address"
        return report(f"{what}: it begins with https:// or http://.", USAGE)
    pairs = headers if url else variables
    if (variables if url else headers) or any("=" not in pair for pair in pairs):
        kind = "--header" if url else "--env"
        return report(f"Here {kind} NAME=VALUE can be given, and nothing of the other kind.", USAGE)
    values: JsonObject = {key: value for key, _, value in (p.partition("=") for p in pairs)}
    entry: JsonObject
    if url:
        entry = {"type": "remote", "url": url, **({"headers": values} if values else {})}
    else:
        entry = {"type": "local", "command": [*command]}
        entry |= {"environment": values} if values else {}
    return _save(arguments.name, entry)


def _import_from_claude_code(name: str) -> int:
    servers = claude_code_servers(os.environ, Path.cwd())
    entry = servers.get(name)
    if not isinstance(entry, dict):
        names = ", ".join(sanitize_line(one) for one in servers) or "none"
        what = f"Claude Code has no server {sanitize_line(name)} here"
        return report(f"{what}. It has: {names}.", USAGE)
    return _save(name, entry) if _NAME.fullmatch(name) else report(_WRONG_NAME, USAGE)


def _save(name: str, entry: JsonObject) -> int:
    path = save_setting(Paths.find(os.environ).config, ("mcp", name), entry)
    print(f"{name} is in {sanitize_line(str(path))}. Try it: opencode-py mcp debug {name}")
    return DONE
