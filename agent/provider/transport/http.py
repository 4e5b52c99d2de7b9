"""One streamed response with its timeouts, and the rate limits in its headers.

It imports httpcore2 (see ``connections``), so it is loaded only with the first model call.
"""

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from datetime import datetime
from math import inf
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from agent.provider.transport.connections import (
    HTTP_ERRORS,
    UNSENDABLE,
    ConnectError,
    Connections,
    ConnectTimeout,
    HttpRequest,
    HttpResponse,
    ProxyError,
)
from agent.provider.transport.errors import connection_error, error_from_response
from agent.provider.transport.framing import (
    BodyDecoder,
    BrokenFrame,
    EventTooLong,
    Framing,
    SseEvent,
)
from agent.provider.transport.proxies import is_loopback
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.frozen import frozen
from agent.records.spending import RateLimit

MAX_ERROR_BYTES = 256 * 1024
ERROR_BODY_SECONDS = 10.0


@frozen
class StreamLimits:
    """The timeouts of a stream in seconds; None or infinity is without limit."""

    connect: float | None = 30.0
    first_event: float | None = 600.0
    """From the request to the first data event. It does not apply to loopback servers."""

    first_event_anywhere: float | None = None
    """The same where the user has set a limit, for loopback servers too."""

    idle: float | None = 120.0
    """Between data events; comments do not count."""

    after_finish: float | None = 10.0
    """After the finish reason, when only usage or the end mark can still come."""

    after_end: float = 0.05
    """After the last event, for the end of the body: only then can the connection be used again."""

    def first_event_limit(self, url: str) -> float | None:
        """Return the limit of the first event from the server at *url*."""
        if self.first_event_anywhere is not None:
            return self.first_event_anywhere
        return None if is_loopback(url) else self.first_event


