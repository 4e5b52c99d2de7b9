"""Conversion of other programs' config files to this program's settings."""

from pathlib import PurePosixPath

from agent.config.claude_code import from_claude_settings, from_mcp_json
from agent.config.discovery import Source
from agent.config.jsonc import KeyPath
from agent.config.opencode import from_tui
from agent.records.json import JsonObject


def to_own_form(source: Source, raw: JsonObject) -> tuple[JsonObject, list[tuple[KeyPath, str]]]:
    """Return *raw*, the values of *source*, as our settings, and the keys without effect with
    reasons."""
    match source.form:
        case "tui":
            return from_tui(raw)
        case "mcp":
            return from_mcp_json(raw)
        case "claude":
            return from_claude_settings(raw, _base(source))
        case _:
            return raw, []


def _base(source: Source) -> str:
    """Return the folder that relative paths of a file in ``.claude`` start from.

    A project's file is named by its path from the root, as patterns are; those of the user's own
    files start at the opened folder.
    """
    folder = PurePosixPath(source.name).parent.parent.as_posix() if source.project else "."
    return "" if folder == "." else folder
