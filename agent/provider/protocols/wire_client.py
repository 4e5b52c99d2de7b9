"""The base class of the clients for all wire protocols: one streamed request over HTTP.

To add a wire protocol, write

- a request builder, a ``StreamDecoder`` subclass and a ``WireClient`` subclass in
  ``<protocol>.py``;
- its name in ``Api`` (``agent.provider.client``) and ``ProviderApi``
  (``agent.config.settings_schema``);
- its entries in ``WIRE_CLIENTS`` and, for a key that is no bearer token, ``KEY_HEADERS`` of
  ``agent.provider.client_pool``, and its framing if it is not server-sent events;
- its entries in ``quirks.media`` (images), ``quirks.table`` (reasoning effort), ``litellm.route``
  and ``model_lists``;
- its entries in ``tests/support/provider_requests.py`` and ``test_recorded_streams.py``; for whole
  sessions a dialect and a strict checker in ``tests/support``.

Differences between the providers that share a protocol do not belong here but into
``agent.provider.quirks``.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import field
from functools import partial
from typing import ClassVar

from agent.provider.client import ModelRequest, StreamError, StreamEvent, ToolNames
from agent.provider.protocols.sent_history import encode_request
from agent.provider.protocols.stream_decoder import StreamDecoder
from agent.provider.quirks.body_fields import request_headers
from agent.provider.quirks.table import finish_body, prepare_request
from agent.provider.quirks.target import BUDGET_NOW, EFFORT_FIELDS, IMAGES, refused_effort
from agent.provider.transport.aws import AwsSigner
from agent.provider.transport.connections import Connections
from agent.provider.transport.framing import BodyDecoder, Framing
from agent.provider.transport.http import (
    HttpPost,
    StreamedResponse,
    StreamLimits,
    parse_rate_limits,
)
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.frozen import frozen
from agent.records.json import JsonObject
from agent.records.spending import RateLimit
from agent.redact import MIN_LENGTH

MAX_REPAIRS = 3
"""Retries of one request without a part that the server refused."""


@frozen(kw_only=True)
class Endpoint:
    """The address of a provider, with what authenticates a request to it."""

    provider: str
    """The provider's id, as error messages name it."""

    base_url: str
    key: str = ""
    """The API key, "" for none."""

    key_header: str = "Authorization"
    """The header for the key: a bearer token in ``Authorization``, the bare key in any other."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Further headers of the provider and the user; they override all others."""

    signer: AwsSigner | None = None
    """The signer of requests with AWS credentials, instead of a key."""

    def url(self, path: str) -> str:
        """Return the address of *path*; the queries of both are joined."""
        base, _, query = self.base_url.partition("?")
        path, _, more = path.partition("?")
        joined = "&".join(part for part in (query, more) if part)
        return f"{base.rstrip('/')}{path}{'?' if joined else ''}{joined}"

    def all_headers(self, protocol_headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of one request; user headers override *protocol_headers*."""
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            # Small events gain nothing from compression, and proxies hold compressed ones back.
            "accept-encoding": "identity",
            "user-agent": "opencode-py",
            **protocol_headers,
        }
        if self.key:
            bearer = self.key_header.lower() == "authorization"
            headers[self.key_header.lower()] = f"Bearer {self.key}" if bearer else self.key
        return headers | {name.lower(): value for name, value in self.headers.items()}


class WireClient(ABC):
    """A ``ModelClient`` for one endpoint in one wire protocol.

    If the server refuses a part of the request that is optional, the request is repeated without
    that part. The refusal is remembered per model or per session while the client lives.
    """

    decoder_class: ClassVar[type[StreamDecoder]]
    """The decoder of the protocol's response stream."""

    framing_class: ClassVar[type[Framing]] = BodyDecoder
    """The splitter of a response body into messages: server-sent events unless overridden."""

    session_refusals: ClassVar[frozenset[str]] = frozenset()
    """Names of refused parts that concern one session only, such as its stored reasoning."""

    messages_field: ClassVar[str] = "messages"
    """The field of a body that lists the messages of the conversation."""

    path: ClassVar[str] = ""
    """The path below the base URL. A protocol with the model in it overrides ``path_for``."""

    def __init__(
        self, endpoint: Endpoint, http: Connections, limits: StreamLimits | None = None
    ) -> None:
        self._endpoint = endpoint
        self._http = http
        self._limits = limits or StreamLimits()
        self._limit_headers: tuple[float, Mapping[str, str]] = (0.0, {})
        self._refused: dict[tuple[str, str], frozenset[str]] = {}

    @staticmethod
    @abstractmethod
    def build_body(request: ModelRequest) -> JsonObject:
        """Return the body for *request*, which ``prepare_request`` has adapted already."""

    @staticmethod
    @abstractmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        """Return the name of the optional part that an error *message* refuses, None if unknown.

        The name is one of ``agent.provider.quirks.target`` or a field of *body*.
        """

    @classmethod
    def path_for(cls, request: ModelRequest) -> str:
        """Return the path below the base URL for *request*."""
        return cls.path

    @classmethod
    def protocol_headers(cls, body: JsonObject) -> Mapping[str, str]:
        """Return the headers that the protocol adds for *body*."""
        return {}

    @classmethod
    def request_body(
        cls, request: ModelRequest, refused: frozenset[str] = frozenset()
    ) -> JsonObject:
        """Return the body that is sent for *request*, with all quirks of its provider applied.

        *refused* names the parts that the server has refused before.
        """
        return cls._adapted(request, refused=refused)[1]

    @classmethod
    def _adapted(
        cls, request: ModelRequest, *, refused: frozenset[str]
    ) -> tuple[ModelRequest, JsonObject]:
        prepared = prepare_request(request, refused)
        return prepared, finish_body(cls.build_body(prepared), prepared, refused)

    @classmethod
    def encoded_request(
        cls, request: ModelRequest, refused: frozenset[str] = frozenset()
    ) -> tuple[JsonObject, bytes]:
        """Return the body for *request* with at least its newest messages, and the whole body in
        JSON."""
        build = partial(cls._adapted, refused=refused)
        return encode_request(request, build, cls.messages_field, (cls, refused))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the response; the last event is ``StepFinish`` or ``StreamError``."""
        refused = self._known_refusals(request)
        for repair in range(MAX_REPAIRS + 1):
            try:
                post = await self._post(request, refused)
                framing = self.framing_class()
                async with StreamedResponse(
                    self._http, post, self._limits, framing, self._note_headers
                ) as response:
                    self._remember(request, refused)
                    decoder = self.decoder_class(self._endpoint.provider, ToolNames(request.tools))
                    async with aclosing(self._decode(response, decoder)) as events:
                        async for event in events:
                            yield event
            except ProviderError as error:
                part = None
                refused_field = error.kind is ProviderErrorKind.INVALID_REQUEST
                # Which files a session does without is for the session to decide.
                if refused_field and error.file_limit is None and repair < MAX_REPAIRS:
                    body = self.request_body(request, refused)
                    part = self.refused_part(body, error.message)
                    part = part or refused_effort(body, error.message.lower())
                if part is None or part in refused:
                    yield StreamError(error)
                    return
                refused |= {part}
            else:
                return

    def refuses_effort(self, model_id: str) -> bool:
        """Return whether the server has refused a reasoning effort for the model."""
        return not self._refused.get((model_id, ""), frozenset[str]()).isdisjoint(EFFORT_FIELDS)

    def rate_limits(self) -> tuple[float, tuple[RateLimit, ...]]:
        """Return when the newest limits came (seconds since the epoch), and the limits."""
        received, headers = self._limit_headers
        return received, parse_rate_limits(headers, received)

    def _note_headers(self, headers: Mapping[str, str]) -> None:
        if any("ratelimit" in name or name.startswith("x-codex") for name in headers):
            self._limit_headers = time.time(), headers

    def _known_refusals(self, request: ModelRequest) -> frozenset[str]:
        model = request.model.id
        nothing = frozenset[str]()
        return self._refused.get((model, ""), nothing) | self._refused.get(
            (model, request.session_id), nothing
        )

    def _remember(self, request: ModelRequest, refused: frozenset[str]) -> None:
        """Remember *refused*, whose omission worked, unless it concerns one request only."""
        of_session = refused & self.session_refusals
        of_model = refused - of_session - {IMAGES, BUDGET_NOW}
        for session, names in ((request.session_id, of_session), ("", of_model)):
            if names:
                key = (request.model.id, session)
                self._refused[key] = self._refused.get(key, frozenset[str]()) | names

    async def _decode(
        self, response: StreamedResponse, decoder: StreamDecoder
    ) -> AsyncGenerator[StreamEvent, None]:
        failure: ProviderError | None = None
        try:
            async with aclosing(response.events()) as events:
                async for event in events:
                    decoded = decoder.feed(event)
                    if decoder.done:  # before the last event, at which the caller stops
                        await response.read_end()
                    for each in decoded:
                        yield each
                    if decoder.done:
                        return
                    if decoder.finishing:
                        response.expect_end()
        except ProviderError as error:
            failure = error
        for each in decoder.close(failure):
            yield each

    async def _post(self, request: ModelRequest, refused: frozenset[str]) -> HttpPost:
        url = self._endpoint.url(self.path_for(request))
        body, sent = self.encoded_request(request, refused)
        headers = self._endpoint.all_headers(self.protocol_headers(body))
        headers |= request_headers(request)
        if self._endpoint.signer is not None:
            headers |= await self._endpoint.signer.sign(url, sent)
        return HttpPost(
            provider=self._endpoint.provider,
            url=url,
            headers=headers,
            body=sent,
            # A shorter key ("x", "none") is no secret, and its letters occur in any message.
            secret=self._endpoint.key if len(self._endpoint.key) >= MIN_LENGTH else "",
        )
