"""A small HTTP server on loopback whose every byte a test decides."""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

Handler = Callable[["ReceivedRequest", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class ReceivedRequest:
    """A received request. *gone* is set when the client hung up."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    gone: asyncio.Event = field(default_factory=asyncio.Event)


def page(
    body: bytes | str,
    mime: str = "text/html; charset=utf-8",
    *,
    status: int = 200,
    length: bool = True,
    **headers: str,
) -> Handler:
    """Respond with *body*; without *length* the end of the connection ends it."""
    data = body.encode() if isinstance(body, str) else body

    async def answer(_: ReceivedRequest, writer: asyncio.StreamWriter) -> None:
        more = {"content-type": mime, **{k.replace("_", "-"): v for k, v in headers.items()}}
        if length:
            more["content-length"] = str(len(data))
        lines = [f"HTTP/1.1 {status} Said", "connection: close"]
        lines += [f"{name}: {value}" for name, value in more.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        for at in range(0, len(data), 65536):
            writer.write(data[at : at + 65536])
            await writer.drain()

    return answer


def redirect(where: str, status: int = 302) -> Handler:
    return page(b"", status=status, location=where)


class WebServer:
    """A server of *pages* by path; keeps the received requests."""

    def __init__(self, pages: dict[str, Handler], *, tls: ssl.SSLContext | None = None) -> None:
        self.pages = pages
        self._tls = tls
        self.requests: list[ReceivedRequest] = []
        self.port = 0
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.split("\r\n")
            headers = {
                k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)
            }
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            method, path, _ = first.split(" ")
            request = ReceivedRequest(method, path, headers, body)
            self.requests.append(request)
            watching = asyncio.create_task(_watch(reader, request))
            try:
                handler = self.pages.get(path.partition("?")[0], page("no such page", status=404))
                await handler(request, writer)
            except ConnectionError:
                request.gone.set()
            finally:
                watching.cancel()
        with contextlib.suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()


async def _watch(reader: asyncio.StreamReader, request: ReceivedRequest) -> None:
    with contextlib.suppress(ConnectionError):
        await reader.read(1)
        request.gone.set()
