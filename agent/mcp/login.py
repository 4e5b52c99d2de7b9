"""Logins at remote servers: OAuth 2.1 with PKCE, by the official SDK (spec 10, X1; 9.2).

A server that was logged in at is asked with its token, which is renewed when it has expired.
Nothing opens a browser but ``log_in``, which the user asks for.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar, cast
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, TokenStorage
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from agent.errors import ToolError
from agent.jsontypes import JsonObject
from agent.mcp.loopback import Loopback, open_loopback
from agent.mcp.records import Server
from agent.mcp.tokens import TokenFile, expiry
from agent.mcp.wires import SLOWEST

Kind = TypeVar("Kind", bound=BaseModel)

Show = Callable[[str], Awaitable[None]]
"""Shows the user the address of the login, and opens it where it can."""

NOBODY = "http://127.0.0.1/mcp/oauth/callback"
"""The address to come back to where no browser is opened; it is never used."""

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


class LoginNeeded(OAuthFlowError):
    """The server wants a login, and nobody was asked to give one."""


class _Kept(TokenStorage):
    """The tokens of one server, in the file."""

    def __init__(self, file: TokenFile, server: Server) -> None:
        self._file = file
        self._server = server

    async def get_tokens(self) -> OAuthToken | None:
        return self.load("tokens", OAuthToken)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        kept = cast("JsonObject", tokens.model_dump(mode="json", exclude_none=True))
        self._file.put(self._server.url, "tokens", {**kept, "expires_at": expiry(kept)})

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        given = self._server.oauth
        if given and given.client_id:
            method = "client_secret_post" if given.client_secret else "none"
            return OAuthClientInformationFull(
                client_id=given.client_id,
                client_secret=given.client_secret,
                token_endpoint_auth_method=method,
            )
        return self.load("client", OAuthClientInformationFull)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.save("client", client_info)

    @property
    def expires_at(self) -> float | None:
        tokens = self._file.entry(self._server.url).get("tokens")
        at = tokens.get("expires_at") if isinstance(tokens, dict) else None
        return at if isinstance(at, int | float) else None

    def load(self, key: str, kind: type[Kind]) -> Kind | None:
        """What is kept under *key*, None for nothing that can be read."""
        found = self._file.entry(self._server.url).get(key)
        try:
            return kind.model_validate(found) if found else None
        except ValidationError:
            return None

    def save(self, key: str, value: BaseModel) -> None:
        kept = cast("JsonObject", value.model_dump(mode="json", exclude_none=True))
        self._file.put(self._server.url, key, kept)


class _Provider(OAuthClientProvider):
    """Knows more of what was kept: when tokens expire, and who renews them."""

    def __init__(
        self,
        server: Server,
        kept: _Kept,
        uri: str,
        show: Show,
        returned: Callable[[], Awaitable[AuthorizationCodeResult]],
        *,
        anew: bool,
    ) -> None:
        given = server.oauth
        super().__init__(
            server.url,
            OAuthClientMetadata(
                redirect_uris=[AnyUrl(uri)],
                client_name="opencode-py",
                scope=given.scope if given else None,
            ),
            kept,
            redirect_handler=show,
            callback_handler=returned,
        )
        self._kept = kept
        self._anew = anew

    async def _initialize(self) -> None:
        await super()._initialize()
        context = self.context
        if self._anew:
            # Another port is another address to come back to, which is registered anew.
            context.clear_tokens()
            given = await self._kept.get_client_info()
            context.client_info = given if given and not given.redirect_uris else None
            return
        context.token_expiry_time = self._kept.expires_at
        context.oauth_metadata = self._kept.load("server", OAuthMetadata)
        context.protected_resource_metadata = self._kept.load("resource", ProtectedResourceMetadata)
        tokens = context.current_tokens
        if tokens is not None and context.oauth_metadata is None:
            # Who renews it is not known, and it must go to nobody else.
            context.current_tokens = tokens.model_copy(update={"refresh_token": None})

    def keep(self) -> None:
        """Keep who gave the tokens."""
        for key, value in (
            ("server", self.context.oauth_metadata),
            ("resource", self.context.protected_resource_metadata),
        ):
            if value is not None:
                self._kept.save(key, value)


class Logins:
    """The logins of all servers, in the *data* folder."""

    def __init__(self, data: Path) -> None:
        self._file = TokenFile(data)

    async def auth(self, server: Server) -> httpx2.Auth | None:
        """What signs the requests to *server*, None where one is not logged in."""
        if not _can(server) or not self._file.entry(server.url).get("tokens"):
            return None

        async def refused(_: str) -> None:
            raise LoginNeeded("The server wants a login.")

        async def nothing() -> AuthorizationCodeResult:
            raise LoginNeeded("The server wants a login.")

        kept = _Kept(self._file, server)
        return _Provider(server, kept, NOBODY, refused, nothing, anew=False)

    def forget(self, server: Server) -> bool:
        """Forget a login; whether there was one. Raises ``StoreUnavailable``."""
        return self._file.remove(server.url)

    async def log_in(self, server: Server, show: Show) -> None:
        """Log in at *server*; *show* gets the address that the user has to open.

        Raises ``ToolError`` with the reason when that does not come to its end. May be cancelled.
        """
        if not _can(server):
            raise ToolError(f"The MCP server {server.name} has no login: see its settings.")
        given = server.oauth
        try:
            async with open_loopback(given.callback_port if given else None) as loopback:
                await self._log_in(server, loopback, show)
        except OSError as error:
            raise ToolError(f"The login cannot come back to this machine: {error}.") from error
        except (OAuthFlowError, httpx2.HTTPError, ValidationError) as error:
            raise ToolError(f"The login at {server.name} failed: {error}") from error

    async def _log_in(self, server: Server, loopback: Loopback, show: Show) -> None:
        async def checked(address: str) -> None:
            if urlsplit(address).scheme not in {"https", "http"}:
                raise OAuthFlowError("the server names no page to log in at")
            await show(address)

        async def returned() -> AuthorizationCodeResult:
            found = await loopback.returned()
            if found.error:
                raise OAuthFlowError(found.error)
            return AuthorizationCodeResult(code=found.code, state=found.state, iss=found.issuer)

        kept = _Kept(self._file, server)
        provider = _Provider(server, kept, loopback.uri, checked, returned, anew=True)
        status = await _ask(server, provider)
        if provider.context.current_tokens is None:
            why = f"It answered with HTTP {status} and asked for no login."
            raise ToolError(f"There is nothing to log in for at {server.name}. {why}")
        provider.keep()


def _can(server: Server) -> bool:
    """Whether logins are for it: not where the settings sign the requests themselves."""
    signed = any(name.lower() == "authorization" for name in server.headers)
    return server.remote and server.oauth is not False and not signed


async def _ask(server: Server, provider: _Provider) -> int:
    """Ask something that wants a login; the status of the last answer."""
    accept = {"Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(
        headers={**server.headers, **accept},
        timeout=httpx2.Timeout(SLOWEST),
        auth=provider,
    ) as client:
        async with client.stream("POST", server.url, json=_HELLO) as answer:
            status, session = answer.status_code, answer.headers.get("mcp-session-id")
        if provider.context.current_tokens is None and status < 400:
            # It greets everybody, and asks who wants more.
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
