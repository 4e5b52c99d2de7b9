"""Claude Code's permissions and MCP servers, converted to this program's settings.

In Claude Code a deny counts before an ask and an ask before an allow, wherever they are; here the
last rule that matches counts, so the rules are written in that order.
"""

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from agent.config import opencode
from agent.config.jsonc import KeyPath
from agent.config.opencode import with_project_folder
from agent.config.paths import home_folder
from agent.records.json import Json, JsonObject
from agent.records.requests import Action
from agent.records.tool_facts import CLAUDE_PERMISSIONS

CLAUDE_TOOLS: Mapping[str, str] = {**CLAUDE_PERMISSIONS, "notebookedit": "edit", "agent": "task"}
"""Claude Code's tools, in lower case, with the permissions that cover them here."""

PATH_PERMISSIONS = frozenset({"read", "edit"})
"""Permissions whose patterns are paths, written as in a ``.gitignore`` there."""

CLAUDE_AGENTS: Mapping[str, str] = {
    "Explore": "explore",
    "Plan": "plan",
    "general-purpose": "general",
}

ACTION_ORDER: tuple[Action, ...] = ("allow", "ask", "deny")

EVERY = "allows every command; only this program's own settings can do that (permission.bash)"

SERVERS_START = (
    "the servers in .mcp.json start once the folder is trusted; to keep one from starting, list it "
    "under disabledMcpjsonServers"
)

MODE = "choose the mode with shift+tab or --auto"


def from_claude_settings(
    raw: JsonObject, base: str
) -> tuple[JsonObject, list[tuple[KeyPath, str]]]:
    """Convert the rules under ``permissions`` of *raw* and the servers that it disables.

    Returns the settings, and the keys without effect with the reasons. Relative paths start from
    *base*: a folder of the project, relative to its root ("" for the root), or an absolute one.
    Nothing else of the file is used.
    """
    off = raw.get("disabledMcpjsonServers")
    names = [name for name in off if isinstance(name, str)] if isinstance(off, list) else []
    made: JsonObject = {"mcp": {name: {"enabled": False} for name in names}} if names else {}
    ignored: list[tuple[KeyPath, str]] = [
        ((key,), reason)
        for key, reason in _IGNORED.items()
        if key in raw and not _is_same_here(key, raw)
    ]
    given = raw.get("permissions")
    if not isinstance(given, dict):
        return made, ignored
    table: JsonObject = {}
    for key in given:
        if (
            key not in {*ACTION_ORDER, "additionalDirectories"}
            and (key, given[key]) != _DEFAULT_MODE
        ):
            reason = MODE if key == "defaultMode" else "there is no such setting here"
            ignored.append((("permissions", key), reason))
    folders = given.get("additionalDirectories")
    for folder in folders if isinstance(folders, list) else []:
        if isinstance(folder, str) and folder.strip():
            place = folder.rstrip("/")
            if base and not place.startswith(("/", "~")):
                place = posixpath.normpath(f"{base}/{place}")
            _put(table, "external_directory", f"{place}/*", "allow")
    for action in ACTION_ORDER:
        entries = given.get(action)
        for entry in entries if isinstance(entries, list) else []:
            rules = list(permission_rules(entry, base))
            shown = entry[:80] if isinstance(entry, str) else "an entry"
            if not rules:
                ignored.append((("permissions", action), f"{shown} is not a tool of this program"))
            if action == "allow" and ("bash", "*") in rules:
                ignored.append((("permissions", action), f"{shown} {EVERY}"))
                continue
            for permission, pattern in rules:
                _put(table, permission, pattern, action)
    if table:
        made["permission"] = table
    return made, ignored


_IGNORED = {
    "env": "set variables in the shell that starts this program",
    "model": "choose the model in this program's own settings",
    "apiKeyHelper": "keys are stored with opencode-py auth login",
    "outputStyle": "instructions go into AGENTS.md",
    "mcpServers": "servers are read from .mcp.json",
    "enabledPlugins": "copy the commands, agents and skills of its plugins into .claude",
    "enableAllProjectMcpServers": SERVERS_START,
    "enabledMcpjsonServers": SERVERS_START,
    "allowedMcpServers": SERVERS_START,
    "deniedMcpServers": SERVERS_START,
}
"""Keys of Claude Code's settings that would change the agent's work there, with the reason why they
do not here. All others are about Claude Code itself."""


def _is_same_here(key: str, raw: JsonObject) -> bool:
    """Return whether the setting *key* of *raw* asks for what is done here anyway."""
    if key == "model":  # an alias such as "opus" means the usual model, which is the default here
        return str(raw[key]).isalpha()
    if key == "enabledMcpjsonServers":
        return not raw[key] or raw.get("enableAllProjectMcpServers") is True
    if key == "enabledPlugins":
        plugins = raw[key]
        return not (isinstance(plugins, dict) and any(plugins.values()))
    return key == "enableAllProjectMcpServers" and raw[key] is True


_DEFAULT_MODE = ("defaultMode", "default")


