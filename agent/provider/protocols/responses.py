"""OpenAI's Responses API, and what is compatible with it."""

from collections.abc import Mapping

from agent.provider.client import ModelRequest
from agent.provider.protocols.responses_decode import ResponsesDecoder
from agent.provider.protocols.responses_request import encode, refused
from agent.provider.quirks.refused_parts import REASONING
from agent.provider.tool_names import ToolNames
from agent.provider.transport.framing import Framing
from agent.provider.transport.sse import BodyDecoder
from agent.records.json import JsonObject

PATH = "/responses"


class ResponsesWire:
    """The ``Wire`` of the Responses API at *provider*."""

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
        return {}

    def decoder(self, request: ModelRequest) -> ResponsesDecoder:
        return ResponsesDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        return refused(body, message)
