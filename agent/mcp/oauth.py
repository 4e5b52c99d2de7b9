"""The SDK's OAuth client, with the stored tokens of one server."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Literal, TypeVar, cast
from urllib.parse import urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.auth.utils import extract_field_from_www_auth, is_valid_client_metadata_url
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from agent.mcp.dpop import ProofKey, binds_tokens, json_content
from agent.mcp.records import Server
from agent.mcp.token_store import TokenStore, expiry
from agent.records.json import JsonObject

Kind = TypeVar("Kind", bound=BaseModel)

Method = Literal["client_secret_basic", "client_secret_post", "none"]

UNUSED_REDIRECT = "http://127.0.0.1/mcp/oauth/callback"
"""The redirect URI where no browser is opened; it is never used."""


class ServerTokens(TokenStorage):
    """The tokens of one server, in the file of logins."""

    def __init__(self, file: TokenStore, server: Server) -> None:
        self._file = file
        self._server = server
        self.proof_key = ProofKey(file, server.url)

    async def get_tokens(self) -> OAuthToken | None:
        return self.load("tokens", OAuthToken)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        kept = cast("JsonObject", tokens.model_dump(mode="json", exclude_none=True))
        self._file.put(self._server.url, "tokens", {**kept, "expires_at": expiry(kept)})

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        given = self._server.oauth
        if given and given.client_id and not is_valid_client_metadata_url(given.client_id):
            return OAuthClientInformationFull(
                client_id=given.client_id,
                client_secret=given.client_secret,
                token_endpoint_auth_method="client_secret_basic" if given.client_secret else "none",
            )
        return self.load("client", OAuthClientInformationFull)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.save("client", client_info)

    @property
    def expires_at(self) -> float | None:
        tokens = self._file.entry(self._server.url).get("tokens")
        at = tokens.get("expires_at") if isinstance(tokens, dict) else None
        return at if isinstance(at, int | float) else None

    @property
    def missing_scopes(self) -> tuple[str, ...]:
        """The scopes that the server wanted for a call, and that the tokens do not grant."""
        entry = self._file.entry(self._server.url).get("wanted")
        scope = entry.get("scope") if isinstance(entry, dict) else None
        return tuple(scope.split()) if isinstance(scope, str) else ()

    def add_missing_scope(self, scope: str) -> None:
        """Request *scope* too when the user logs in next. Raises ``StoreUnavailable``."""
        every = dict.fromkeys((*self.missing_scopes, *scope.split()))
        self._file.put(self._server.url, "wanted", {"scope": " ".join(every)})

    def load(self, key: str, kind: type[Kind]) -> Kind | None:
        """Return the value stored under *key*, None if nothing readable is there."""
        found = self._file.entry(self._server.url).get(key)
        try:
            return kind.model_validate(found) if found else None
        except ValidationError:
            return None

    def save(self, key: str, value: BaseModel) -> None:
        kept = cast("JsonObject", value.model_dump(mode="json", exclude_none=True))
        self._file.put(self._server.url, key, kept)


class _ClientMetadata(OAuthClientMetadata):
    """The metadata of this client.

    The SDK sets ``scope`` to what the server names. The user's own choice takes its place, and the
    scopes that an earlier call lacked are added.
    """

    chosen: str | None = None
    missing: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: object) -> None:
        if name == "scope":
            scopes = (self.chosen or cast("str | None", value) or "").split()
            value = " ".join(dict.fromkeys((*scopes, *self.missing))) or None
        super().__setattr__(name, value)


class BoundTokens(OAuthClientProvider):
    """Binds the tokens of servers that support it to a key."""

    _offered = False
    """True once a server has said that it binds tokens."""

    @property
    def proof_key(self) -> ProofKey:
        return cast("ServerTokens", self.context.storage).proof_key

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super().async_auth_flow(request)
        try:
            sent = await anext(flow)
            while True:
                for_token = self._is_for_token(sent)
                proved = self._prove(sent, for_token=for_token)
                response = yield sent
                if proved and await self.proof_key.wants_nonce(response):
                    self._prove(sent, for_token=for_token)
                    response = yield sent
                if for_token:
                    response = await self._taken(response)
                elif sent is not request:
                    self._offered |= binds_tokens(await json_content(response))
                sent = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    def _header(self) -> str | None:
        """Return the header that a request with the current token has."""
        tokens = self.context.current_tokens
        scheme = "DPoP" if self.proof_key.bound else "Bearer"
        return f"{scheme} {tokens.access_token}" if tokens is not None else None

    def _add_auth_header(self, request: httpx2.Request) -> None:
        if (header := self._header()) is not None:
            request.headers["Authorization"] = header

    def _is_for_token(self, request: httpx2.Request) -> bool:
        endpoint = httpx2.URL(self._get_token_endpoint())
        return request.method == "POST" and request.url == endpoint

    def _prove(self, request: httpx2.Request, *, for_token: bool) -> bool:
        """Add the proof that *request* needs; return whether it needs one."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if for_token and (self._offered or self.proof_key.bound):
            self.proof_key.prove(request)
        elif scheme == "DPoP":
            self.proof_key.prove(request, token)
        else:
            return False
        return True

    async def _taken(self, response: httpx2.Response) -> httpx2.Response:
        """Note whether the token in *response* is bound. The SDK knows only the other kind."""
        given = await json_content(response)
        if response.status_code not in {200, 201} or "access_token" not in given:
            return response
        self.proof_key.bound = str(given.get("token_type")).lower() == "dpop"
        if not self.proof_key.bound:
            return response
        given = {**given, "token_type": "Bearer"}
        return httpx2.Response(response.status_code, json=given, request=response.request)


