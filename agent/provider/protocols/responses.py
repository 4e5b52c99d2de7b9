"""OpenAI's Responses API, and what is compatible with it."""

from collections.abc import Mapping

from agent.jsontypes import JsonObject
from agent.provider.client import ModelRequest
from agent.provider.framing import Framing
from agent.provider.protocols.refusals import REASONING
from agent.provider.protocols.responses_decode import ResponsesDecoder
from agent.provider.protocols.responses_request import build_body, refused
from agent.provider.protocols.tool_names import ToolNames
from agent.provider.sse import BodyDecoder

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

    def body(self, request: ModelRequest, without: frozenset[str]) -> JsonObject:
        return build_body(request, without)

    def headers(self, body: JsonObject) -> Mapping[str, str]:
        return {}

    def decoder(self, request: ModelRequest) -> ResponsesDecoder:
        return ResponsesDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        return refused(body, message)
