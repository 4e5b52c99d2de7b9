"""Logins at remote servers: OAuth 2.1 with PKCE, by the official SDK (spec 10, X1; 9.2).

A server that was logged in at is asked with its token, which is renewed when it has expired.
Nothing opens a browser but ``log_in``, which the user asks for.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx2
from mcp.client.auth import OAuthFlowError
from mcp.shared.auth import AuthorizationCodeResult
from pydantic import ValidationError

from agent.mcp.loopback import CallbackServer, callback_server
from agent.mcp.oauth import LoginProvider, ServerTokens, TokenAuth, is_web_address
from agent.mcp.records import Server
from agent.mcp.tokens import TokenStore
from agent.mcp.transports import HTTP_TIMEOUT
from agent.records.errors import ToolError
from agent.records.json import JsonObject

ShowAddress = Callable[[str], Awaitable[None]]
"""Shows the user the address of the login, and opens it where it can."""

_VERSION = "2025-06-18"
_LIST: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
_HELLO: JsonObject = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": _VERSION,
        "capabilities": {},
        "clientInfo": {"name": "opencode-py", "version": "0"},
    },
}


class Logins:
    """The logins of all servers, in the *data* folder."""

    def __init__(self, data: Path) -> None:
        self._file = TokenStore(data)

    async def auth(self, server: Server) -> httpx2.Auth | None:
        """What signs the requests to *server*, None where one is not logged in."""
        if not server.logs_in or not self._file.entry(server.url).get("tokens"):
            return None
        return TokenAuth(server, ServerTokens(self._file, server))

    def forget(self, server: Server) -> bool:
        """Forget a login; whether there was one. Raises ``StoreUnavailable``."""
        return self._file.remove(server.url)

    async def log_in(self, server: Server, show: ShowAddress) -> None:
        """Log in at *server*; *show* gets the address that the user has to open.

        Raises ``ToolError`` with the reason when that does not come to its end. May be cancelled.
        """
        if not server.logs_in:
            raise ToolError(f"The MCP server {server.name} has no login: see its settings.")
        given = server.oauth
        try:
            async with callback_server(given.callback_port if given else None) as loopback:
                await self._log_in(server, loopback, show)
        except OSError as error:
            raise ToolError(f"The login cannot come back to this machine: {error}.") from error
        except (OAuthFlowError, httpx2.HTTPError, ValidationError) as error:
            raise ToolError(f"The login at {server.name} failed: {error}") from error

    async def _log_in(self, server: Server, loopback: CallbackServer, show: ShowAddress) -> None:
        async def checked(address: str) -> None:
            if not is_web_address(address):
                raise OAuthFlowError("the server names no page to log in at")
            await show(address)

        async def returned() -> AuthorizationCodeResult:
            found = await loopback.returned()
            if found.error:
                raise OAuthFlowError(found.error)
            return AuthorizationCodeResult(code=found.code, state=found.state, iss=found.issuer)

        kept = ServerTokens(self._file, server)
        provider = LoginProvider(server, kept, loopback.uri, checked, returned)
        status = await _ask(server, provider)
        if provider.context.current_tokens is None and status < 400:
            await _insist(server, provider)
        if provider.context.current_tokens is None:
            why = f"It answered with HTTP {status} and asked for no login."
            raise ToolError(f"There is nothing to log in for at {server.name}. {why}")
        provider.keep()
        self._file.drop(server.url, "wanted")


async def _ask(server: Server, provider: LoginProvider) -> int:
    """Ask something that wants a login; the status of the last answer."""
    accept = {"Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(
        headers={**server.headers, **accept},
        timeout=httpx2.Timeout(HTTP_TIMEOUT),
        auth=provider,
    ) as client:
        async with client.stream("POST", server.url, json=_HELLO) as answer:
            status, session = answer.status_code, answer.headers.get("mcp-session-id")
        if provider.context.current_tokens is None:
            # It greets everybody, or nobody in these words, and asks who wants more.
            headers = {"mcp-protocol-version": _VERSION}
            headers |= {"mcp-session-id": session} if session else {}
            async with client.stream("POST", server.url, json=_LIST, headers=headers) as answer:
                status = answer.status_code
        if session:
            await client.delete(server.url, headers={"mcp-session-id": session})
        if status in {404, 405}:  # an older server: only its stream of events is there
            async with client.stream("GET", server.url) as answer:
                status = answer.status_code
    return status


async def _insist(server: Server, provider: LoginProvider) -> None:
    """Log in at a server that lets everybody in, and wants to know who it is for some calls: as
    if it had refused. Where it tells of no login there is none."""
    async with httpx2.AsyncClient(timeout=httpx2.Timeout(HTTP_TIMEOUT)) as client:
        request = client.build_request("POST", server.url)
        flow = provider.async_auth_flow(request)
        try:
            asked = await anext(flow)
            answer = httpx2.Response(401, request=asked)
            while (asked := await flow.asend(answer)) is not request:
                answer = await client.send(asked)
        except OAuthFlowError:
            if provider.context.oauth_metadata is not None:
                raise
        finally:
            await flow.aclose()
