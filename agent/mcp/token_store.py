"""The file of logins: tokens and what is needed to renew them."""

import time
from pathlib import Path

from agent.config.private_file import PrivateFile, objects_in
from agent.records.json import JsonObject

FILE_NAME = "mcp-auth.json"


class TokenStore:
    """The logins in the *data* folder, by the URL of their server (mode 0600).

    An entry has ``tokens`` (with ``expires_at``, seconds since the epoch), ``client``, ``server``
    and ``resource``: the SDK's records of the tokens, the client and the issuer. ``wanted`` has the
    ``scope`` that a call lacked, ``dpop`` the ``key`` of the login and whether the tokens are
    ``bound`` to it.
    """

    def __init__(self, data: Path) -> None:
        self._file = PrivateFile(data / FILE_NAME, "The login")

    def entry(self, url: str) -> JsonObject:
        """Return the entry of *url*, empty if there is none."""
        return self._servers().get(url, {})

    def put(self, url: str, key: str, value: JsonObject) -> None:
        """Store *value* under *key* of the entry. Raises ``StoreUnavailable``."""
        with self._file.edit() as whole:
            servers = objects_in(whole, "servers")
            servers[url] = {**servers.get(url, {}), key: value}
            whole["servers"] = {**servers}

    def drop(self, url: str, key: str) -> None:
        """Remove *key* from the entry. Raises ``StoreUnavailable``."""
        if self.entry(url).get(key) is None:
            return
        with self._file.edit() as whole:
            servers = objects_in(whole, "servers")
            servers.get(url, {}).pop(key, None)
            whole["servers"] = {**servers}

    def remove(self, url: str) -> bool:
        """Remove an entry and return whether there was one. Raises ``StoreUnavailable``."""
        if url not in self._servers():
            return False
        with self._file.edit() as whole:
            servers = objects_in(whole, "servers")
            gone = servers.pop(url, None) is not None
            whole["servers"] = {**servers}
        return gone

    def urls(self) -> tuple[str, ...]:
        """Return the servers with a login."""
        return tuple(url for url, entry in self._servers().items() if entry.get("tokens"))

    def _servers(self) -> dict[str, JsonObject]:
        return objects_in(self._file.read(), "servers")


def expiry(tokens: JsonObject, now: float | None = None) -> float | None:
    """Return when tokens that were just issued expire, None if they do not say so."""
    seconds = tokens.get("expires_in")
    if not isinstance(seconds, int | float):
        return None
    return (time.time() if now is None else now) + seconds
