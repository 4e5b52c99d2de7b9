"""The tools of all servers in the registry, with unique names and approved definitions."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.bus import Bus
from agent.config.private_file import PrivateFile, objects_in
from agent.mcp.records import (
    READ_RESOURCE,
    Listing,
    ReadResource,
    Resource,
    Server,
    ToolCaller,
    ToolDefinition,
)
from agent.records.errors import StoreUnavailable
from agent.records.events import McpChanged, Notice
from agent.records.json import JsonObject
from agent.tools.registry import NOT_CONNECTED, Registry

if TYPE_CHECKING:
    from agent.mcp.tool import McpTool


# The approved definitions of servers' tools.
#
# A server can describe a tool in one way when it is approved and in another later. The first
# definition seen of a tool is stored. While the server sends another one, the model keeps seeing
# the stored one, and a call asks the user whatever the rules allow. The same is true of the
# server's instructions, which the user accepts or not.


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


_OTHER = re.compile(r"[^A-Za-z0-9_-]")


def safe_name(name: str) -> str:
    """Return *name* in the characters that every provider accepts."""
    return _OTHER.sub("_", name) or "_"


def tool_names(
    tools: Iterable[tuple[str, str]], builtin: Callable[[str], bool]
) -> Mapping[tuple[str, str], str]:
    """Return the name of each ``(server, tool)``: ``server_tool``.

    A name of a *builtin* tool gets ``mcp_`` in front. Where two tools would share a name, neither
    gets it, whichever came first, since a rule on it was made for one of them: two underscores
    distinguish them, or a number if that is not enough.
    """
    names = {key: f"{safe_name(key[0])}_{safe_name(key[1])}" for key in sorted(set(tools))}
    names = {key: f"mcp_{name}" if builtin(name) else name for key, name in names.items()}
    for joint in ("__", "___"):
        times = Counter(names.values())
        for key, name in list(names.items()):
            if times[name] > 1:
                names[key] = f"{safe_name(key[0])}{joint}{safe_name(key[1])}"
    used: set[str] = set()
    for key, name in names.items():
        number, unique = 1, name
        while unique in used or builtin(unique):
            number += 1
            unique = f"{name}_{number}"
        used.add(unique)
        names[key] = unique
    return names


MAX_INSTRUCTIONS = 20_000
"""Characters of all servers' instructions together that models are given."""

OWNER = "mcp"
"""The owner of all servers' tools in the registry."""


@dataclass(slots=True)
class _ServerTools:
    """The tools, instructions and resources of one server."""

    server: Server
    current: dict[str, ToolDefinition]
    """The tools as the server describes them now, by its own names."""
    approved: dict[str, ToolDefinition]
    """The tools as approved, by the same names."""
    instructions: tuple[str, str]
    """The instructions, as the server gives them now and as approved."""
    resources: tuple[Resource, ...]


