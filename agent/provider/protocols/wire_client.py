"""One streamed request in any of the wire protocols: ask, decode, and mend what is refused."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

import httpx2

from agent.provider.client import ModelRequest, StreamError, StreamEvent
from agent.provider.quirks.refused_parts import IMAGES
from agent.provider.quirks.table import finish_body, prepare_request
from agent.provider.transport.aws import AwsSigner
from agent.provider.transport.framing import Framing
from agent.provider.transport.http import HttpPost, StreamedResponse, StreamLimits
from agent.provider.transport.sse import SseEvent
from agent.provider.transport.wire_json import encode_body
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.json import JsonObject

MOST_REPAIRS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where and how to ask. *key* is sent as a bearer token, or bare in another header;
    *signer* gives the headers that sign a request instead."""

    provider: str
    base_url: str
    key: str = ""
    key_header: str = "Authorization"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    signer: AwsSigner | None = None

    def url(self, path: str) -> str:
        """The address of *path*; queries of both are joined."""
        base, _, query = self.base_url.partition("?")
        path, _, more = path.partition("?")
        joined = "&".join(part for part in (query, more) if part)
        return f"{base.rstrip('/')}{path}{'?' if joined else ''}{joined}"

    def all_headers(self, more: Mapping[str, str]) -> dict[str, str]:
        """The headers of one request: ours, the protocol's *more*, and the user's over all."""
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            # Compression buys nothing for small events and lets proxies hold them back.
            "accept-encoding": "identity",
            "user-agent": "opencode-py",
            **more,
        }
        if self.key:
            bearer = self.key_header.lower() == "authorization"
            headers[self.key_header.lower()] = f"Bearer {self.key}" if bearer else self.key
        return headers | {name.lower(): value for name, value in self.headers.items()}


class Decoder(Protocol):
    """The state of one answer. After ``done`` nothing more is to be fed."""

    done: bool

    @property
    def finishing(self) -> bool:
        """Whether the model has finished, and only usage or the end mark can still come."""
        ...

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        """The events that *event* stands for; the last of an answer ends it."""
        ...

    def close(self, error: ProviderError | None = None) -> list[StreamEvent]:
        """The end of the body, or *error* that broke it."""
        ...


class Wire(Protocol):
    """What sets one protocol apart."""

    @property
    def per_session(self) -> frozenset[str]:
        """Those names whose refusal says something of one session only, not of the model."""
        ...

    def path(self, request: ModelRequest) -> str:
        """Where under the base URL *request* is sent."""
        ...

    def framing(self) -> Framing:
        """How the messages of an answer's body are told apart."""
        ...

    def encode(self, request: ModelRequest) -> JsonObject:
        """The body for *request*, which was prepared (``agent.provider.quirks``)."""
        ...

    def headers(self, body: JsonObject) -> Mapping[str, str]: ...

    def decoder(self, request: ModelRequest) -> Decoder: ...

    def refused(self, body: JsonObject, message: str) -> str | None:
        """What the sentence *message* objects to that can be left out, None if unknown."""
        ...


def body_of(wire: Wire, request: ModelRequest, without: frozenset[str] = frozenset()) -> JsonObject:
    """The body that is sent for *request*; *without* names what the server refused before."""
    asked = prepare_request(request, without)
    return finish_body(wire.encode(asked), asked, without)


class WireClient:
    """A ``ModelClient`` for one endpoint.

    A server that refuses a part of the request that can do without is asked again without it,
    and what worked is remembered, per model or per session, for as long as the client lives.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        wire: Wire,
        http: httpx2.AsyncClient,
        limits: StreamLimits | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._wire = wire
        self._http = http
        self._limits = limits or StreamLimits()
        self._without: dict[tuple[str, str], frozenset[str]] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer; the last event is ``StepFinish`` or ``StreamError``."""
        without = self._known(request)
        for repair in range(MOST_REPAIRS + 1):
            body = body_of(self._wire, request, without)
            try:
                post = await self._post(body, request)
                framing = self._wire.framing()
                async with StreamedResponse(self._http, post, self._limits, framing) as answer:
                    self._remember(request, without)
                    decoder = self._wire.decoder(request)
                    async with aclosing(self._decode(answer, decoder)) as events:
                        async for event in events:
                            yield event
            except ProviderError as error:
                part = None
                if error.kind is ProviderErrorKind.INVALID_REQUEST and repair < MOST_REPAIRS:
                    part = self._wire.refused(body, error.message)
                if part is None or part in without:
                    yield StreamError(error)
                    return
                without |= {part}
            else:
                return

    def _known(self, request: ModelRequest) -> frozenset[str]:
        model = request.model.id
        nothing = frozenset[str]()
        return self._without.get((model, ""), nothing) | self._without.get(
            (model, request.session_id), nothing
        )

    def _remember(self, request: ModelRequest, without: frozenset[str]) -> None:
        here = without & self._wire.per_session
        for session, names in ((request.session_id, here), ("", without - here - {IMAGES})):
            if names:
                key = (request.model.id, session)
                self._without[key] = self._without.get(key, frozenset[str]()) | names

    async def _decode(
        self, answer: StreamedResponse, decoder: Decoder
    ) -> AsyncGenerator[StreamEvent, None]:
        failure: ProviderError | None = None
        try:
            async with aclosing(answer.events()) as events:
                async for event in events:
                    for decoded in decoder.feed(event):
                        yield decoded
                    if decoder.done:
                        return
                    if decoder.finishing:
                        answer.expect_end()
        except ProviderError as error:
            failure = error
        for decoded in decoder.close(failure):
            yield decoded

    async def _post(self, body: JsonObject, request: ModelRequest) -> HttpPost:
        url, sent = self._endpoint.url(self._wire.path(request)), encode_body(body)
        headers = self._endpoint.all_headers(self._wire.headers(body))
        headers |= {name.lower(): value for name, value in request.headers.items()}
        if self._endpoint.signer is not None:
            headers |= await self._endpoint.signer.sign(url, sent)
        return HttpPost(
            provider=self._endpoint.provider,
            url=url,
            headers=headers,
            body=sent,
            secret=self._endpoint.key,
        )
