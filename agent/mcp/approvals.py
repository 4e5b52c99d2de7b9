"""The approved definitions of servers' tools.

A server can describe a tool in one way when it is approved and in another later. The first
definition seen of a tool is stored. While the server sends another one, the model keeps seeing the
stored one, and a call asks the user whatever the rules allow. The same is true of the server's
instructions, which the user accepts or not.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agent.config.private_file import PrivateFile, objects_in
from agent.mcp.records import Server, ToolDefinition
from agent.records.json import JsonObject


@dataclass(slots=True)
class _Approved:
    """The stored definitions of a server."""

    tools: dict[str, ToolDefinition]
    """Tools by name."""
    instructions: str | None
    """The server's instructions, None before any came."""


class ApprovedDefinitions:
    """The approved definitions, in ``mcp-tools.json`` of the *data* folder (mode 0600)."""

    def __init__(self, data: Path) -> None:
        self._file = PrivateFile(data / "mcp-tools.json", "Approval of MCP tools")

    def resolve(
        self, server: Server, current: tuple[ToolDefinition, ...], instructions: str = ""
    ) -> tuple[dict[str, ToolDefinition], str]:
        """Return the approved definitions of the *current* tools by name, and the approved
        instructions.

        Definitions that are new are stored unchanged. Raises ``StoreUnavailable``.
        """
        kept = _load(self._file.read(), server)
        if kept.instructions is None or any(one.name not in kept.tools for one in current):
            with self._file.edit() as whole:
                kept = _load(whole, server)
                kept.tools = {one.name: one for one in current} | kept.tools
                kept.instructions = instructions if kept.instructions is None else kept.instructions
                _store(whole, server, kept)
        return {one.name: kept.tools[one.name] for one in current}, kept.instructions

    def approve(
        self, server: Server, definitions: Iterable[ToolDefinition], instructions: str | None = None
    ) -> None:
        """Approve *definitions*, and *instructions* if they are given. Raises
        ``StoreUnavailable``."""
        with self._file.edit() as whole:
            kept = _load(whole, server)
            kept.tools |= {one.name: one for one in definitions}
            kept.instructions = kept.instructions if instructions is None else instructions
            _store(whole, server, kept)


def _load(whole: JsonObject, server: Server) -> _Approved:
    # What cannot be read is replaced by what the server sends next.
    tools = objects_in(objects_in(whole, "servers"), server.identity)
    by_server = whole.get("words")
    stored = by_server.get(server.identity) if isinstance(by_server, dict) else None
    return _Approved(
        {name: _definition(name, one) for name, one in tools.items()},
        stored if isinstance(stored, str) else None,
    )


def _store(whole: JsonObject, server: Server, kept: _Approved) -> None:
    tools: JsonObject = {
        name: {"title": one.title, "description": one.description, "schema": one.schema}
        for name, one in kept.tools.items()
    }
    whole["servers"] = {**objects_in(whole, "servers"), server.identity: tools}
    by_server = whole.get("words")
    others = by_server if isinstance(by_server, dict) else {}
    if kept.instructions is not None:
        whole["words"] = {**others, server.identity: kept.instructions}


def _definition(name: str, kept: JsonObject) -> ToolDefinition:
    schema = kept.get("schema")
    return ToolDefinition(
        name=name,
        title=str(kept.get("title", "")),
        description=str(kept.get("description", "")),
        schema=schema if isinstance(schema, dict) else {},
    )
