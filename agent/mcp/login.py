"""Logins at remote servers: OAuth 2.1 with PKCE, by the official SDK.

Requests to a server with a login carry its token, which is renewed when it has expired. Only
``Logins.log_in``, which the user starts, opens a browser.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.shared.auth import AuthorizationCodeResult
from pydantic import ValidationError

from agent.mcp.oauth import BoundTokens, LoginProvider, ServerTokens, TokenAuth, is_web_address
from agent.mcp.records import Server
from agent.mcp.token_store import TokenStore
from agent.mcp.transports import HTTP_TIMEOUT
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.json import JsonObject

CALLBACK_PATH = "/mcp/oauth/callback"
MAX_HEAD = 16_384
"""Bytes of a request's head."""

REQUEST_TIMEOUT = 10.0
"""Seconds for a request to arrive."""

_PAGE = (
    "<!doctype html><meta charset=utf-8><title>opencode-py</title>"
    "<p style='font:16px sans-serif;margin:4em'>{}</p>"
)
DONE = "opencode-py has received the login. You can close this page."
FAILED = "The login was refused. You can close this page."


@frozen
class LoginCallback:
    """The parameters that the browser came back with."""

    code: str = ""
    state: str | None = None
    issuer: str | None = None
    error: str = ""
    """The reason why the login was refused, or empty."""


@dataclass(slots=True)
class CallbackServer:
    """The local address that the browser returns to after a login."""

    uri: str
    """The exact redirect URI."""
    _returned: asyncio.Future[LoginCallback]

    async def wait(self) -> LoginCallback:
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
            found = _parse_request(head, own)
            if found is None:
                writer.write(_reply("404 Not Found", "There is nothing here."))
            else:
                writer.write(_reply("200 OK", FAILED if found.error else DONE))
                if not returned.done():
                    returned.set_result(found)
            await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError, TimeoutError):
            pass  # not the browser with a result
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port or 0, limit=MAX_HEAD)
    own = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        async with server:
            yield CallbackServer(f"http://{own}{CALLBACK_PATH}", returned)
    finally:
        returned.cancel()


def _parse_request(head: bytes, own: str) -> LoginCallback | None:
    """Return the parameters of a request, None if it is not the browser's return."""
    lines = head.decode("latin-1").split("\r\n")
    request_line = lines[0].split(" ")
    hosts = [line[5:].strip() for line in lines[1:] if line.lower().startswith("host:")]
    if len(request_line) != 3 or request_line[0] != "GET" or hosts != [own]:
        return None
    target = urlsplit(request_line[1])
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


ShowAddress = Callable[[str], Awaitable[None]]
"""Shows the user the address of the login, and opens it where possible."""

_VERSION = "2025-06-18"
_LIST_TOOLS: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
_INITIALIZE: JsonObject = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": _VERSION,
        "capabilities": {},
        "clientInfo": {"name": "opencode-py", "version": "0"},
    },
}


class ClientCredentials(BoundTokens, ClientCredentialsOAuthProvider):
    """The login of the program itself, with the scopes of the settings where they name some."""

    async def _perform_authorization(self) -> httpx2.Request:
        scope = self._fixed_client_info.scope
        self.context.client_metadata.scope = scope or self.context.client_metadata.scope
        return await super()._perform_authorization()


class Logins:
    """The logins at all servers, stored in the *data* folder."""

    def __init__(self, data: Path) -> None:
        self._file = TokenStore(data)

    async def auth(self, server: Server) -> httpx2.Auth | None:
        """Return what signs the requests to *server*, None without a login."""
        given = server.oauth
        if server.uses_login and given and given.issuer and given.client_id and given.client_secret:
            return ClientCredentials(
                server.url,
                ServerTokens(self._file, server),
                client_id=given.client_id,
                client_secret=given.client_secret,
                scope=given.scope,
                # The secret goes nowhere else, wherever the server points.
                issuer=given.issuer,
            )
        if not server.uses_login or not self._file.entry(server.url).get("tokens"):
            return None
        return TokenAuth(server, ServerTokens(self._file, server))

    def forget(self, server: Server) -> bool:
        """Forget a login and return whether there was one. Raises ``StoreUnavailable``."""
        return self._file.remove(server.url)

    async def log_in(self, server: Server, show: ShowAddress) -> None:
        """Log in at *server*; *show* gets the address that the user has to open.

        Raises ``ToolError`` with the reason when the login does not succeed. Can be canceled.
        """
        if not server.uses_login:
            raise ToolError(f"The MCP server {server.name} does not use a login: see its settings.")
        given = server.oauth
        try:
            async with callback_server(given.callback_port if given else None) as loopback:
                await self._log_in(server, loopback, show)
        except OSError as error:
            raise ToolError(f"The browser cannot return to this program: {error}.") from error
        except (OAuthFlowError, httpx2.HTTPError, ValidationError) as error:
            raise ToolError(f"The login at {server.name} failed: {error}") from error

    async def _log_in(self, server: Server, loopback: CallbackServer, show: ShowAddress) -> None:
        async def checked(address: str) -> None:
            if not is_web_address(address):
                raise OAuthFlowError("the server did not provide a login page")
            await show(address)

        async def returned() -> AuthorizationCodeResult:
            found = await loopback.wait()
            if found.error:
                raise OAuthFlowError(found.error)
            return AuthorizationCodeResult(code=found.code, state=found.state, iss=found.issuer)

        kept = ServerTokens(self._file, server)
        provider = LoginProvider(server, kept, loopback.uri, checked, returned)
        status = await _probe(server, provider)
        if provider.context.current_tokens is None and status < 400:
            await _force_login(server, provider)
        if provider.context.current_tokens is None:
            why = f"It answered with HTTP {status} and did not request a login."
            raise ToolError(f"No login is needed at {server.name}. {why}")
        provider.save_issuer()
        self._file.drop(server.url, "wanted")


async def _probe(server: Server, provider: LoginProvider) -> int:
    """Send requests that want a login; return the status of the last response."""
    accept = {"Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(
        headers={**server.headers, **accept},
        timeout=httpx2.Timeout(HTTP_TIMEOUT),
        auth=provider,
    ) as client:
        async with client.stream("POST", server.url, json=_INITIALIZE) as response:
            status, session = response.status_code, response.headers.get("mcp-session-id")
        if provider.context.current_tokens is None:
            # Some servers answer the handshake without a login: ask for the tools too.
            headers = {"mcp-protocol-version": _VERSION}
            headers |= {"mcp-session-id": session} if session else {}
            async with client.stream(
                "POST", server.url, json=_LIST_TOOLS, headers=headers
            ) as response:
                status = response.status_code
        if session:
            await client.delete(server.url, headers={"mcp-session-id": session})
        if status in {404, 405}:  # an older server, which has only the stream of events
            async with client.stream("GET", server.url) as response:
                status = response.status_code
    return status


async def _force_login(server: Server, provider: LoginProvider) -> None:
    """Log in at a server that lets everybody in, but wants a login for some calls.

    The flow starts as if the server had refused a request. A server without OAuth metadata has no
    login.
    """
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(HTTP_TIMEOUT)) as client:
        request = client.build_request("POST", server.url)
        flow = provider.async_auth_flow(request)
        try:
            sent = await anext(flow)
            response = httpx2.Response(401, request=sent)
            while (sent := await flow.asend(response)) is not request:
                response = await client.send(sent)
        except OAuthFlowError:
            if provider.context.oauth_metadata is not None:
                raise
        finally:
            await flow.aclose()
