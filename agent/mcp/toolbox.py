"""The tools of all servers, named and in the registry, by the definitions that hold (X3)."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from agent.bus import Bus
from agent.mcp.approvals import ApprovedDefinitions
from agent.mcp.records import Listing, Resource, Server, ToolDefinition
from agent.mcp.resource_tool import NAME, ReadResource, ResourceTool
from agent.mcp.tool import McpTool, ToolCaller
from agent.records.errors import StoreUnavailable
from agent.records.events import McpChanged, Notice
from agent.tools.registry import Registry

_OTHER = re.compile(r"[^A-Za-z0-9_-]")


def safe_name(name: str) -> str:
    """*name* in the alphabet that every provider takes."""
    return _OTHER.sub("_", name) or "_"


def tool_names(
    tools: Iterable[tuple[str, str]], builtin: Callable[[str], bool]
) -> Mapping[tuple[str, str], str]:
    """The name of each ``(server, tool)``: ``server_tool``.

    What would mean a tool that is *builtin* gets ``mcp_`` in front. Where two would have one
    name, neither gets it, whoever was there first: a rule on it was made for one of them. They
    are told apart by two underscores, and by a number if that is not enough.
    """
    wanted = {key: f"{safe_name(key[0])}_{safe_name(key[1])}" for key in sorted(set(tools))}
    wanted = {key: f"mcp_{name}" if builtin(name) else name for key, name in wanted.items()}
    for joint in ("__", "___"):
        times = Counter(wanted.values())
        for key, name in list(wanted.items()):
            if times[name] > 1:
                wanted[key] = f"{safe_name(key[0])}{joint}{safe_name(key[1])}"
    used: set[str] = set()
    for key, name in wanted.items():
        number, unique = 1, name
        while unique in used or builtin(unique):
            number += 1
            unique = f"{name}_{number}"
        used.add(unique)
        wanted[key] = unique
    return wanted


MAX_INSTRUCTIONS = 20_000
"""Characters of what all servers together say that models are told."""

OWNER = "mcp"
"""The owner of all servers' tools in the registry."""


@dataclass(slots=True)
class _ServerTools:
    """What one server offers: its tools by their own names, and its *words*, each as told and
    as approved."""

    server: Server
    told: dict[str, ToolDefinition]
    holds: dict[str, ToolDefinition]
    words: tuple[str, str]
    resources: tuple[Resource, ...]


class Toolbox:
    """*caller* gives what reaches a server, by its name; *read* reads a resource of one."""

    def __init__(
        self,
        registry: Registry,
        pins: ApprovedDefinitions,
        bus: Bus,
        caller: Callable[[str], ToolCaller],
        read: ReadResource,
    ) -> None:
        self._registry = registry
        self._pins = pins
        self._bus = bus
        self._caller = caller
        self._read = read
        self._held: dict[str, _ServerTools] = {}
        self._names: dict[str, tuple[tuple[str, ToolDefinition], ...]] = {}
        self._changed: dict[str, tuple[str, ...]] = {}

    def names(self, server: str) -> tuple[tuple[str, ToolDefinition], ...]:
        """The tools of *server*, each with the name by which models know it."""
        return self._names.get(server, ())

    def changed(self, server: str) -> tuple[str, ...]:
        """The tools of *server* that it describes in another way than the one that holds."""
        return self._changed.get(server, ())

    def words(self, server: str) -> tuple[str, str | None]:
        """What models are told of *server* as a whole, and what it says instead now, None for
        the same."""
        held = self._held.get(server)
        if held is None:
            return "", None
        told, holds = held.words
        return holds, None if told == holds else told

    def take(self, server: Server, offer: Listing | None) -> None:
        """Put a server's tools in the registry as they are now; None for none any more."""
        if offer is None:
            if self._held.pop(server.name, None) is not None:
                self._register()
            return
        before, heard = self.changed(server.name), self.words(server.name)[1]
        told = {one.name: one for one in offer.tools}
        try:
            holds, words = self._pins.check(server, offer.tools, offer.words)
        except StoreUnavailable as error:
            self._bus.publish(Notice(error.message))
            holds, words = dict(told), offer.words
        said = (offer.words, words)
        self._held[server.name] = _ServerTools(server, told, holds, said, offer.resources)
        self._register()
        if self.words(server.name)[1] not in {None, heard}:
            self._bus.publish(
                Notice(
                    f"The MCP server {server.name} gives other instructions than before. The old "
                    "ones hold until you accept the new ones, in /mcp."
                )
            )
        changed = self.changed(server.name)
        if changed and changed != before:
            self._bus.publish(
                Notice(
                    f"The MCP server {server.name} describes {', '.join(changed)} in another way "
                    "than before. The old words hold until a call of it is allowed."
                )
            )

    def approve(self, server: str, definition: ToolDefinition) -> None:
        """Go by what *server* says of a tool now. Raises ``StoreUnavailable``."""
        held = self._held.get(server)
        if held is not None:
            self._pins.approve(held.server, (definition,))
            held.holds[definition.name] = definition
            self._register()
            self._bus.publish(McpChanged(server))

    def accept(self, server: str) -> None:
        """Go by all that *server* says now. Raises ``StoreUnavailable``."""
        held = self._held.get(server)
        if held is not None:
            told = held.words[0]
            self._pins.approve(held.server, held.told.values(), told)
            held.holds, held.words = dict(held.told), (told, told)
            self._register()
            self._bus.publish(McpChanged(server))

    def _register(self) -> None:
        keys = [(server, tool) for server, held in self._held.items() for tool in held.told]
        names = tool_names(keys, lambda name: name == NAME or self._registry.is_builtin_name(name))
        tools = {key: self._tool(key, name) for key, name in names.items()}
        resources = [(name, one) for name, held in self._held.items() for one in held.resources]
        reading = [ResourceTool(resources, self._read)] if resources else []
        self._registry.replace_tools(OWNER, [*tools.values(), *reading], self._spoken())
        self._names = {
            server: tuple((names[server, tool], one) for tool, one in held.told.items())
            for server, held in self._held.items()
        }
        self._changed = {
            server: tuple(tool for tool in held.told if tools[server, tool].changed)
            for server, held in self._held.items()
        }

    def _spoken(self) -> dict[str, str]:
        """What the servers say, as far as there is room for it."""
        spoken: dict[str, str] = {}
        for name, held in sorted(self._held.items()):
            text = held.words[1]
            if text and sum(map(len, spoken.values())) + len(text) <= MAX_INSTRUCTIONS:
                spoken[name] = text
        return spoken

    def _tool(self, key: tuple[str, str], name: str) -> McpTool:
        server, tool = key
        held = self._held[server]
        return McpTool(
            name=name,
            server=server,
            holds=held.holds[tool],
            told=held.told[tool],
            caller=self._caller(server),
            approve=lambda definition: self.approve(server, definition),
        )
