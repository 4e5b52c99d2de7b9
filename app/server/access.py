"""Access to the server: a secret, the names that it answers to, and limits of requests.

A browser on this machine reaches every local port, so the address alone protects nothing: a page
of another origin, or of a name that was made to resolve to this machine, is refused before any
secret is compared.
"""

import asyncio
import base64
import binascii
import hmac
import secrets
from dataclasses import field
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agent.config.paths import ensure_folder
from agent.config.private_file import write_private
from agent.records.errors import ConfigError
from agent.records.frozen import frozen
from app.server.errors import error_response

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

MAX_BODY = 32_000_000
"""Bytes of a request's body: a prompt with some images fits."""

BODY_SECONDS = 60.0
"""Seconds for the whole body of a request to arrive."""

USER = "opencode"
"""The user name of the HTTP basic authentication, as in opencode."""

OPEN_PATHS = frozenset({"/", "/page.js", "/page.css"})
"""Paths that need no secret: the page, which asks for it."""


def token_file(data: Path) -> Path:
    return data / "server-token"


def load_token(data: Path) -> str:
    """Return the token in the data folder (mode 0600), made when it is first needed.

    Raises ``ConfigError`` if it cannot be written.
    """
    path = token_file(ensure_folder(data))
    try:
        if path.exists() and (token := path.read_text("utf-8").strip()):
            return token
        token = secrets.token_urlsafe(32)
        write_private(path, token + "\n")
    except OSError as error:
        raise ConfigError(f"The server's token cannot be stored in {path}: {error}.") from error
    return token


@frozen
class Access:
    """The conditions of a request."""

    secrets: frozenset[str] = field(repr=False)
    """The token and the password; empty to let every program of this machine in."""
    hosts: frozenset[str]
    """The names that the server answers to, without ports."""
    origins: frozenset[str] = frozenset()
    """Other origins whose pages can use the server, such as ``https://app.example.org``."""

    def refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Return the status code and the sentence for a request that is refused."""
        host = _host_name(headers.get("host", ""))
        if host not in self.hosts:
            return 421, f"This server does not answer to the name {host!r}."
        origin = headers.get("origin")
        if origin is not None and not self._is_allowed(origin, headers):
            hint = f": start it with --cors {origin}" if is_origin(origin) else ""
            return 403, f"Pages of {origin} cannot use this server{hint}."
        if self._needs_secret(scope) and not self._has_secret(headers):
            return 401, "Wrong or missing token: send it as the password of the user opencode."
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            return 400, "The address contains a NUL byte."
        if scope["method"] in {"POST", "PUT", "PATCH"}:
            return _refused_body(headers)
        return None

    def _is_allowed(self, origin: str, headers: Headers) -> bool:
        return origin in self.origins or urlsplit(origin).netloc == headers.get("host")

    def _needs_secret(self, scope: Scope) -> bool:
        open_path = scope["path"] in OPEN_PATHS and scope["method"] in {"GET", "HEAD"}
        return bool(self.secrets) and not open_path

    def _has_secret(self, headers: Headers) -> bool:
        return any(
            hmac.compare_digest(given.encode(), each.encode())
            for given in _given_secrets(headers)
            for each in self.secrets
        )


class AccessMiddleware:
    """Refuses requests that *access* does not admit, and bodies over ``MAX_BODY``."""

    def __init__(self, app: ASGIApp, access: Access, body_seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._access = access
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if scope["method"] == "OPTIONS" and origin in self._access.origins:
            await _answer_preflight(send, origin or "")
            return
        refused = self._access.refusal(scope, headers)
        if refused is not None:
            status, message = refused
            await error_response(status, message)(scope, receive, send)
            return
        sending = _with_cors(send, origin) if origin in self._access.origins else send
        # No endpoint reads the body of these, so no limit of it may end a stream.
        receiving = receive if scope["method"] in {"GET", "HEAD"} else self._limited(receive)
        await self._app(scope, receiving, sending)

    def _limited(self, receive: Receive) -> Receive:
        return _limited(receive, self._body_seconds)


class BodyTooLargeError(Exception):
    """A body that is longer than ``MAX_BODY``, whatever its header said."""


def _limited(receive: Receive, seconds: float) -> Receive:
    """Return *receive* with the limits of a body: its size, and *seconds* for all of it."""
    size, whole = 0, False
    end = asyncio.get_running_loop().time() + seconds

    async def limited() -> Message:
        nonlocal size, whole
        if whole:
            return await receive()  # what comes now is the end of the connection
        async with asyncio.timeout_at(end):
            message = await receive()
        size += len(message.get("body", b""))
        whole = not message.get("more_body", False)
        if size > MAX_BODY:
            raise BodyTooLargeError
        return message

    return limited


def _refused_body(headers: Headers) -> tuple[int, str] | None:
    length = headers.get("content-length", "0")
    if length.isdecimal() and int(length) > MAX_BODY:
        return 413, f"The body is longer than {MAX_BODY // 1_000_000} MB."
    # A form of another site can send text/plain without asking the browser's leave.
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in {"", "application/json"}:
        return 415, f"Bodies are JSON: send Content-Type application/json, not {kind}."
    return None


def _given_secrets(headers: Headers) -> list[str]:
    given: list[str] = []
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        given.append(rest.strip())
    elif scheme.lower() == "basic":
        try:
            user, _, password = base64.b64decode(rest, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return []
        if user == USER:
            given.append(password)
    return given


def is_origin(text: str) -> bool:
    """Return whether *text* names the origin of pages. ``null``, of sandboxed frames, is none."""
    parts = urlsplit(text)
    return parts.scheme in {"http", "https"} and text == f"{parts.scheme}://{parts.netloc}"


def _host_name(host: str) -> str:
    """Return the name in a Host header, without its port and brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


async def _answer_preflight(send: Send, origin: str) -> None:
    headers = [
        *_cors_headers(origin),
        (b"access-control-allow-methods", b"GET, POST, PUT, PATCH, DELETE"),
        (b"access-control-allow-headers", b"authorization, content-type, x-opencode-directory"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


def _with_cors(send: Send, origin: str | None) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_cors_headers(origin or "")]
        await send(message)

    return sending


def _cors_headers(origin: str) -> list[tuple[bytes, bytes]]:
    return [(b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"Origin")]
