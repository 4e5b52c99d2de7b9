"""A scripted model server on loopback that checks every request strictly.

Each chat request gets the next scripted response. A request that a real API would refuse gets
status 400 as there, and is kept in ``refused``, which the fixture asserts is empty.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from tests.support.dialects import Writer, dialect_of
from tests.support.script import Answer, Cut, Failure, Hold, Pause, Piece, Text, answer

Script = Answer | Callable[[dict], Answer]


@dataclass
class Request:
    """A received request. *closed* is set when the client hung up before its end."""

    path: str
    headers: dict[str, str]
    body: dict
    closed: asyncio.Event = field(default_factory=asyncio.Event)


class ModelServer:
    """Serves OpenAI chat completions at ``{url}/chat/completions``, OpenAI responses at
    ``{url}/responses``, Anthropic messages at ``{url}/messages`` and Gemini at
    ``{url}/models/{model}:streamGenerateContent``.

    After *cut_after* bytes of the next response the connection is closed, once. *chunk* splits
    responses into pieces of so many bytes. Without *strict* no body is refused: for other programs.
    """

    def __init__(self, *, chunk: int = 0, strict: bool = True) -> None:
        self._strict = strict
        self.requests: list[Request] = []
        self._received = 0
        self.refused: list[str] = []
        self.url = ""
        self._scripts: list[Script] = []
        self._always: Script | None = None
        self._chunk = chunk
        self._server: asyncio.Server | None = None
        self.cut_after: int | None = None

    def script(self, *answers: Script) -> None:
        """Give *answers* to the next requests, one each."""
        self._scripts.extend(answers)

    def replace(self, answers: tuple[Script, ...]) -> None:
        """Drop the current script and give *answers* to the next requests."""
        self._scripts[:] = answers

    def always(self, script: Script) -> None:
        """Give every request without a script of its own the result of *script*."""
        self._always = script

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            request = await _read(reader)
            if request is not None:
                self.requests.append(request)
                self._received += 1
                watch = asyncio.create_task(_watch(reader, request))
                try:
                    await self._answer(request, writer)
                except ConnectionError:
                    request.closed.set()
                    raise
                finally:
                    watch.cancel()
        with contextlib.suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        spoken = dialect_of(request.path)
        if spoken is None:
            self.refused.append(f"{request.path}: nothing is served there")
            await _send_failure(writer, Failure(404))
            return
        problems = spoken.violations(request.body, request.headers) if self._strict else []
        if problems:
            self.refused += problems
            await _send_failure(writer, spoken.refusal(problems))
            return
        script = self._scripts.pop(0) if self._scripts else self._always
        if script is None:
            script = answer(Text("(no answer was scripted)"))
        scripted = script(request.body) if callable(script) else script
        if isinstance(scripted, Failure):
            await _send_failure(writer, scripted)
            return
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
            b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        dialect = spoken.writer(request.body, self._received)
        cut, self.cut_after = self.cut_after, None
        sent = 0
        for piece in scripted:
            if isinstance(piece, Cut) or (cut is not None and sent >= cut):
                writer.transport.abort()
                return
            left = None if cut is None else cut - sent
            sent += await self._piece(piece, dialect, writer, left)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _piece(
        self, piece: Piece, dialect: Writer, writer: asyncio.StreamWriter, left: int | None
    ) -> int:
        """Send a piece, at most *left* bytes of it; return how many."""
        if isinstance(piece, Hold):
            piece.reached.set()
            await piece.gate.wait()
            return 0
        if isinstance(piece, Pause):
            await asyncio.sleep(piece.seconds)
            return 0
        whole = b"".join(dialect.write(piece))[:left]
        size = self._chunk or len(whole) or 1
        for at in range(0, len(whole), size):
            part = whole[at : at + size]
            writer.write(b"%x\r\n%s\r\n" % (len(part), part))
        await writer.drain()
        return len(whole)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(first.split(" ")[1], headers, json.loads(body or b"{}"))


async def _watch(reader: asyncio.StreamReader, request: Request) -> None:
    with contextlib.suppress(ConnectionError):  # reset, where the client has left data unread
        await reader.read(1)
    request.closed.set()


async def _send_failure(writer: asyncio.StreamWriter, failure: Failure) -> None:
    body = failure.body.encode()
    lines = [
        f"HTTP/1.1 {failure.status} Scripted",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "connection: close",
        *(f"{name}: {value}" for name, value in failure.headers),
    ]
    writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
    await writer.drain()
