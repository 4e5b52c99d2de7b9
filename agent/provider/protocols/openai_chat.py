"""OpenAI chat completions, and everything that is compatible with it, as a ``ModelClient``."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

import httpx2

from agent.errors import ProviderError, ProviderErrorKind
from agent.provider.client import ModelRequest, StreamError, StreamEvent
from agent.provider.http import Answer, Post, StreamLimits
from agent.provider.protocols.openai_chat_decode import ChatDecoder
from agent.provider.protocols.openai_chat_messages import IMAGES
from agent.provider.protocols.openai_chat_request import build_body, encode, refused
from agent.provider.providers import Quirks

MOST_REPAIRS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where and how to ask. *key* is sent as a bearer token, or bare in another header."""

    provider: str
    base_url: str
    key: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    quirks: Quirks = field(default_factory=Quirks)

    @property
    def url(self) -> str:
        path, mark, query = self.base_url.partition("?")
        return f"{path.rstrip('/')}/chat/completions{mark}{query}"

    def all_headers(self) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream",
            # Compression buys nothing for small events and lets proxies hold them back.
            "accept-encoding": "identity",
            "user-agent": "opencode-py",
        }
        if self.key:
            bearer = self.quirks.key_header.lower() == "authorization"
            headers[self.quirks.key_header.lower()] = f"Bearer {self.key}" if bearer else self.key
        return headers | {name.lower(): value for name, value in self.headers.items()}


class OpenAIChatClient:
    """A ``ModelClient`` for one endpoint.

    A server that refuses a part of the request that can do without (``stream_options``,
    ``temperature``, replayed reasoning, a picture …) is asked again without it, and what worked
    is remembered per model for as long as the client lives.
    """

    def __init__(
        self, endpoint: Endpoint, http: httpx2.AsyncClient, limits: StreamLimits | None = None
    ) -> None:
        self._endpoint = endpoint
        self._http = http
        self._limits = limits or StreamLimits()
        self._without: dict[str, frozenset[str]] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the answer; the last event is ``StepFinish`` or ``StreamError``."""
        without = self._without.get(request.model.id, frozenset[str]())
        for repair in range(MOST_REPAIRS + 1):
            body = build_body(request, self._endpoint.quirks, without)
            try:
                async with Answer(self._http, self._post(encode(body)), self._limits) as answer:
                    # A picture is refused for itself; the model may well see the next one.
                    self._without[request.model.id] = without - {IMAGES}
                    async with aclosing(self._decode(answer)) as events:
                        async for event in events:
                            yield event
            except ProviderError as error:
                part = None
                if error.kind is ProviderErrorKind.INVALID_REQUEST and repair < MOST_REPAIRS:
                    part = refused(body, error.message)
                if part is None or part in without:
                    yield StreamError(error)
                    return
                without |= {part}
            else:
                return

    async def _decode(self, answer: Answer) -> AsyncGenerator[StreamEvent, None]:
        decoder = ChatDecoder(self._endpoint.provider)
        broken: ProviderError | None = None
        try:
            async with aclosing(answer.events()) as events:
                async for event in events:
                    for decoded in decoder.feed(event):
                        yield decoded
                    if decoder.done:
                        return
                    if decoder.finishing:
                        answer.finishing()
        except ProviderError as error:
            broken = error
        for decoded in decoder.close(broken):
            yield decoded

    def _post(self, body: bytes) -> Post:
        return Post(
            provider=self._endpoint.provider,
            url=self._endpoint.url,
            headers=self._endpoint.all_headers(),
            body=body,
            secret=self._endpoint.key,
        )
