"""Where the browser comes back to after a login: one address of this machine, once (9.2)."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

CALLBACK_PATH = "/mcp/oauth/callback"
MAX_HEAD = 16_384
"""Bytes of a request's head."""

REQUEST_TIMEOUT = 10.0
"""Seconds for a request to arrive."""

_PAGE = (
    "<!doctype html><meta charset=utf-8><title>opencode-py</title>"
    "<p style='font:16px sans-serif;margin:4em'>{}</p>"
)
DONE = "opencode-py has what it needs. You can close this page."
FAILED = "The login was not given. You can close this page."


@dataclass(frozen=True, slots=True)
class LoginCallback:
    """What the browser brought back. *error* is empty unless the login was refused."""

    code: str = ""
    state: str | None = None
    issuer: str | None = None
    error: str = ""


@dataclass(slots=True)
class CallbackServer:
    """*uri* is the exact address to come back to."""

    uri: str
    _returned: asyncio.Future[LoginCallback]

    async def returned(self) -> LoginCallback:
        """Wait for the browser."""
        return await asyncio.shield(self._returned)


@contextlib.asynccontextmanager
async def callback_server(port: int | None) -> AsyncGenerator[CallbackServer, None]:
    """Listen on *port* of the loopback address, or on any free one. Raises ``OSError``."""
    returned: asyncio.Future[LoginCallback] = asyncio.get_running_loop().create_future()
    own = ""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT):
                head = await reader.readuntil(b"\r\n\r\n")
            found = _read(head, own)
            if found is None:
                writer.write(_reply("404 Not Found", "There is nothing here."))
            else:
                writer.write(_reply("200 OK", FAILED if found.error else DONE))
                if not returned.done():
                    returned.set_result(found)
            await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, TimeoutError):
            pass  # whoever that was, it is not the browser with an answer
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port or 0, limit=MAX_HEAD)
    own = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with server:
            yield CallbackServer(f"http://{own}{CALLBACK_PATH}", returned)
    finally:
        returned.cancel()


def _read(head: bytes, own: str) -> LoginCallback | None:
    """What a request brings, None for one that is not the browser's return."""
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    hosts = [line[5:].strip() for line in lines[1:] if line.lower().startswith("host:")]
    if len(words) != 3 or words[0] != "GET" or hosts != [own]:
        return None
    target = urlsplit(words[1])
    if target.path != CALLBACK_PATH:
        return None
    given = parse_qs(target.query)

    def first(name: str) -> str | None:
        return given.get(name, [None])[0]

    error = first("error_description") or first("error") or ""
    code = first("code") or ""
    if not code and not error:
        return None
    return LoginCallback(code, first("state"), first("iss"), error)


def _reply(status: str, text: str) -> bytes:
    body = _PAGE.format(text).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\r\n"
    )
    return head.encode() + body