def _put(table: JsonObject, permission: str, pattern: str, action: Action) -> None:
    """Add a rule after all others."""
    patterns = table.pop(permission, {})
    patterns = patterns if isinstance(patterns, dict) else {}
    patterns.pop(pattern, None)
    patterns[pattern] = action
    table[permission] = patterns


_ESCAPED = re.compile(r"\\([()])")
"""A bracket in the pattern of a rule."""


def permission_rules(entry: Json, base: str = "") -> Iterator[tuple[str, str]]:
    """Yield the permissions and patterns of *entry*, such as ``Bash(npm test:*)``; paths are
    relative to *base*."""
    if not isinstance(entry, str):
        return
    name, bracket, rest = entry.strip().partition("(")
    if bracket and not rest.endswith(")"):
        return
    inner = _ESCAPED.sub(r"\1", rest[:-1].strip()) if bracket else ""
    if name.startswith("mcp__"):
        server, _, tool = name.removeprefix("mcp__").partition("__")
        yield f"{server}_{tool or '*'}", "*"
        return
    permission = CLAUDE_TOOLS.get(name.lower())
    if permission is None:
        return
    for pattern in _patterns(permission, inner, base):
        yield permission, pattern


def _patterns(permission: str, inner: str, base: str) -> Iterator[str]:
    if inner in {"", "*", "**"}:
        yield "*"
    elif permission == "bash":
        yield f"{inner[:-2]} *" if inner.endswith(":*") else inner
    elif permission in PATH_PERMISSIONS:
        yield from _paths(inner, base)
    elif permission == "webfetch":
        yield inner.removeprefix("domain:")
    elif permission == "task":
        yield CLAUDE_AGENTS.get(inner, inner)
    else:
        yield inner


def _paths(inner: str, base: str) -> Iterator[str]:
    """Yield the patterns for a path as in a ``.gitignore``, where a name covers what is below
    it."""
    if inner.startswith("//"):
        start, rest = "/", inner.lstrip("/")
    elif inner.startswith("~/"):
        start, rest = "~/", inner[2:]
    else:
        start = f"{base.rstrip('/')}/" if base else ""
        rest = inner.removeprefix("./").lstrip("/")
    anywhere = "/" not in inner.rstrip("/")
    rest = rest.rstrip("/")
    for each in _expand_double_stars(rest):
        for prefix in (start, f"{start}*/") if anywhere else (start,):
            yield prefix + each
            if PurePosixPath(each).name.strip("*"):
                yield f"{prefix}{each}/*"


def _expand_double_stars(path: str) -> Iterator[str]:
    """Yield *path* without its double stars, which stand for any number of folders."""
    head, double, tail = path.partition("**/")
    if not double:
        yield path.replace("**", "*")
        return
    for rest in _expand_double_stars(tail):
        yield head + rest
        yield f"{head}*/{rest}"


MAX_FILE_SIZE = 64 * 1024 * 1024
"""Bytes of Claude Code's main file; a larger one is not read."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^{}]*)?\}")
_HELPER = "commands that print headers are not run; write the headers themselves under headers"


def from_mcp_json(raw: JsonObject) -> tuple[JsonObject, list[tuple[KeyPath, str]]]:
    """Convert the servers under ``mcpServers`` of *raw*.

    Returns the settings, and the keys without effect with the reasons. A variable, ``${NAME}`` or
    ``${NAME:-default}``, becomes ``{env:NAME}``, which is filled in within the same limits.
    """
    ignored: list[tuple[KeyPath, str]] = [
        ((key,), "there is no such setting here") for key in raw if key != "mcpServers"
    ]
    given = raw.get("mcpServers")
    if not isinstance(given, dict):
        return {}, ignored
    servers: JsonObject = {}
    for name, entry in given.items():
        server = _with_env_slots(with_project_folder(entry))
        if isinstance(server, dict) and server.pop("headersHelper", None) is not None:
            ignored.append((("mcpServers", name, "headersHelper"), _HELPER))
        servers[name] = server
    return ({"mcp": servers} if servers else {}), ignored


def claude_code_servers(env: Mapping[str, str], directory: Path) -> JsonObject:
    """Return the servers that Claude Code has for its user, everywhere or in *directory*, by name.

    Empty if there is nothing readable.
    """
    path = home_folder(env) / ".claude.json"
    try:
        if path.stat().st_size > MAX_FILE_SIZE:
            return {}
        stored: Json = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    projects = stored.get("projects") if isinstance(stored, dict) else None
    project = projects.get(str(directory)) if isinstance(projects, dict) else None
    found: JsonObject = {}
    for table in (stored, project):
        servers = table.get("mcpServers") if isinstance(table, dict) else None
        if isinstance(servers, dict):
            values, _ = from_mcp_json({"mcpServers": servers})
            opencode.translate(values)
            converted = values.get("mcp")
            found.update(converted if isinstance(converted, dict) else {})
    return found


def _with_env_slots(value: Json) -> Json:
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: f"{{env:{found[1]}{found[2] or ''}}}", value)
    if isinstance(value, list):
        return [_with_env_slots(one) for one in value]
    if isinstance(value, dict):
        return {key: _with_env_slots(one) for key, one in value.items()}
    return value