class Toolbox:
    """Keeps the registry in step with what servers offer."""

    def __init__(
        self,
        registry: Registry,
        pins: ApprovedDefinitions,
        bus: Bus,
        caller: Callable[[str], ToolCaller],
        read: ReadResource,
    ) -> None:
        """*caller* returns what sends calls to a server, by its name; *read* reads a resource."""
        self._registry = registry
        self._approved = pins
        self._bus = bus
        self._caller = caller
        self._read = read
        self._servers: dict[str, _ServerTools] = {}
        self._names: dict[str, tuple[tuple[str, ToolDefinition], ...]] = {}
        self._changed: dict[str, tuple[str, ...]] = {}
        self._missing: set[str] = set()

    def names(self, server: str) -> tuple[tuple[str, ToolDefinition], ...]:
        """Return the tools of *server*, each with the name by which models know it."""
        return self._names.get(server, ())

    def changed_tools(self, server: str) -> tuple[str, ...]:
        """Return the tools of *server* whose current definition is not the approved one."""
        return self._changed.get(server, ())

    def instructions(self, server: str) -> tuple[str, str | None]:
        """Return the approved instructions of *server*, and the new ones (None for the same)."""
        entry = self._servers.get(server)
        if entry is None:
            return "", None
        current, approved = entry.instructions
        return approved, None if current == approved else current

    def set_missing(self, server: str, *, missing: bool) -> None:
        """Tell models from the next request on that *server* cannot be used, or no longer so."""
        if missing != (server in self._missing):
            self._missing ^= {server}
            self._register()

    def update(self, server: Server, listing: Listing | None) -> None:
        """Put a server's current tools in the registry; None removes them."""
        if listing is None:
            if self._servers.pop(server.name, None) is not None:
                self._register()
            return
        changed_before = self.changed_tools(server.name)
        instructions_before = self.instructions(server.name)[1]
        current = {one.name: one for one in listing.tools}
        try:
            approved, instructions = self._approved.resolve(
                server, listing.tools, listing.instructions
            )
        except StoreUnavailable as error:
            self._bus.publish(Notice(error.message))
            approved, instructions = dict(current), listing.instructions
        self._servers[server.name] = _ServerTools(
            server, current, approved, (listing.instructions, instructions), listing.resources
        )
        self._register()
        if self.instructions(server.name)[1] not in {None, instructions_before}:
            self._bus.publish(
                Notice(
                    f"The MCP server {server.name} has changed its instructions. The old "
                    "ones apply until you accept the new ones in /mcp."
                )
            )
        changed = self.changed_tools(server.name)
        if changed and changed != changed_before:
            self._bus.publish(
                Notice(
                    f"The MCP server {server.name} has changed its description of "
                    f"{', '.join(changed)}. The old one applies until you allow a call."
                )
            )

    def approve(self, server: str, definition: ToolDefinition) -> None:
        """Approve the current definition of a tool. Raises ``StoreUnavailable``."""
        entry = self._servers.get(server)
        if entry is not None:
            self._approved.approve(entry.server, (definition,))
            entry.approved[definition.name] = definition
            self._register()
            self._bus.publish(McpChanged(server))

    def accept(self, server: str) -> None:
        """Approve everything that *server* offers now. Raises ``StoreUnavailable``."""
        entry = self._servers.get(server)
        if entry is not None:
            current = entry.instructions[0]
            self._approved.approve(entry.server, entry.current.values(), current)
            entry.approved, entry.instructions = dict(entry.current), (current, current)
            self._register()
            self._bus.publish(McpChanged(server))

    def _register(self) -> None:
        from agent.mcp.tool import ResourceTool  # loads pydantic

        keys = [(server, tool) for server, entry in self._servers.items() for tool in entry.current]
        names = tool_names(
            keys, lambda name: name == READ_RESOURCE or self._registry.is_builtin_name(name)
        )
        tools = {key: self._tool(key, name) for key, name in names.items()}
        resources = [
            (name, one) for name, entry in self._servers.items() for one in entry.resources
        ]
        resource_tools = [ResourceTool(resources, self._read)] if resources else []
        self._registry.replace_tools(
            OWNER, [*tools.values(), *resource_tools], self._all_instructions()
        )
        self._names = {
            server: tuple((names[server, tool], one) for tool, one in entry.current.items())
            for server, entry in self._servers.items()
        }
        self._changed = {
            server: tuple(tool for tool in entry.current if tools[server, tool].changed)
            for server, entry in self._servers.items()
        }

    def _all_instructions(self) -> dict[str, str]:
        """Return the servers' instructions, as many as the limit allows."""
        found: dict[str, str] = {}
        for name, entry in sorted(self._servers.items()):
            text = entry.instructions[1]
            if text and sum(map(len, found.values())) + len(text) <= MAX_INSTRUCTIONS:
                found[name] = text
        return found | dict.fromkeys(sorted(self._missing), NOT_CONNECTED)

    def _tool(self, key: tuple[str, str], name: str) -> "McpTool":
        from agent.mcp.tool import McpTool  # loads pydantic

        server, tool = key
        entry = self._servers[server]
        return McpTool(
            name=name,
            server=server,
            approved=entry.approved[tool],
            current=entry.current[tool],
            caller=self._caller(server),
            approve=lambda definition: self.approve(server, definition),
        )
