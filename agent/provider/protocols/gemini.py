"""Google's Gemini API, and what is compatible with it."""

from collections.abc import Mapping
from urllib.parse import quote

from agent.provider.client import ModelRequest
from agent.provider.protocols.gemini_decode import GeminiDecoder
from agent.provider.protocols.gemini_request import encode, refused
from agent.provider.quirks.refused_parts import REASONING
from agent.provider.tool_names import ToolNames
from agent.provider.transport.framing import Framing
from agent.provider.transport.sse import BodyDecoder
from agent.records.json import JsonObject


class GeminiWire:
    """The ``Wire`` of Gemini at *provider*."""

    per_session: frozenset[str] = frozenset({REASONING})

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def path(self, request: ModelRequest) -> str:
        name = request.model.wire_id or request.model.id
        return f"/models/{quote(name.removeprefix('models/'))}:streamGenerateContent?alt=sse"

    def framing(self) -> Framing:
        return BodyDecoder()

    def encode(self, request: ModelRequest) -> JsonObject:
        return encode(request)

    def headers(self, body: JsonObject) -> Mapping[str, str]:
        _ = body
        return {}

    def decoder(self, request: ModelRequest) -> GeminiDecoder:
        return GeminiDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        return refused(body, message)
