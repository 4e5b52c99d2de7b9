"""The connections to the servers of models, shared by all providers, and single requests over them.

Proxies and certificates come from the environment (``HTTPS_PROXY``, ``NO_PROXY``,
``SSL_CERT_FILE``, ``SSL_CERT_DIR``) or from a provider's own settings; connections to loopback
servers never use a proxy of the environment. This module imports httpcore2, so it is loaded only
with the first model call. Importing httpx2 on top of it would take as long again.
"""

import base64
import contextlib
import importlib
import ssl
import sys
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator, Mapping
from types import ModuleType
from typing import Any, cast
from urllib.parse import SplitResult, quote, unquote, urlsplit

from agent.provider.transport.proxies import environment_proxy, is_loopback
from agent.records.errors import ConfigError
from agent.records.frozen import frozen


class _Metadata(ModuleType):
    """Stands in for ``importlib.metadata``, which takes 10 ms to load, while httpcore2 asks it for
    its own version. Everything else gets the real module."""

    def version(self, name: str) -> str:
        return "" if name == "httpcore2" else self._real().version(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import asks for these
            raise AttributeError(name)
        return getattr(self._real(), name)

    def _real(self) -> ModuleType:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return importlib.import_module(self.__name__)


@contextlib.contextmanager
def _unused_hidden() -> Generator[None]:
    """Hide modules that httpcore2 loads and no client here uses: HTTP/2, which is 20 modules, and
    the metadata of packages. Others still find them."""
    modules = cast("dict[str, ModuleType | None]", sys.modules)
    name = "importlib.metadata"
    unused: dict[str, ModuleType | None] = {"h2": None, name: _Metadata(name)}
    hidden = {name: module for name, module in unused.items() if name not in modules}
    modules.update(hidden)
    try:
        yield
    finally:
        for name, module in hidden.items():
            if name in modules and modules[name] is module:
                del modules[name]


with _unused_hidden():
    import httpcore2

ConnectError = httpcore2.ConnectError
ConnectTimeout = httpcore2.ConnectTimeout
ProxyError = httpcore2.ProxyError

UNSENDABLE = (httpcore2.LocalProtocolError, httpcore2.UnsupportedProtocol)
"""The errors of a request whose address or headers are wrong."""

HTTP_ERRORS = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
)

KEEPALIVE = 30.0
"""Seconds that an unused connection stays open, since a step can follow the calls of another one:
a new one takes several round trips."""

PROXY_SCHEMES = frozenset({"http", "https", "socks5", "socks5h"})

_SAFE = "!$%&'()*+,/:;=?@[]~"
"""The characters of a path or query that stay as they are; a provider's own % is one."""


@frozen(kw_only=True)
class HttpRequest:
    """One request. A *url* with a user name and password sends them, as in a browser."""

    url: str
    headers: Mapping[str, str]
    method: str = "POST"
    body: bytes = b""


class HttpResponse:
    """A response whose body has not been read yet. Closing it before the end of the body closes the
    connection too."""

    def __init__(self, response: httpcore2.Response) -> None:
        self._response = response
        self.status = response.status
        self.headers = _joined(response.headers)

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_redirect(self) -> bool:
        return 300 <= self.status < 400 and "location" in self.headers

    def pieces(self) -> AsyncIterator[bytes]:
        """Return the body as it arrives, unpacked."""
        assert isinstance(self._response.stream, AsyncIterable)  # the pool is not a blocking one
        stream = aiter(self._response.stream)
        coding = self.headers.get("content-encoding", "identity").strip().lower()
        return stream if coding in {"", "identity"} else _unpacked(stream, coding)

    async def aclose(self) -> None:
        await self._response.aclose()


