"""The workshop behind a login, with its own authorization server: ``guarded.py PORT SECONDS``.

Tokens are valid for SECONDS. Everyone who opens the login page is logged in. ``GET /seen`` returns
the received requests, one per line. ``GUARDED_RIGHT`` is a scope that every call requires and the
first login does not grant. With ``GUARDED_OPEN`` only calls require a login.
"""

import os
import secrets
import sys
import time
from urllib.parse import urlencode

import uvicorn
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken
from starlette.responses import PlainTextResponse

PORT, SECONDS = int(sys.argv[1]), int(sys.argv[2])
RIGHT = os.environ.get("GUARDED_RIGHT")
BASE = f"http://127.0.0.1:{PORT}"
seen: list[str] = []


class AuthorizationServer:
    """An authorization server that keeps everything in memory."""

    def __init__(self) -> None:
        self.clients: dict = {}
        self.codes: dict = {}
        self.access: dict = {}
        self.fresh: dict = {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        seen.append(f"register {client_info.redirect_uris[0]} scope={client_info.scope}")
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        seen.append(f"authorize pkce={bool(params.code_challenge)} state={bool(params.state)}")
        code = AuthorizationCode(
            code=secrets.token_urlsafe(16),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return f"{params.redirect_uri}?{urlencode({'code': code.code, 'state': params.state})}"

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    def _give(self, client, scopes, resource):
        access, fresh = secrets.token_urlsafe(16), secrets.token_urlsafe(16)
        self.access[access] = AccessToken(
            token=access,
            client_id=client.client_id,
            scopes=scopes,
            expires_at=int(time.time()) + SECONDS,
            resource=resource,
        )
        self.fresh[fresh] = RefreshToken(
            token=fresh, client_id=client.client_id, scopes=scopes, resource=resource
        )
        return OAuthToken(access_token=access, refresh_token=fresh, expires_in=SECONDS)

    async def exchange_authorization_code(self, client, authorization_code):
        seen.append("exchange")
        del self.codes[authorization_code.code]
        scopes = authorization_code.scopes if seen.count("exchange") > 1 else []
        return self._give(client, scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.fresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        seen.append("refresh")
        del self.fresh[refresh_token.token]
        return self._give(client, scopes, refresh_token.resource)

    async def load_access_token(self, token):
        return self.access.get(token)

    async def revoke_token(self, token):
        return None


authorization = AuthorizationServer()
server = MCPServer(
    "guarded",
    auth_server_provider=authorization,
    auth=AuthSettings(
        issuer_url=BASE,
        resource_server_url=f"{BASE}/mcp",
        client_registration_options=ClientRegistrationOptions(enabled=True),
        required_scopes=[RIGHT] if RIGHT else None,
    ),
)


@server.tool(description="Tells a secret.")
def secret() -> str:
    return "the key is under the mat"


@server.custom_route("/seen", methods=["GET"])
async def tell(_):
    return PlainTextResponse("\n".join(seen))


@server.custom_route("/forget", methods=["GET"])
async def forget(request):
    authorization.access.clear()
    if "renewals" in request.query_params:
        authorization.fresh.clear()
    return PlainTextResponse("forgotten")


class Open:
    """Give requests without a login the token of a guest, except calls."""

    def __init__(self, app) -> None:
        self._app = app

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] != "http" or dict(scope["headers"]).get(b"authorization"):
            await self._app(scope, receive, send)
            return
        first = await receive()
        if b'"tools/call"' not in first.get("body", b""):
            scope["headers"].append((b"authorization", b"Bearer guest"))

        async def again():
            nonlocal first
            given, first = first, None
            return given if given is not None else await receive()

        await self._app(scope, again, send)


app = server.streamable_http_app()
if os.environ.get("GUARDED_OPEN"):
    authorization.access["guest"] = AccessToken(token="guest", client_id="guest", scopes=[])
    app = Open(app)
uvicorn.run(app, host="127.0.0.1", port=PORT)
