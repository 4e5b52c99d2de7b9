"""Files of other programs in the form of ours, before anything of them is checked or used."""

from pathlib import PurePosixPath

from agent.config.claude_code import from_claude_settings, from_mcp_json
from agent.config.discovery import Source
from agent.config.jsonc import KeyPath
from agent.config.opencode import from_tui
from agent.records.json import JsonObject


def to_own_form(source: Source, raw: JsonObject) -> tuple[JsonObject, list[tuple[KeyPath, str]]]:
    """What *raw*, the values of *source*, say in our form; and what has no effect, with the
    reason."""
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
    """What relative paths of a file in ``.claude`` start from. A project's file is named by its
    path from the root, as patterns are; those of the user's own start at whatever is opened."""
    folder = PurePosixPath(source.name).parent.parent.as_posix() if source.project else "."
    return "" if folder == "." else folder
