"""MCP servers as Claude Code writes them down, in the form of ours (spec 10, K3)."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from agent.config import foreign
from agent.config.jsonc import KeyPath
from agent.config.paths import home_folder
from agent.records.json import Json, JsonObject

MAX_FILE_SIZE = 64 * 1024 * 1024
"""Bytes of the file that Claude Code keeps everything in; a larger one is not read."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^{}]*)?\}")
_HELPER = "a command that makes headers is not run; write them under headers"


def from_mcp_json(raw: JsonObject) -> tuple[JsonObject, list[tuple[KeyPath, str]]]:
    """The servers under ``mcpServers`` of *raw*, and what has no effect, with the reason.

    A variable, ``${NAME}`` or ``${NAME:-otherwise}``, becomes a slot of ours, which is filled
    within the same limits.
    """
    useless: list[tuple[KeyPath, str]] = [
        ((key,), "there is no such setting here") for key in raw if key != "mcpServers"
    ]
    given = raw.get("mcpServers")
    if not isinstance(given, dict):
        return {}, useless
    servers: JsonObject = {}
    for name, entry in given.items():
        server = _slotted(entry)
        if isinstance(server, dict) and server.pop("headersHelper", None) is not None:
            useless.append((("mcpServers", name, "headersHelper"), _HELPER))
        servers[name] = server
    return ({"mcp": servers} if servers else {}), useless


def claude_code_servers(env: Mapping[str, str], directory: Path) -> JsonObject:
    """The servers that Claude Code has for its user, everywhere or in *directory*, by name; none
    where there is nothing that can be read."""
    path = home_folder(env) / ".claude.json"
    try:
        if path.stat().st_size > MAX_FILE_SIZE:
            return {}
        kept: Json = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    projects = kept.get("projects") if isinstance(kept, dict) else None
    project = projects.get(str(directory)) if isinstance(projects, dict) else None
    found: JsonObject = {}
    for place in (kept, project):
        servers = place.get("mcpServers") if isinstance(place, dict) else None
        if isinstance(servers, dict):
            values, _ = from_mcp_json({"mcpServers": servers})
            foreign.translate(values)
            table = values.get("mcp")
            found.update(table if isinstance(table, dict) else {})
    return found


def _slotted(value: Json) -> Json:
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: f"{{env:{found[1]}{found[2] or ''}}}", value)
    if isinstance(value, list):
        return [_slotted(one) for one in value]
    if isinstance(value, dict):
        return {key: _slotted(one) for key, one in value.items()}
    return value
