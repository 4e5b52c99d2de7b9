"""Which definitions of tools the user goes by (security reference, 9.2).

A server can describe a tool in one way when it is approved and in another later. The first
definition that is seen of a tool is kept; while the server tells another one, the model goes on
with what was kept, and calling it asks, whatever the rules allow.
"""

from pathlib import Path

from agent.jsontypes import JsonObject
from agent.mcp.private_file import objects_in, read_object, write_object
from agent.mcp.records import Definition, Server


class Pins:
    """The definitions that hold, in ``mcp-tools.json`` of the *data* folder (mode 0600)."""

    def __init__(self, data: Path) -> None:
        self._path = data / "mcp-tools.json"

    def check(self, server: Server, told: tuple[Definition, ...]) -> dict[str, Definition]:
        """The definition that holds of each tool that *server* tells of, by its name. Those that
        were never seen are kept as they are. Raises ``StoreUnavailable``."""
        every = self._read()
        known = every.setdefault(server.identity, {})
        new = {one.name: one for one in told if one.name not in known}
        if new:
            known.update(new)
            self._write(every)
        return {one.name: known[one.name] for one in told}

    def approve(self, server: Server, definition: Definition) -> None:
        """Go by *definition* from now on. Raises ``StoreUnavailable``."""
        every = self._read()
        every.setdefault(server.identity, {})[definition.name] = definition
        self._write(every)

    def _read(self) -> dict[str, dict[str, Definition]]:
        # Where it can't be read, what the servers tell next is what is kept.
        servers = objects_in(read_object(self._path), "servers")
        return {
            identity: {
                name: _definition(name, one) for name, one in objects_in(servers, identity).items()
            }
            for identity in servers
        }

    def _write(self, every: dict[str, dict[str, Definition]]) -> None:
        servers: JsonObject = {
            identity: {
                name: {"title": one.title, "description": one.description, "schema": one.schema}
                for name, one in tools.items()
            }
            for identity, tools in every.items()
        }
        write_object(self._path, {"servers": servers}, "What the tools of MCP servers are")


def _definition(name: str, kept: JsonObject) -> Definition:
    schema = kept.get("schema")
    return Definition(
        name=name,
        title=str(kept.get("title", "")),
        description=str(kept.get("description", "")),
        schema=schema if isinstance(schema, dict) else {},
    )
