"""The cost of clients of the server that follow one streaming session."""

import asyncio
import base64
import json
import subprocess

from bench.table import Row, ms
from bench.testbed import COMMAND, Testbed, cpu

MANY = 50
"""Clients that follow the session."""

LIMIT = 2.0

PACED = 300
"""Deltas of the response, one every 10 ms."""

LONGEST = 60
"""Seconds after which a response has failed."""


def event_readers(testbed: Testbed) -> list[Row]:
    """Compare the CPU time of the server for many readers of a response with that for one."""
    env = {**testbed.env, "OPENCODE_SERVER_PASSWORD": "bench"}
    server = subprocess.Popen(
        [COMMAND, "serve", "--port", "0"],
        cwd=testbed.project,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline().strip().rpartition(":")[2])
        asyncio.run(_response(port, server.pid, 1, "hello"))  # loads deferred modules
        one = min(asyncio.run(_response(port, server.pid, 1)) for _ in range(2))
        many = min(asyncio.run(_response(port, server.pid, MANY)) for _ in range(2))
    finally:
        server.terminate()
        server.wait()
    figure = f"server: {MANY} clients follow {PACED} deltas"
    return [Row(figure, f"{ms(many)} CPU", f"{ms(one)} for one", many / one, LIMIT)]


async def _response(port: int, process: int, readers: int, text: str = f"paced {PACED}") -> float:
    """Return the CPU seconds that *process* needs for one response with so many *readers*."""
    created = await _call(port, "POST", "/session", {})
    session = json.loads(created)["id"]
    streams = [await _open(port, "GET", "/event") for _ in range(readers)]
    for reader, _ in streams:
        await reader.readuntil(b"server.connected")
    before = cpu(process)
    body = {"parts": [{"type": "text", "text": text}]}
    await _call(port, "POST", f"/session/{session}/prompt_async", body)
    async with asyncio.timeout(LONGEST):
        await asyncio.gather(*(_until_idle(reader) for reader, _ in streams))
    took = cpu(process) - before
    for _, writer in streams:
        writer.close()
    return took


async def _until_idle(reader: asyncio.StreamReader) -> None:
    seen = b""
    while b'"session.idle"' not in seen:
        got = await reader.read(65_536)
        if not got:
            raise ConnectionError("the server closed the stream")
        seen = seen[-100:] + got


async def _open(
    port: int, method: str, path: str, body: object = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    login = base64.b64encode(b"opencode:bench").decode()
    data = b"" if body is None else json.dumps(body).encode()
    writer.write(
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {login}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
        f"Connection: {'close' if body is not None else 'keep-alive'}\r\n\r\n".encode()
        + data
    )
    await writer.drain()
    return reader, writer


async def _call(port: int, method: str, path: str, body: object) -> bytes:
    """Return the body of the answer."""
    reader, writer = await _open(port, method, path, body)
    answer = await reader.read()
    writer.close()
    return answer.partition(b"\r\n\r\n")[2]
