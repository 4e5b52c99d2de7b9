"""A small HTTP server on the loopback interface that sends given bytes in given pieces."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

Piece = bytes | asyncio.Event


@dataclass(frozen=True)
class Reply:
    """One HTTP response."""

    pieces: tuple[Piece, ...] = ()
    """Pieces of the body, sent one by one; the server waits for an event among them."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/event-stream"),)
    cut: bool = False
    """True to drop the connection without ending the body."""

    hold: bool = False
    """True to keep the connection open after the pieces until the client disconnects."""

    stays: bool = False
    """True to keep the connection for another request."""

    forever: bytes = b""
    """A piece that is sent again and again until the client disconnects."""


@dataclass(frozen=True)
class ReceivedRequest:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Server:
    """The server. It answers a request by ``by_path``, else with the next of ``replies``."""

    port: int = 0
    replies: list[Reply] = field(default_factory=list[Reply])
    by_path: Callable[[str], Reply] | None = None
    requests: list[ReceivedRequest] = field(default_factory=list[ReceivedRequest])
    connections: int = 0
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while not writer.is_closing():
                await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.gone.set()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines)
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        method, path, _ = first.split(" ")
        self.requests.append(ReceivedRequest(method, path, headers, body))
        self.arrived.set()
        await self._send(self.by_path(path) if self.by_path else self.replies.pop(0), writer)

    async def _send(self, reply: Reply, writer: asyncio.StreamWriter) -> None:
        fields = "".join(f"{name}: {value}\r\n" for name, value in reply.headers)
        connection = "" if reply.stays else "connection: close\r\n"
        writer.write(
            f"HTTP/1.1 {reply.status} X\r\n{fields}transfer-encoding: chunked\r\n"
            f"{connection}\r\n".encode()
        )
        for number, piece in enumerate(reply.pieces):
            if isinstance(piece, asyncio.Event):
                await writer.drain()
                await piece.wait()
            elif piece:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                if number % 64 == 63:
                    await writer.drain()
        while reply.forever and not writer.is_closing():
            writer.write(b"%x\r\n%b\r\n" % (len(reply.forever), reply.forever))
            await writer.drain()
            await asyncio.sleep(0.005)
        if not reply.hold:
            if not reply.cut:
                writer.write(b"0\r\n\r\n")
            await writer.drain()
            if not reply.stays:
                writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    server = Server()
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        await server.handle(reader, writer)

    listener = await asyncio.start_server(handle, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    yield server
    listener.close()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
