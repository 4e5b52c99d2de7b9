"""What a login gave, kept for the next start (spec 10, X1)."""

import time
from pathlib import Path

from agent.jsontypes import JsonObject
from agent.mcp.private_file import objects_in, read_object, write_object

NAME = "mcp-auth.json"


class TokenFile:
    """The logins in the *data* folder, by the address of their server (mode 0600).

    An entry holds ``tokens`` (with ``expires_at``, seconds since the epoch), ``client``,
    ``server`` and ``resource``: what the SDK knows of the tokens, of us and of who gives them.
    ``wanted`` has the ``scope`` that a call lacked.
    """

    def __init__(self, data: Path) -> None:
        self._path = data / NAME

    def entry(self, url: str) -> JsonObject:
        """What is kept for *url*, empty for nothing."""
        return objects_in(read_object(self._path), "servers").get(url, {})

    def put(self, url: str, key: str, value: JsonObject) -> None:
        """Keep *value* under *key* of the entry. Raises ``StoreUnavailable``."""
        servers = objects_in(read_object(self._path), "servers")
        servers[url] = {**servers.get(url, {}), key: value}
        self._write(servers)

    def drop(self, url: str, key: str) -> None:
        """Keep nothing under *key* any more. Raises ``StoreUnavailable``."""
        servers = objects_in(read_object(self._path), "servers")
        if servers.get(url, {}).pop(key, None) is not None:
            self._write(servers)

    def remove(self, url: str) -> bool:
        """Forget a login; whether there was one. Raises ``StoreUnavailable``."""
        servers = objects_in(read_object(self._path), "servers")
        if servers.pop(url, None) is None:
            return False
        self._write(servers)
        return True

    def urls(self) -> tuple[str, ...]:
        """The servers that one is logged in at."""
        servers = objects_in(read_object(self._path), "servers")
        return tuple(url for url, entry in servers.items() if entry.get("tokens"))

    def _write(self, servers: dict[str, JsonObject]) -> None:
        kept: JsonObject = dict(servers)
        write_object(self._path, {"servers": kept}, "The login")


def expiry(tokens: JsonObject, now: float | None = None) -> float | None:
    """When tokens that were just given expire, None where nothing says so."""
    seconds = tokens.get("expires_in")
    if not isinstance(seconds, int | float):
        return None
    return (time.time() if now is None else now) + seconds
