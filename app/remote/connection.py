"""The connection to a server that speaks opencode's HTTP API."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import cast
from urllib.parse import quote, urlsplit

import httpx2

from agent.provider.transport.proxies import is_loopback
from agent.records.errors import ConfigError, OpencodePyError, SessionNotFound
from agent.records.json import Json, JsonObject
from agent.transfer.opencode_records import dict_of, text_of

USER = "opencode"

REQUEST_SECONDS = 60.0

SILENT_SECONDS = 30.0
"""Seconds of silence after which the event stream counts as broken; it has a heartbeat."""

LONGEST_DELAY = 2.0
"""The longest time in seconds between two attempts to connect: one costs next to nothing."""

MAX_EVENT = 64_000_000
"""Bytes of one event."""


class ServerGone(OpencodePyError):
    """The server does not answer."""


class ServerRefused(OpencodePyError):
    """The server answered with an error."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def server_address(given: str) -> str:
    """Return the address in *given*, without a path. Raises ``ConfigError`` for no HTTP address."""
    try:
        parts = urlsplit(given if "://" in given else f"http://{given}")
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, valid = urlsplit(""), False
    if not valid:
        raise ConfigError(f"{given} is not the address of a server: write http://HOST:PORT.")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


class Connection:
    """Requests to the server at *address* for its folder *directory* ("" for its own)."""

    def __init__(self, address: str, secret: str, directory: str = "") -> None:
        self.address = address
        headers = {"x-opencode-directory": quote(directory)} if directory else {}
        self._client = httpx2.AsyncClient(
            base_url=address,
            auth=(USER, secret) if secret else None,
            headers=headers,
            timeout=REQUEST_SECONDS,
            trust_env=not is_loopback(address),
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def get(self, path: str, **query: str) -> Json:
        return await self._request("GET", path, params=query)

    async def post(self, path: str, body: Mapping[str, Json], *, waits: bool = False) -> Json:
        """Send *body*; with *waits* the answer can take as long as a turn."""
        timeout = httpx2.Timeout(REQUEST_SECONDS, read=None) if waits else REQUEST_SECONDS
        return await self._request("POST", path, body=body, timeout=timeout)

    async def change(self, method: str, path: str, body: Mapping[str, Json] | None = None) -> Json:
        return await self._request(method, path, body=body)

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        body: Mapping[str, Json] | None = None,
        *,
        silence: float | None = SILENT_SECONDS,
    ) -> AsyncGenerator[AsyncGenerator[JsonObject]]:
        """Follow the events that *path* answers with, to *body* if there is one. Raises
        ``ServerGone`` when the stream breaks, or is silent for *silence* seconds."""
        timeout = httpx2.Timeout(REQUEST_SECONDS, read=silence)
        method = "GET" if body is None else "POST"
        try:
            async with self._client.sse(
                path, method=method, json=body, timeout=timeout, max_event_size=MAX_EVENT
            ) as source:
                await self._raise_refusal(source.response)

                async def read() -> AsyncGenerator[JsonObject]:
                    async for event in source:
                        yield dict_of(_parsed(event.data))

                yield read()
        except httpx2.TransportError as error:
            raise self._gone() from error

    async def _request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Mapping[str, Json] | None = None,
        timeout: httpx2.Timeout | float = REQUEST_SECONDS,
    ) -> Json:
        try:
            response = await self._client.request(
                method, path, params=params, json=body, timeout=timeout
            )
        except httpx2.TransportError as error:
            raise self._gone() from error
        await self._raise_refusal(response)
        if not response.content:
            return None
        found = _parsed(response.text)
        if found is None and response.text.strip() != "null":
            raise ConfigError(f"{self.address} is not an opencode server.")
        return found

    async def _raise_refusal(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status < 300:
            return
        await response.aread()
        error = dict_of(_parsed(response.text))
        said = text_of(dict_of(error.get("data")).get("message")) or text_of(error.get("message"))
        if status == 401:
            raise ServerRefused(
                f"{self.address} rejected the token. Give the server's token or password with "
                "--password or in OPENCODE_SERVER_PASSWORD.",
                status,
            )
        if not said and "name" not in error:
            raise ConfigError(f"{self.address} is not an opencode server (it answered {status}).")
        if status == 404 and error.get("name") in {"NotFoundError", "SessionNotFound"}:
            raise SessionNotFound(said or "The server cannot find this.")
        raise ServerRefused(said or f"The server answered with an error ({status}).", status)

    def _gone(self) -> ServerGone:
        return ServerGone(
            f"The server at {self.address} does not answer. Start it with: opencode-py serve"
        )


def _parsed(text: str) -> Json:
    try:
        return cast("Json", json.loads(text))
    except ValueError:
        return None
