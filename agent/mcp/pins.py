"""Which definitions of tools the user goes by (security reference, 9.2).

A server can describe a tool in one way when it is approved and in another later. The first
definition that is seen of a tool is kept; while the server tells another one, the model goes on
with what was kept, and calling it asks, whatever the rules allow.
"""

import json
import os
from pathlib import Path
from typing import cast

from agent.config.paths import ensure
from agent.errors import StoreUnavailable
from agent.jsontypes import JsonObject
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
        try:
            kept = json.loads(self._path.read_text("utf-8"))["servers"]
            return {
                str(identity): {str(name): _definition(name, one) for name, one in tools.items()}
                for identity, tools in kept.items()
            }
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return {}  # then what the servers tell next is what is kept

    def _write(self, every: dict[str, dict[str, Definition]]) -> None:
        servers = {
            identity: {
                name: {"title": one.title, "description": one.description, "schema": one.schema}
                for name, one in tools.items()
            }
            for identity, tools in every.items()
        }
        try:
            ensure(self._path.parent)
            temporary = self._path.with_suffix(f".{os.getpid()}")
            temporary.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with os.fdopen(os.open(temporary, flags, 0o600), "w", encoding="utf-8") as file:
                json.dump({"servers": servers}, file)
            temporary.replace(self._path)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise StoreUnavailable(
                f"What the tools of MCP servers are cannot be kept in {self._path}: {reason}."
            ) from error


def _definition(name: str, kept: JsonObject) -> Definition:
    schema = kept["schema"]
    return Definition(
        name=name,
        title=str(kept["title"]),
        description=str(kept["description"]),
        schema=cast("JsonObject", schema),
    )