@frozen(kw_only=True)
class HttpPost:
    """One POST request."""

    provider: str
    """The provider's name in error messages."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    secret: str = ""
    """The key, which is hidden in error messages."""


class StreamedResponse:
    """One POST and its streamed response, as an async context manager.

    Entering sends the request and raises ``ProviderError`` unless the status is 2xx; ``events``
    then yields the events that arrive. Leaving closes the connection at once, even if the body
    was not read to its end.
    """

    def __init__(
        self,
        http: Connections,
        post: HttpPost,
        limits: StreamLimits,
        framing: Framing | None = None,
        on_headers: Callable[[Mapping[str, str]], None] | None = None,
    ) -> None:
        """*on_headers* gets the headers of the response, whatever its status."""
        self._on_headers = on_headers
        self._framing = framing or BodyDecoder()
        self._http = http
        self._post = post
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        first = limits.first_event_limit(post.url)
        self._deadline = Deadline(self._deadline_after(first))
        self._waited = first
        self._response: HttpResponse | None = None
        self._pieces: AsyncIterator[bytes] | None = None
        self._finishing = False

    async def __aenter__(self) -> Self:
        try:
            with self._deadline:
                post = self._post
                request = HttpRequest(url=post.url, headers=post.headers, body=post.body)
                response = await self._http.send(request, self._limits.connect)
                self._response = response
                if self._on_headers is not None:
                    self._on_headers(response.headers)
                if response.is_success:
                    return self
                body = await _read_error_body(response)
        except (*HTTP_ERRORS, TimeoutError, ValueError) as error:
            await self._close()
            raise self.transport_error(error) from error
        except BaseException:
            await self._close()
            raise
        await self._close()
        raise self._response_error(response, body)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        self._deadline.close()
        if self._response is not None:
            await self._response.aclose()

    def expect_end(self) -> None:
        """Wait only ``after_finish`` for further events."""
        if not self._finishing:
            self._finishing = True
            self._reset_deadline()

    async def events(self) -> AsyncGenerator[SseEvent, None]:
        """Yield the data events; or one named ``BODY`` if the body is no event stream.

        Raises ``ProviderError`` (network) when the stream breaks or a timeout expires.
        """
        assert self._response is not None  # only inside the context
        pieces = self._pieces = self._response.pieces()
        decoder = self._framing
        try:
            while True:
                with self._deadline:
                    piece = await anext(pieces, None)
                if piece is None:
                    break
                events = decoder.feed(piece)
                if events:
                    self._reset_deadline()
                for event in events:
                    yield event
        except (*HTTP_ERRORS, TimeoutError, EventTooLong, BrokenFrame) as error:
            raise self.transport_error(error) from error
        for event in decoder.close():
            yield event

    async def read_end(self) -> None:
        """Read what follows the last event, which is the end of the body if it comes soon."""
        if self._pieces is not None:
            with contextlib.suppress(*HTTP_ERRORS, TimeoutError):
                async with asyncio.timeout(self._limits.after_end):
                    async for _ in self._pieces:
                        pass

    def _reset_deadline(self) -> None:
        self._waited = self._limits.after_finish if self._finishing else self._limits.idle
        self._deadline.move(self._deadline_after(self._waited))

    def _deadline_after(self, seconds: float | None) -> float | None:
        return None if seconds in (None, inf) else self._loop.time() + seconds

    def _response_error(self, response: HttpResponse, body: bytes) -> ProviderError:
        if response.is_redirect:
            target = response.headers.get("location", "another address")
            return ProviderError(
                ProviderErrorKind.INVALID_REQUEST,
                f"{self._post.provider} redirects to {target}. Set that as the base URL if it "
                "is right; the key is not sent there automatically.",
                status=response.status,
            )
        secret = self._post.secret.encode()
        if secret:
            body = body.replace(secret, b"***")
        return error_from_response(self._post.provider, response.status, response.headers, body)

    def transport_error(self, error: Exception) -> ProviderError:
        """Return the provider error for *error* of the transport."""
        provider = self._post.provider
        if isinstance(error, TimeoutError):
            return connection_error(provider, f"no data for {self._waited:g} seconds")
        if isinstance(error, EventTooLong):
            return connection_error(provider, "it sent an event that never ended")
        if isinstance(error, BrokenFrame):
            return connection_error(provider, "it sent data that cannot be read")
        if isinstance(error, ConnectTimeout):
            return connection_error(provider, f"{self._host()} does not answer")
        if isinstance(error, ProxyError):
            return connection_error(provider, f"the proxy refused it ({error}); check HTTPS_PROXY")
        if isinstance(error, ConnectError):
            return self._connect_error(error)
        if isinstance(error, UNSENDABLE) or not isinstance(error, HTTP_ERRORS):
            return ProviderError(
                ProviderErrorKind.INVALID_REQUEST,
                f"The request to {provider} cannot be sent; check its base URL and headers: "
                f"{self._hide(str(error))}",
            )
        return connection_error(provider, "it broke off in the middle of the response")

    def _connect_error(self, error: Exception) -> ProviderError:
        host, text = self._host(), str(error)
        if "CERTIFICATE_VERIFY_FAILED" in text.upper().replace(" ", "_"):
            return ProviderError(
                ProviderErrorKind.INVALID_REQUEST,
                f"The certificate of {host} is not trusted. Behind a company proxy, name its "
                "certificate in SSL_CERT_FILE or in the provider's options.ca.",
            )
        hint = " Is the server running?" if is_loopback(self._post.url) else ""
        return connection_error(self._post.provider, f"cannot reach {host} ({text}).{hint}")

    def _host(self) -> str:
        return urlsplit(self._post.url).netloc.rpartition("@")[2]

    def _hide(self, text: str) -> str:
        return text.replace(self._post.secret, "***") if self._post.secret else text


async def _read_error_body(response: HttpResponse) -> bytes:
    """Return the start of an error response's body; an incomplete one is better than none."""
    body = bytearray()
    with contextlib.suppress(*HTTP_ERRORS, TimeoutError):
        async with asyncio.timeout(ERROR_BODY_SECONDS):
            async for piece in response.pieces():
                body += piece
                if len(body) >= MAX_ERROR_BYTES:
                    break
    return bytes(body)


# A deadline for the waits of a stream.


