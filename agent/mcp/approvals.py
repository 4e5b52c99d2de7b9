"""Which definitions of tools the user goes by (security reference, 9.2).

A server can describe a tool in one way when it is approved and in another later. The first
definition that is seen of a tool is kept; while the server tells another one, the model goes on
with what was kept, and calling it asks, whatever the rules allow. The same holds for what the
server says of its tools as a whole, which the user takes or leaves.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agent.config.private_file import PrivateFile, objects_in
from agent.mcp.records import Server, ToolDefinition
from agent.records.json import JsonObject


@dataclass(slots=True)
class _Kept:
    """What holds of a server: its tools by their names, and its words, None before any came."""

    tools: dict[str, ToolDefinition]
    words: str | None


class ApprovedDefinitions:
    """The definitions that hold, in ``mcp-tools.json`` of the *data* folder (mode 0600)."""

    def __init__(self, data: Path) -> None:
        self._file = PrivateFile(data / "mcp-tools.json", "What the tools of MCP servers are")

    def check(
        self, server: Server, told: tuple[ToolDefinition, ...], words: str = ""
    ) -> tuple[dict[str, ToolDefinition], str]:
        """The definition that holds of each tool that *server* tells of, by its name, and its
        words that hold. What was never seen is kept as it is. Raises ``StoreUnavailable``."""
        kept = _kept(self._file.read(), server)
        if kept.words is None or any(one.name not in kept.tools for one in told):
            with self._file.changing() as whole:
                kept = _kept(whole, server)
                kept.tools = {one.name: one for one in told} | kept.tools
                kept.words = words if kept.words is None else kept.words
                _keep(whole, server, kept)
        return {one.name: kept.tools[one.name] for one in told}, kept.words

    def approve(
        self, server: Server, definitions: Iterable[ToolDefinition], words: str | None = None
    ) -> None:
        """Go by *definitions*, and by *words* if they are given, from now on. Raises
        ``StoreUnavailable``."""
        with self._file.changing() as whole:
            kept = _kept(whole, server)
            kept.tools |= {one.name: one for one in definitions}
            kept.words = kept.words if words is None else words
            _keep(whole, server, kept)


def _kept(whole: JsonObject, server: Server) -> _Kept:
    # Where it can't be read, what the server tells next is what is kept.
    tools = objects_in(objects_in(whole, "servers"), server.identity)
    words = whole.get("words")
    said = words.get(server.identity) if isinstance(words, dict) else None
    return _Kept(
        {name: _definition(name, one) for name, one in tools.items()},
        said if isinstance(said, str) else None,
    )


def _keep(whole: JsonObject, server: Server, kept: _Kept) -> None:
    tools: JsonObject = {
        name: {"title": one.title, "description": one.description, "schema": one.schema}
        for name, one in kept.tools.items()
    }
    whole["servers"] = {**objects_in(whole, "servers"), server.identity: tools}
    words = whole.get("words")
    others = words if isinstance(words, dict) else {}
    if kept.words is not None:
        whole["words"] = {**others, server.identity: kept.words}


def _definition(name: str, kept: JsonObject) -> ToolDefinition:
    schema = kept.get("schema")
    return ToolDefinition(
        name=name,
        title=str(kept.get("title", "")),
        description=str(kept.get("description", "")),
        schema=schema if isinstance(schema, dict) else {},
    )
