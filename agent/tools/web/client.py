"""The HTTP client of the tools, with the safety rules for unknown hosts.

A name is resolved here, every address of it is checked, and the connection goes to one of these
addresses, so that no second look-up can lead elsewhere. The same applies to each redirect. No
cookies, credentials or referrer are sent. Bytes are counted after decompression.
"""

import asyncio
import contextlib
import socket
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.provider.transport.proxies import environment_proxy
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.tools.web.addresses import (
    PORTS,
    AllowedHosts,
    host_of,
    parse_address,
    parse_url,
)

if TYPE_CHECKING:  # kept off the start-up path
    import httpx2

MEGABYTE = 1024 * 1024

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
Resolve = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""Returns the addresses of a host and port, as text. Raises ``OSError``."""

Follow = Callable[["httpx2.URL"], Awaitable[None]]
"""Called before a redirect to another host is followed; raises to refuse."""


async def resolve(host: str, port: int) -> tuple[str, ...]:
    """Resolve *host* with the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))


@frozen(kw_only=True)
class WebLimits:
    """The limits of a request: *seconds* for all redirects together, without the time in which the
    user is asked, and *bytes* of the body."""

    seconds: float = 30.0
    bytes: int = 5 * MEGABYTE
    redirects: int = 5

    def variables(self) -> dict[str, str]:
        """Return the values of the slots in the description of ``webfetch``."""
        return {"max_mib": f"{self.bytes / MEGABYTE:g}", "redirects": str(self.redirects)}


