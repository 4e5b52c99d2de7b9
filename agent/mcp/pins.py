"""Which definitions of tools the user goes by (security reference, 9.2).

A server can describe a tool in one way when it is approved and in another later. The first
definition that is seen of a tool is kept; while the server tells another one, the model goes on
with what was kept, and calling it asks, whatever the rules allow. The same holds for what the
server says of its tools as a whole, which the user takes or leaves.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from agent.jsontypes import JsonObject
from agent.mcp.private_file import objects_in, read_object, write_object
from agent.mcp.records import Definition, Server


@dataclass(slots=True)
class _Kept:
    """What holds, by the identity of the server: tools by their names, and its words."""

    tools: dict[str, dict[str, Definition]]
    words: dict[str, str]


class Pins:
    """The definitions that hold, in ``mcp-tools.json`` of the *data* folder (mode 0600)."""

    def __init__(self, data: Path) -> None:
        self._path = data / "mcp-tools.json"

    def check(
        self, server: Server, told: tuple[Definition, ...], words: str = ""
    ) -> tuple[dict[str, Definition], str]:
        """The definition that holds of each tool that *server* tells of, by its name, and its
        words that hold. What was never seen is kept as it is. Raises ``StoreUnavailable``."""
        kept, identity = self._read(), server.identity
        known = kept.tools.setdefault(identity, {})
        new = {one.name: one for one in told if one.name not in known}
        first = identity not in kept.words
        if new or first:
            known.update(new)
            kept.words.setdefault(identity, words)
            self._write(kept)
        return {one.name: known[one.name] for one in told}, kept.words[identity]

    def approve(
        self, server: Server, definitions: Iterable[Definition], words: str | None = None
    ) -> None:
        """Go by *definitions*, and by *words* if they are given, from now on. Raises
        ``StoreUnavailable``."""
        kept = self._read()
        known = kept.tools.setdefault(server.identity, {})
        known.update({one.name: one for one in definitions})
        if words is not None:
            kept.words[server.identity] = words
        self._write(kept)

    def _read(self) -> _Kept:
        # Where it can't be read, what the servers tell next is what is kept.
        found = read_object(self._path)
        servers, words = objects_in(found, "servers"), found.get("words")
        return _Kept(
            {
                identity: {
                    name: _definition(name, one)
                    for name, one in objects_in(servers, identity).items()
                }
                for identity in servers
            },
            {identity: str(said) for identity, said in words.items()}
            if isinstance(words, dict)
            else {},
        )

    def _write(self, kept: _Kept) -> None:
        servers: JsonObject = {
            identity: {
                name: {"title": one.title, "description": one.description, "schema": one.schema}
                for name, one in tools.items()
            }
            for identity, tools in kept.tools.items()
        }
        words: JsonObject = dict(kept.words)
        what = "What the tools of MCP servers are"
        write_object(self._path, {"servers": servers, "words": words}, what)


def _definition(name: str, kept: JsonObject) -> Definition:
    schema = kept.get("schema")
    return Definition(
        name=name,
        title=str(kept.get("title", "")),
        description=str(kept.get("description", "")),
        schema=schema if isinstance(schema, dict) else {},
    )