@frozen
class WholeResponse:
    """A response that was read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class Connections:
    """The connections to servers over one proxy, with one set of certificates."""

    def __init__(self, pool: httpcore2.AsyncConnectionPool) -> None:
        self._pool = pool

    async def send(self, request: HttpRequest, connect: float | None = None) -> HttpResponse:
        """Send *request* and return the response once its headers are here; *connect* limits the
        seconds of a connection. Raises one of ``HTTP_ERRORS``, or ``ValueError`` for an address
        or header that cannot be sent."""
        split = urlsplit(request.url)
        if split.scheme not in {"http", "https"} or not split.hostname:
            raise httpcore2.UnsupportedProtocol(f"{request.url} is not an http or https address")
        headers = [(n.encode("ascii"), v.encode("ascii")) for n, v in _headers(request, split)]
        response = await self._pool.handle_async_request(
            httpcore2.Request(
                request.method,
                httpcore2.URL(
                    scheme=split.scheme,
                    host=_host(split),
                    port=split.port,
                    target=_target(split),
                ),
                headers=headers,
                content=request.body or None,
                extensions={"timeout": {"connect": connect}},
            )
        )
        return HttpResponse(response)

    async def fetch(self, request: HttpRequest) -> WholeResponse:
        """Send *request* and return its whole response. Raises as ``send``."""
        response = await self.send(request)
        try:
            body = b"".join([piece async for piece in response.pieces()])
        finally:
            await response.aclose()
        return WholeResponse(response.status, response.headers, body)

    async def aclose(self) -> None:
        await self._pool.aclose()


def _headers(request: HttpRequest, split: SplitResult) -> Generator[tuple[str, str]]:
    names = {name.lower() for name in request.headers}
    if "host" not in names:
        port = f":{split.port}" if split.port is not None else ""
        host = _host(split).decode()
        yield "host", f"[{host}]{port}" if ":" in host else f"{host}{port}"
    if split.username and "authorization" not in names:
        login = f"{unquote(split.username)}:{unquote(split.password or '')}"
        yield "authorization", f"Basic {base64.b64encode(login.encode()).decode()}"
    if request.method == "POST":
        yield "content-length", str(len(request.body))
    yield from request.headers.items()


def _host(split: SplitResult) -> bytes:
    host = split.hostname or ""
    return host.encode("ascii") if host.isascii() else host.encode("idna")


def _target(split: SplitResult) -> bytes:
    target = quote(split.path, safe=_SAFE) or "/"
    return (f"{target}?{quote(split.query, safe=_SAFE)}" if split.query else target).encode()


def _joined(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by their names in lower case; values of the same name are joined."""
    headers: dict[str, str] = {}
    for key, value in raw:
        name, text = key.decode("ascii").lower(), value.decode("utf-8", "replace")
        headers[name] = f"{headers[name]}, {text}" if name in headers else text
    return headers


async def _unpacked(stream: AsyncIterator[bytes], coding: str) -> AsyncGenerator[bytes, None]:
    """Yield the unpacked pieces of *stream*. Only servers and proxies that ignore the request's
    ``accept-encoding`` pack one."""
    if coding not in {"gzip", "x-gzip", "deflate"}:
        raise httpcore2.RemoteProtocolError(f"it is packed as {coding}, which was not asked for")
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # with the header of zlib or gzip
    try:
        async for piece in stream:
            if unpacked := unpacker.decompress(piece):
                yield unpacked
        if rest := unpacker.flush():
            yield rest
    except zlib.error as error:
        raise httpcore2.RemoteProtocolError("it cannot be unpacked") from error


class HttpPool:
    """The connections of all providers: those of one proxy and set of certificates are shared.

    They belong to the running event loop and are created at their first use.
    """

    def __init__(self) -> None:
        self._by_route: dict[tuple[str | None, str | None, bool], Connections] = {}

    def connections(self, url: str, proxy: str | None = None, ca: str | None = None) -> Connections:
        """Return the connections to the server at *url*, over *proxy* (a URL), with *ca* (a file or
        folder of certificates).

        Raises ``ConfigError`` when one of them cannot be used.
        """
        proxy = proxy or environment_proxy(url)
        plain = not proxy and not ca and url.startswith("http://") and is_loopback(url)
        route = (proxy, ca, plain)
        if route not in self._by_route:
            try:
                # Loading the certificates of the system takes 20 ms: not for servers without TLS.
                trusted = _no_certificates() if plain else _certificates(ca)
                self._by_route[route] = Connections(_pool(proxy, trusted))
            except (OSError, ValueError) as error:
                # The proxy's address can contain a password.
                used = f"certificates in {ca}" if ca else "proxy address"
                raise ConfigError(f"The provider's {used} cannot be used: {error}") from error
        return self._by_route[route]

    async def aclose(self) -> None:
        opened = list(self._by_route.values())
        self._by_route.clear()
        for each in opened:
            await each.aclose()


def _pool(proxy: str | None, trusted: ssl.SSLContext) -> httpcore2.AsyncConnectionPool:
    if proxy is None:
        return httpcore2.AsyncConnectionPool(
            ssl_context=trusted, max_connections=None, keepalive_expiry=KEEPALIVE
        )
    split = urlsplit(proxy)
    if split.scheme not in PROXY_SCHEMES or not split.hostname:
        raise ValueError("it has to be an http, https or socks5 address")
    kind = (
        httpcore2.AsyncSOCKSProxy if split.scheme.startswith("socks") else httpcore2.AsyncHTTPProxy
    )
    login = None
    if split.username:
        login = unquote(split.username).encode(), unquote(split.password or "").encode()
    return kind(
        httpcore2.URL(
            scheme=split.scheme, host=_host(split), port=split.port, target=split.path or "/"
        ),
        proxy_auth=login,
        ssl_context=trusted,
        max_connections=None,
        keepalive_expiry=KEEPALIVE,
    )


def _no_certificates() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _certificates(ca: str | None) -> ssl.SSLContext:
    """Return a context that trusts the certificates in *ca*, None for those of the system."""
    if ca is None:
        return httpcore2.default_ssl_context()
    context = ssl.create_default_context()
    try:
        context.load_verify_locations(cafile=ca)
    except IsADirectoryError:
        context.load_verify_locations(capath=ca)
    return context
