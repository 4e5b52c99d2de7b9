"""``mcp add``: write a server to the user's settings, keeping their comments and layout."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.config.claude_code import claude_code_servers
from agent.config.paths import Paths
from agent.permission.saved_rules import save_setting
from agent.records.json import JsonObject
from app.cli.runner import USAGE, report
from app.text.sanitize import sanitize_line

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}")


def add_server(
    name: str,
    env: Mapping[str, str],
    *,
    url: str | None,
    headers: Sequence[str],
    variables: Sequence[str],
    command: Sequence[str],
) -> int:
    """Write the server *name*. Raises ``ConfigError`` for a file that cannot be changed."""
    if not _NAME.fullmatch(name):
        return report("A server's name is made of letters, digits, - and _ (40 at most).", USAGE)
    if bool(url) == bool(command):
        return report("Give either --url URL or, behind --, a program and its arguments.", USAGE)
    if url and not url.startswith(("http://", "https://")):
        return report(
            f"{sanitize_line(url)} is no address: it begins with https:// or http://.", USAGE
        )
    pairs = headers if url else variables
    if (variables if url else headers) or any("=" not in pair for pair in pairs):
        kind = "--header" if url else "--env"
        return report(f"Here {kind} NAME=VALUE can be given, and nothing of the other kind.", USAGE)
    values: JsonObject = {}
    for pair in pairs:
        key, _, value = pair.partition("=")
        values[key] = value
    entry: JsonObject
    if url:
        entry = {"type": "remote", "url": url, **({"headers": values} if values else {})}
    else:
        entry = {"type": "local", "command": list(command)}
        entry |= {"environment": values} if values else {}
    return _save(name, env, entry)


def import_from_claude_code(name: str, env: Mapping[str, str], directory: Path) -> int:
    """Write the server *name* of the user's Claude Code settings. Raises ``ConfigError``."""
    servers = claude_code_servers(env, directory)
    entry = servers.get(name)
    if not isinstance(entry, dict):
        names = ", ".join(sanitize_line(one) for one in servers) or "none"
        return report(
            f"Claude Code has no server {sanitize_line(name)} here. It has: {names}.", USAGE
        )
    if not _NAME.fullmatch(name):
        return report("A server's name is made of letters, digits, - and _ (40 at most).", USAGE)
    return _save(name, env, entry)


def _save(name: str, env: Mapping[str, str], entry: JsonObject) -> int:
    path = save_setting(Paths.find(env).config, ("mcp", name), entry)
    print(f"{name} is in {sanitize_line(str(path))}. Try it: opencode-py mcp debug {name}")
    return 0
