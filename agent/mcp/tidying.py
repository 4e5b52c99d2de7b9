"""What servers send that is not as the protocol has it, mended before the SDK reads it.

The SDK refuses a whole list for one entry that is wrong. Here the entry is mended or left out,
and that is told; the rest stays usable (trial MCP-SCHEMA).
"""

from collections.abc import Sequence
from typing import cast

from agent.mcp.schemas import BadSchema, mended
from agent.records.json import Json, JsonObject

NAMED = 80
"""Characters of a name that are quoted."""

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def tidy(result: object, problems: list[str]) -> object:
    """The *result* of a request as the SDK can read it; sentences on what was wrong are added
    to *problems*."""
    if not isinstance(result, dict):
        return result
    made = cast("JsonObject", result)
    tools = made.get("tools")
    if isinstance(tools, list):
        kept = [_tool(one, problems) for one in tools]
        made = {**made, "tools": [one for one in kept if one is not None]}
    for key, needed in (("resources", "uri"), ("prompts", "name")):
        entries = made.get(key)
        if isinstance(entries, list):
            made = {**made, key: _named(entries, needed, key, problems)}
    if made.get("nextCursor") == "":
        made = {key: value for key, value in made.items() if key != "nextCursor"}
    if "structuredContent" in made or "isError" in made:
        made = {"content": [], **made}
    if "content" in made:  # the answer to a call: servers before 2026 do not say that it is whole
        made = {"resultType": "complete", **made}
    return made


def _tool(entry: Json, problems: list[str]) -> JsonObject | None:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(name, str) or not name:
        problems.append("A tool without a name is left out.")
        return None
    try:
        schema = mended(entry.get("inputSchema"))
    except BadSchema as error:
        problems.append(f"The tool {name[:NAMED]} is left out: its schema cannot be used, {error}.")
        return None
    execution = entry.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        problems.append(f"The tool {name[:NAMED]} is left out: it runs as a task of the server's.")
        return None
    # Its results are read as they come: a schema for them could only make one unreadable.
    made: JsonObject = {"name": name, "inputSchema": schema}
    for key in ("title", "description"):
        if isinstance(text := entry.get(key), str):
            made[key] = text
    hints = entry.get("annotations")
    if isinstance(hints, dict):
        given: JsonObject = {k: v for k, v in hints.items() if k in _HINTS and isinstance(v, bool)}
        if isinstance(title := hints.get("title"), str):
            given["title"] = title
        made["annotations"] = given
    return made


def _named(entries: Sequence[Json], needed: str, kind: str, problems: list[str]) -> list[Json]:
    kept: list[Json] = []
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get(needed), str):
            problems.append(f"One of its {kind} is left out: it has no {needed}.")
            continue
        made: JsonObject = {
            key: value
            for key, value in entry.items()
            if key not in {"title", "description", "mimeType"} or isinstance(value, str)
        }
        if kind == "resources" and not isinstance(made.get("name"), str):
            made["name"] = entry[needed]
        kept.append(made)
    return kept