class Deadline:
    """Limits the waits within ``with deadline:``, which raises ``TimeoutError`` once the time has
    come: *at* on the clock of the event loop, None for never.

    ``asyncio.timeout`` sets and cancels a timer in each wait, a twelfth of the cost of a stream at
    full speed. Here one timer follows the deadline, however often it moves.
    """

    def __init__(self, at: float | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._at = at
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[object] | None = None
        self._cancelling = 0
        """The requests to cancel the waiting task that are not from here."""
        self._expired = False

    def move(self, at: float | None) -> None:
        """Set another time."""
        self._at = at
        if self._timer is not None and at is not None and at < self._timer.when():
            self.close()

    def close(self) -> None:
        """End the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __enter__(self) -> None:
        self._waiting = asyncio.current_task()
        assert self._waiting is not None  # only tasks wait
        self._cancelling = self._waiting.cancelling()
        self._set_timer()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task, self._waiting = self._waiting, None
        if task is not None and self._expired:
            self._expired = False
            if task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
                raise TimeoutError from error

    def _set_timer(self) -> None:
        if self._timer is None and self._at is not None:
            self._timer = self._loop.call_at(self._at, self._check)

    def _check(self) -> None:
        self._timer = None
        if self._waiting is None or self._at is None:
            return
        if self._loop.time() < self._at:
            self._set_timer()
        else:
            self._expired = True
            self._waiting.cancel()


# Rate limits and plans, read from the headers of a response.

_PATTERNS = (
    re.compile(r"anthropic-ratelimit-(?:unified-)?(?P<name>.+)-(?P<field>limit|remaining|reset)"),
    re.compile(r"anthropic-ratelimit-unified-(?P<name>.+)-(?P<field>utilization)"),
    re.compile(r"x-ratelimit-(?P<field>limit|remaining|reset)-(?P<name>.+)"),
    re.compile(r"(?:x-)?ratelimit-(?P<field>limit|remaining|reset)(?P<name>)"),
    re.compile(
        r"x-codex-(?P<name>primary|secondary)-"
        r"(?P<field>used-percent|window-minutes|reset-at|reset-after-seconds)"
    ),
)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}

_EPOCH, _EPOCH_MILLISECONDS = 1e8, 1e11
"""The numbers from which on a time is no duration, and from which on it is in milliseconds."""


def parse_rate_limits(headers: Mapping[str, str], received: float) -> tuple[RateLimit, ...]:
    """Return the limits in *headers*, of a response that was *received* then."""
    found: dict[str, dict[str, str]] = {}
    for header, value in headers.items():
        for pattern in _PATTERNS:
            if match := pattern.fullmatch(header.lower()):
                found.setdefault(match["name"], {}).setdefault(match["field"], value.strip())
                break
    limits = (_limit(name, fields, received) for name, fields in found.items())
    return tuple(
        limit for limit in limits if limit.share is not None or limit.remaining is not None
    )


def _limit(name: str, fields: Mapping[str, str], received: float) -> RateLimit:
    remaining, limit = _number(fields.get("remaining")), _number(fields.get("limit"))
    share = None
    if (used := _number(fields.get("utilization"))) is not None:
        share = 1 - used
    elif (percent := _number(fields.get("used-percent"))) is not None:
        share = 1 - percent / 100
    elif remaining is not None and limit:
        share = remaining / limit
    if (minutes := _number(fields.get("window-minutes"))) is not None:
        name = f"{minutes / 60:g}h" if minutes < 1_440 else f"{minutes / 1_440:g}d"
    reset = fields.get("reset") or fields.get("reset-at") or fields.get("reset-after-seconds")
    return RateLimit(
        name.replace("-", " ") or "requests",
        None if share is None else min(1.0, max(0.0, share)),
        remaining,
        limit,
        _time(reset, received),
    )


def _number(text: str | None) -> float | None:
    return float(text) if text and re.fullmatch(r"\d{1,15}(\.\d+)?", text) else None


def _time(text: str | None, received: float) -> float | None:
    """Return a time that is a date, seconds since the epoch, or a duration such as ``6m0s``."""
    if not text:
        return None
    if (number := _number(text)) is not None:
        if number < _EPOCH:
            return received + number
        return number / 1000 if number >= _EPOCH_MILLISECONDS else number
    pieces = _DURATION.findall(text)
    if pieces and "".join(amount + unit for amount, unit in pieces) == text:
        return received + sum(float(amount) * _SECONDS[unit] for amount, unit in pieces)
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None
