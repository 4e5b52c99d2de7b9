"""Anthropic's Messages API, and what is compatible with it."""

from collections.abc import Mapping

from agent.provider.client import ModelRequest
from agent.provider.protocols.anthropic_decode import AnthropicDecoder
from agent.provider.protocols.anthropic_request import encode, refused
from agent.provider.quirks.reasoning_effort import THINKING
from agent.provider.quirks.refused_parts import REASONING
from agent.provider.tool_names import ToolNames
from agent.provider.transport.framing import Framing
from agent.provider.transport.sse import BodyDecoder
from agent.records.json import JsonObject

PATH = "/messages"
VERSION = "2023-06-01"
INTERLEAVED = "interleaved-thinking-2025-05-14"
"""Lets models with a thinking budget think between their calls; newer ones do so anyway."""


class AnthropicWire:
    """The ``Wire`` of Anthropic's messages at *provider*."""

    per_session: frozenset[str] = frozenset({REASONING})

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def path(self, request: ModelRequest) -> str:
        _ = request
        return PATH

    def framing(self) -> Framing:
        return BodyDecoder()

    def encode(self, request: ModelRequest) -> JsonObject:
        return encode(request)

    def headers(self, body: JsonObject) -> Mapping[str, str]:
        headers = {"anthropic-version": VERSION}
        thinking = body.get(THINKING)
        if isinstance(thinking, dict) and thinking.get("type") == "enabled":
            headers["anthropic-beta"] = INTERLEAVED
        return headers

    def decoder(self, request: ModelRequest) -> AnthropicDecoder:
        return AnthropicDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        return refused(body, message)