@frozen(kw_only=True)
class WebResponse:
    """The response of a server. *url* is the final URL; *proxy*: a proxy fetched it."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    proxy: bool = False

    @property
    def mime(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str:
        """Return the encoding that the server names, "" without one."""
        _, _, rest = self.headers.get("content-type", "").lower().partition("charset=")
        return rest.partition(";")[0].strip(" \"'")


@dataclass(slots=True)
class _Deadline:
    """The remaining time of a request; it is paused while the user is asked."""

    seconds_left: float
    received: int = 0

    async def run(self, work: Awaitable["_Hop"]) -> "_Hop":
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.seconds_left):
                return await work
        finally:
            self.seconds_left = max(0.0, self.seconds_left - (time.monotonic() - began))


@frozen
class _Request:
    url: "httpx2.URL"
    headers: Mapping[str, str]
    body: bytes | None = None


@frozen
class _Hop:
    response: WebResponse
    location: str = ""


@frozen(kw_only=True)
class Web:
    """Fetches pages from public addresses and *allowed* ones."""

    allowed: AllowedHosts = field(default_factory=AllowedHosts)
    limits: WebLimits = field(default_factory=WebLimits)
    resolve: Resolve = resolve
    proxy_of: Callable[[str], str | None] = environment_proxy

    async def get(
        self, url: "httpx2.URL", follow: Follow, headers: Mapping[str, str], seconds: float
    ) -> WebResponse:
        """Return the page at *url* after redirects. Raises ``ToolError`` and errors of *follow*."""
        clock = _Deadline(seconds)
        try:
            for _ in range(self.limits.redirects + 1):
                hop = await clock.run(self._hop(_Request(url, headers), clock))
                if not hop.location:
                    return hop.response
                following = parse_url(str(url.join(hop.location)))
                if host_of(following) != host_of(url):
                    await follow(following)
                url = following
        except TimeoutError:
            raise ToolError(
                f"{host_of(url)} did not answer completely within {seconds:g} seconds "
                f"({clock.received:,} bytes arrived). Nothing was kept."
            ) from None
        raise ToolError(f"More than {self.limits.redirects} redirects, the last one to {url}.")

    async def request(
        self, url: "httpx2.URL", headers: Mapping[str, str], body: bytes | None, seconds: float
    ) -> WebResponse:
        """Send one request without redirects, a POST if there is a *body*. Raises ``ToolError``."""
        clock = _Deadline(seconds)
        try:
            hop = await clock.run(self._hop(_Request(url, headers, body), clock))
        except TimeoutError:
            raise ToolError(f"{host_of(url)} did not answer within {seconds:g} seconds.") from None
        if hop.location:
            raise ToolError(f"{host_of(url)} redirects elsewhere, which is not followed here.")
        return hop.response

    async def _hop(self, request: "_Request", clock: _Deadline) -> _Hop:
        url = request.url
        proxy = self.proxy_of(str(url))
        addresses = await self._addresses(url, proxied=proxy is not None)
        refused: Exception | None = None
        for address in addresses if proxy is None else (None,):
            try:
                return await self._request(request, address, proxy, clock)
            except ConnectionError as error:
                refused = error
        raise ToolError(f"{host_of(url)} cannot be reached: {refused}.")

    async def _addresses(self, url: "httpx2.URL", *, proxied: bool) -> tuple[str, ...]:
        """Return the addresses of the host. Raises ``ToolError`` if one is not allowed."""
        host = host_of(url)
        try:
            found = await self.resolve(host, url.port or PORTS[url.scheme])
        except (OSError, UnicodeError) as error:
            if proxied:
                return ()  # behind a proxy it can be that only the proxy resolves public names
            reason = getattr(error, "strerror", None) or str(error)
            raise ToolError(f"The host {host} cannot be found: {reason}.") from None
        for address in found:
            self._check_address(host, address)
        if not found:
            raise ToolError(f"The host {host} has no address.")
        return found

    def check_literal(self, url: "httpx2.URL") -> None:
        """Refuse a numeric address without a look-up, before the user is asked."""
        host = host_of(url)
        if host == "localhost":
            self._check_address(host, "127.0.0.1")
        with contextlib.suppress(ValueError):
            self._check_address(host, str(parse_address(host)))

    def _check_address(self, host: str, address: str) -> None:
        if self.allowed.permits(host, parse_address(address)):
            return
        spelled = "" if address == host else f" ({address})"
        raise ToolError(
            f"{host}{spelled} is not an address of the public internet, so it is not fetched. If "
            "the user wants it, they can list it in their settings under webfetch.allow, or you "
            "can ask for a command such as curl."
        )

    async def _request(
        self, request: "_Request", address: str | None, proxy: str | None, clock: _Deadline
    ) -> _Hop:
        """Send one request to *address* (None: through the proxy). Raises ``ConnectionError`` if
        another address can be tried."""
        import httpx2  # kept off the start-up path

        url = request.url
        sent = {"accept-encoding": "gzip, deflate", "user-agent": "opencode-py", **request.headers}
        extensions: dict[str, str] = {}
        target = url
        if address is not None:
            sent["host"] = url.netloc.decode("ascii")
            target = url.copy_with(host=address)
            if url.scheme == "https" and address != host_of(url):
                extensions["sni_hostname"] = host_of(url)
        # Certificates and the proxy can come from the environment, credentials never.
        transport = httpx2.AsyncHTTPTransport(proxy=proxy)
        try:
            async with (
                httpx2.AsyncClient(transport=transport, trust_env=False, timeout=None) as client,
                client.stream(
                    "GET" if request.body is None else "POST",
                    target,
                    headers=sent,
                    content=request.body,
                    extensions=extensions,
                ) as response,
            ):
                given = {name.lower(): value for name, value in response.headers.items()}
                if response.status_code in _REDIRECTS and given.get("location"):
                    empty = WebResponse(
                        url=str(url), status=response.status_code, headers={}, body=b""
                    )
                    return _Hop(empty, given["location"])
                body = await self._read_body(response, given, clock)
        except httpx2.ConnectError as error:
            raise ConnectionError(_error_text(error)) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
            raise ToolError(f"{host_of(url)} could not be read: {_error_text(error)}.") from None
        return _Hop(
            WebResponse(
                url=str(url),
                status=response.status_code,
                headers=given,
                body=body,
                proxy=proxy is not None,
            )
        )

    async def _read_body(
        self, response: "httpx2.Response", headers: Mapping[str, str], clock: _Deadline
    ) -> bytes:
        size = headers.get("content-length", "")
        if size.isdecimal() and int(size) > self.limits.bytes:
            raise self._too_large()
        body = bytearray()
        unpacked = _decompressed(response.aiter_raw(64 * 1024), headers, self.limits.bytes)
        async for piece in unpacked:
            body += piece
            clock.received = len(body)
            if len(body) > self.limits.bytes:
                raise self._too_large()
        return bytes(body)

    def _too_large(self) -> ToolError:
        return ToolError(
            f"The response is larger than {self.limits.bytes / MEGABYTE:g} MB. Save it to a file "
            "with a command such as curl and read that in parts."
        )


async def _decompressed(
    pieces: AsyncIterator[bytes], headers: Mapping[str, str], most: int
) -> AsyncIterator[bytes]:
    """Yield the decompressed body, at most about *most* bytes at once."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding in {"", "identity"}:
        async for piece in pieces:
            yield piece
        return
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise ToolError(f"The response is compressed as {encoding[:40]!r}, which is not supported.")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        async for piece in pieces:
            yield unpack.decompress(piece, most + 1)
            if unpack.unconsumed_tail:
                yield unpack.decompress(unpack.unconsumed_tail, most + 1)
        yield unpack.flush(64 * 1024)
    except zlib.error as error:
        raise ToolError(f"The response could not be decompressed: {error}.") from None


def _error_text(error: Exception) -> str:
    text = str(error).strip().rstrip(".")
    if "CERTIFICATE_VERIFY_FAILED" in text.upper().replace(" ", "_"):
        return "its certificate is not trusted"
    return text or type(error).__name__
