"""What a login gave, kept for the next start (spec 10, X1)."""

import time
from pathlib import Path

from agent.config.private_file import PrivateFile, objects_in
from agent.records.json import JsonObject

FILE_NAME = "mcp-auth.json"


class TokenStore:
    """The logins in the *data* folder, by the address of their server (mode 0600).

    An entry holds ``tokens`` (with ``expires_at``, seconds since the epoch), ``client``,
    ``server`` and ``resource``: what the SDK knows of the tokens, of us and of who gives them.
    ``wanted`` has the ``scope`` that a call lacked.
    """

    def __init__(self, data: Path) -> None:
        self._file = PrivateFile(data / FILE_NAME, "The login")

    def entry(self, url: str) -> JsonObject:
        """What is kept for *url*, empty for nothing."""
        return self._servers().get(url, {})

    def put(self, url: str, key: str, value: JsonObject) -> None:
        """Keep *value* under *key* of the entry. Raises ``StoreUnavailable``."""
        with self._file.changing() as whole:
            servers = objects_in(whole, "servers")
            servers[url] = {**servers.get(url, {}), key: value}
            whole["servers"] = {**servers}

    def drop(self, url: str, key: str) -> None:
        """Keep nothing under *key* any more. Raises ``StoreUnavailable``."""
        if self.entry(url).get(key) is None:
            return
        with self._file.changing() as whole:
            servers = objects_in(whole, "servers")
            servers.get(url, {}).pop(key, None)
            whole["servers"] = {**servers}

    def remove(self, url: str) -> bool:
        """Forget a login; whether there was one. Raises ``StoreUnavailable``."""
        if url not in self._servers():
            return False
        with self._file.changing() as whole:
            servers = objects_in(whole, "servers")
            gone = servers.pop(url, None) is not None
            whole["servers"] = {**servers}
        return gone

    def urls(self) -> tuple[str, ...]:
        """The servers that one is logged in at."""
        return tuple(url for url, entry in self._servers().items() if entry.get("tokens"))

    def _servers(self) -> dict[str, JsonObject]:
        return objects_in(self._file.read(), "servers")


def expiry(tokens: JsonObject, now: float | None = None) -> float | None:
    """When tokens that were just given expire, None where nothing says so."""
    seconds = tokens.get("expires_in")
    if not isinstance(seconds, int | float):
        return None
    return (time.time() if now is None else now) + seconds
