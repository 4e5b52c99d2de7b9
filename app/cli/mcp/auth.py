"""``mcp auth`` and ``mcp logout``: logins at remote servers."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from agent.mcp.records import Server
from agent.mcp.token_store import TokenStore
from agent.records.errors import ConfigError
from app.cli.mcp.servers import read_servers
from app.text.sanitize import sanitize_line
from app.toolkit.browser import browser_opener

WAIT = "Waiting for the browser. Ctrl+C gives up."


def log_in(directory: Path, env: Mapping[str, str], name: str | None) -> int:
    """Log in at the server *name*; without a name, list the logins.

    Raises ``ConfigError`` for an unknown server, ``ToolError`` when the login fails.
    """
    servers, _, paths = asyncio.run(read_servers(directory, env))
    if name is None:
        return _list(servers, TokenStore(paths.data))
    return asyncio.run(_log_in(_named(servers, name), paths.data, env))


def log_out(directory: Path, env: Mapping[str, str], name: str) -> int:
    """Remove the login at the server *name*."""
    servers, _, paths = asyncio.run(read_servers(directory, env))
    gone = TokenStore(paths.data).remove(_named(servers, name).url)
    print(f"The login at {name} is forgotten." if gone else f"There was no login at {name}.")
    return 0 if gone else 1


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
    return 0


async def _log_in(server: Server, data: Path, env: Mapping[str, str]) -> int:
    from agent.mcp.login import Logins  # loads the SDK

    opener = browser_opener(env)

    async def show(address: str) -> None:
        opened = await opener(address)
        print("Log in on the page that opens, or at:" if opened else "Open this page to log in:")
        print(sanitize_line(address))
        print(WAIT, flush=True)

    await Logins(data).log_in(server, show)
    print(f"You are logged in at {sanitize_line(server.name)}.")
    return 0
