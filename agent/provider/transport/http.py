"""The shared HTTP client, and one streamed answer with its rules of silence (spec 1, L12a).

Proxies and certificates come from the environment (``HTTPS_PROXY``, ``NO_PROXY``,
``SSL_CERT_FILE``, ``SSL_CERT_DIR``) or from a provider's own settings; loopback servers are
always reached directly. This module imports httpx2 and is itself imported only when the first
model call is made.
"""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from math import inf
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx2

from agent.provider.transport.errors import connection_error, error_from_response
from agent.provider.transport.framing import BrokenFrame, Framing
from agent.provider.transport.sse import BodyDecoder, EventTooLong, SseEvent
from agent.records.errors import ConfigError, ProviderError, ProviderErrorKind

MAX_ERROR_BYTES = 256 * 1024
ERROR_BODY_SECONDS = 10.0
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """How long to wait, in seconds; None or infinity is without limit (spec 1, L12a).

    *first* runs from the request to the first data event and does not bind loopback servers;
    *idle* between data events (comments and other noise don't count); *after_finish* once the
    model has said that it finished and only usage or the end mark can still come.
    """

    connect: float | None = 30.0
    first_event: float | None = 600.0
    idle: float | None = 120.0
    after_finish: float | None = 10.0


def is_loopback(url: str) -> bool:
    """Whether *url* names this machine."""
    try:
        host = (urlsplit(url).hostname or "").lower()
    except ValueError:
        return False
    return host in {"localhost", "::1"} or host.startswith("127.")


class HttpPool:
    """One ``AsyncClient`` for everything, and one more for each proxy or CA of a provider's own.

    Clients belong to the running event loop and are made when first asked for.
    """

    def __init__(self) -> None:
        self._clients: dict[tuple[str | None, str | None], httpx2.AsyncClient] = {}

    def client(self, proxy: str | None = None, ca: str | None = None) -> httpx2.AsyncClient:
        """The client for *proxy* (a URL) and *ca* (a file or folder of certificates).

        Raises ``ConfigError`` when one of them cannot be used.
        """
        key = (proxy, ca)
        if key not in self._clients:
            try:
                self._clients[key] = httpx2.AsyncClient(
                    proxy=proxy,
                    verify=_certificates(ca) if ca else True,
                    mounts={} if proxy else dict.fromkeys(_direct()),
                    timeout=None,
                    limits=httpx2.Limits(max_connections=None, max_keepalive_connections=20),
                )
            except (OSError, ValueError) as error:
                # The proxy's address may hold a password.
                used = f"certificates in {ca}" if ca else "proxy address"
                raise ConfigError(f"The provider's {used} cannot be used: {error}") from error
        return self._clients[key]

    async def aclose(self) -> None:
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()


def _certificates(ca: str) -> ssl.SSLContext:
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(cafile=ca)
    except IsADirectoryError:
        context.load_verify_locations(capath=ca)
    return context