class LoginProvider(BoundTokens):
    """Logs in: *show* gets the address to open, *returned* gives the result of the redirect.

    The redirect *uri* differs at each login, so the client is registered anew each time.
    """

    def __init__(
        self,
        server: Server,
        kept: ServerTokens,
        uri: str,
        show: Callable[[str], Awaitable[None]],
        returned: Callable[[], Awaitable[AuthorizationCodeResult]],
    ) -> None:
        given = server.oauth
        client = given.client_id if given else None
        wishes = _ClientMetadata(
            redirect_uris=[AnyUrl(uri)],
            client_name="opencode-py",
            chosen=given.scope if given else None,
            missing=kept.missing_scopes,
        )
        super().__init__(
            server.url,
            wishes,
            kept,
            redirect_handler=show,
            callback_handler=returned,
            client_metadata_url=client if is_valid_client_metadata_url(client) else None,
        )
        self._kept = kept

    async def _initialize(self) -> None:
        await super()._initialize()
        context = self.context
        context.clear_tokens()
        given = await self._kept.get_client_info()
        context.client_info = given if given and not given.redirect_uris else None

    async def _exchange_token_authorization_code(
        self, auth_code: str, code_verifier: str
    ) -> httpx2.Request:
        set_client_auth(self.context.client_info, self.context.oauth_metadata)
        return await super()._exchange_token_authorization_code(auth_code, code_verifier)

    def save_issuer(self) -> None:
        """Store the server that issued the tokens."""
        for key, value in (
            ("server", self.context.oauth_metadata),
            ("resource", self.context.protected_resource_metadata),
        ):
            if value is not None:
                self._kept.save(key, value)


class TokenAuth(BoundTokens):
    """Signs requests with the tokens of a login, and renews them.

    It never starts a login: when a server refuses the tokens, its response is passed on.
    """

    def __init__(self, server: Server, kept: ServerTokens) -> None:
        wishes = OAuthClientMetadata(redirect_uris=[AnyUrl(UNUSED_REDIRECT)])
        super().__init__(server.url, wishes, kept)
        self._kept = kept

    async def _initialize(self) -> None:
        await super()._initialize()
        context = self.context
        context.token_expiry_time = self._kept.expires_at
        context.oauth_metadata = self._kept.load("server", OAuthMetadata)
        context.protected_resource_metadata = self._kept.load("resource", ProtectedResourceMetadata)
        set_client_auth(context.client_info, context.oauth_metadata)
        tokens = context.current_tokens
        if tokens is not None and context.oauth_metadata is None:
            # Without metadata the renewing server is unknown, and no other server must get the
            # token.
            context.current_tokens = tokens.model_copy(update={"refresh_token": None})

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        flow = super()._auth_flow(request)
        try:
            sent = await anext(flow)
            while True:
                response = yield sent
                if sent is request and response.status_code in {401, 403}:
                    break
                sent = await flow.asend(response)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()
        self._note_missing_scope(missing_scope(response))
        async with self.context.lock:
            if response.status_code == 401 and self._stale(request):
                renewed = yield await self._refresh_token()
                await self._handle_refresh_response(renewed)
        if self._header() != request.headers.get("Authorization"):
            # Also where it was not renewed: the last response is the one that counts.
            request.headers.pop("Authorization", None)
            self._add_auth_header(request)
            yield request

    def _stale(self, request: httpx2.Request) -> bool:
        """Return whether to renew the token of a *request* that was refused before it expired.

        Not if another request has renewed it meanwhile.
        """
        known = request.headers.get("Authorization") == self._header()
        return known and self.context.can_refresh_token()

    def _note_missing_scope(self, scope: str | None) -> None:
        """Request the scope that a call lacked at the next login: *scope*, or all that there
        are."""
        resource = self.context.protected_resource_metadata
        if scope == "" and resource is not None:
            scope = " ".join(resource.scopes_supported or ())
        if scope:
            self._kept.add_missing_scope(scope)


def missing_scope(response: httpx2.Response) -> str | None:
    """Return the scopes, separated by spaces, that a refused request lacked.

    Empty if they are not named; None if the request was not refused for its scopes.
    """
    if response.status_code != 403:
        return None
    if extract_field_from_www_auth(response, "error") != "insufficient_scope":
        return None
    return extract_field_from_www_auth(response, "scope") or ""


def set_client_auth(
    client: OAuthClientInformationFull | None, server: OAuthMetadata | None
) -> None:
    """Set how *client* authenticates to *server*, where the settings gave it a secret."""
    if client is None or client.redirect_uris or not client.client_secret:
        return
    takes = (server.token_endpoint_auth_methods_supported if server else None) or ()
    posted = "client_secret_post" in takes and "client_secret_basic" not in takes
    method: Method = "client_secret_post" if posted else "client_secret_basic"
    client.token_endpoint_auth_method = method


def is_web_address(address: str) -> bool:
    """Return whether a browser can be sent to *address*."""
    return urlsplit(address).scheme in {"https", "http"}