def _direct() -> tuple[str, ...]:
    return tuple(f"all://{host}" for host in LOOPBACK_HOSTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpPost:
    """What to send. *provider* is the name used in sentences; *secret* never appears in them."""

    provider: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    secret: str = ""


class StreamedResponse:
    """One POST and its streamed answer, as an async context manager.

    Entering sends the request and raises ``ProviderError`` unless the status is 2xx; ``events``
    then yields what arrives. Leaving closes the connection at once, read to its end or not.
    """

    def __init__(
        self,
        client: httpx2.AsyncClient,
        post: HttpPost,
        limits: StreamLimits,
        framing: Framing | None = None,
    ) -> None:
        self._framing = framing or BodyDecoder()
        self._client = client
        self._post = post
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        first = None if is_loopback(post.url) else limits.first_event
        self._deadline = self._after(first)
        self._waited = first
        self._response: httpx2.Response | None = None
        self._finishing = False

    async def __aenter__(self) -> Self:
        try:
            async with asyncio.timeout_at(self._deadline):
                urlsplit(self._post.url)  # raises for addresses that httpx2 would look up
                request = self._client.build_request(
                    "POST",
                    self._post.url,
                    headers=dict(self._post.headers),
                    content=self._post.body,
                    timeout=httpx2.Timeout(None, connect=self._limits.connect),
                )
                response = await self._client.send(request, stream=True)
                self._response = response
                if response.is_success:
                    return self
                body = await _head(response)
        except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError) as error:
            await self._close()
            raise self.transport_error(error) from error
        except BaseException:
            await self._close()
            raise
        await self._close()
        raise self._refusal(response, body)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        if self._response is not None:
            await self._response.aclose()

    def expect_end(self) -> None:
        """From now on wait only ``after_finish`` for more."""
        if not self._finishing:
            self._finishing = True
            self._renew()

    async def events(self) -> AsyncGenerator[SseEvent, None]:
        """The data events; or, where the body is no event stream, one named ``BODY``.

        Raises ``ProviderError`` (network) when the stream breaks or stays silent for too long.
        """
        assert self._response is not None  # only inside the context
        pieces = self._response.aiter_bytes()
        decoder = self._framing
        try:
            while (piece := await self._next(pieces)) is not None:
                events = decoder.feed(piece)
                if events:
                    self._renew()
                for event in events:
                    yield event
        except (httpx2.HTTPError, TimeoutError, EventTooLong, BrokenFrame) as error:
            raise self.transport_error(error) from error
        for event in decoder.close():
            yield event

    async def _next(self, pieces: AsyncGenerator[bytes, None]) -> bytes | None:
        async with asyncio.timeout_at(self._deadline):
            return await anext(pieces, None)

    def _renew(self) -> None:
        self._waited = self._limits.after_finish if self._finishing else self._limits.idle
        self._deadline = self._after(self._waited)

    def _after(self, seconds: float | None) -> float | None:
        return None if seconds in (None, inf) else self._loop.time() + seconds

    def _refusal(self, response: httpx2.Response, body: bytes) -> ProviderError:
        if response.is_redirect:
            target = response.headers.get("location", "another address")
            return ProviderError(
                ProviderErrorKind.INVALID_REQUEST,
                f"{self._post.provider} redirects to {target}. Set that as the base URL if it "
                "is right; the key is not sent there by itself.",
                status=response.status_code,
            )
        secret = self._post.secret.encode()
        if secret:
            body = body.replace(secret, b"***")
        return error_from_response(
            self._post.provider, response.status_code, dict(response.headers), body
        )

    def transport_error(self, error: Exception) -> ProviderError:
        """*error* of the transport as a sentence."""
        provider = self._post.provider
        if isinstance(error, TimeoutError):
            return connection_error(provider, f"nothing came for {self._waited:g} seconds")
        if isinstance(error, EventTooLong):
            return connection_error(provider, "it sent an event without end")
        if isinstance(error, BrokenFrame):
            return connection_error(provider, "it sent data that cannot be read")
        if isinstance(error, httpx2.ConnectTimeout):
            return connection_error(provider, f"{self._host()} does not answer")
        if isinstance(error, httpx2.ProxyError):
            return connection_error(provider, f"the proxy refused it ({error}); check HTTPS_PROXY")
        if isinstance(error, httpx2.ConnectError):
            return self._unreachable(error)
        if isinstance(error, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol) or not (
            isinstance(error, httpx2.HTTPError)
        ):
            return ProviderError(
                ProviderErrorKind.INVALID_REQUEST,
                f"The request to {provider} cannot be sent; check its base URL and headers: "
                f"{self._hide(str(error))}",
            )
        return connection_error(provider, "it broke off in the middle of the answer")

    def _unreachable(self, error: httpx2.ConnectError) -> ProviderError:
        host, text = self._host(), str(error)
        if "CERTIFICATE_VERIFY_FAILED" in text.upper().replace(" ", "_"):
            return ProviderError(
                ProviderErrorKind.INVALID_REQUEST,
                f"The certificate of {host} is not trusted. Behind a company proxy, name its "
                "certificate in SSL_CERT_FILE or in the provider's options.ca.",
            )
        hint = " Is the server running?" if is_loopback(self._post.url) else ""
        return connection_error(self._post.provider, f"cannot reach {host} ({text}).{hint}")

    def _host(self) -> str:
        return urlsplit(self._post.url).netloc.rpartition("@")[2]

    def _hide(self, text: str) -> str:
        return text.replace(self._post.secret, "***") if self._post.secret else text


async def _head(response: httpx2.Response) -> bytes:
    """The body of an error answer, as far as it is useful; a cut body is better than none."""
    body = bytearray()
    with contextlib.suppress(httpx2.HTTPError, TimeoutError):
        async with asyncio.timeout(ERROR_BODY_SECONDS):
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) >= MAX_ERROR_BYTES:
                    break
    return bytes(body)
