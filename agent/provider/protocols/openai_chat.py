"""OpenAI chat completions, and everything that is compatible with it."""

from collections.abc import Mapping

from agent.provider.client import ModelRequest
from agent.provider.protocols.openai_chat_decode import ChatDecoder
from agent.provider.protocols.openai_chat_request import encode, refused
from agent.provider.tool_names import ToolNames
from agent.provider.transport.framing import Framing
from agent.provider.transport.sse import BodyDecoder
from agent.records.json import JsonObject

PATH = "/chat/completions"


class ChatWire:
    """The ``Wire`` of chat completions at *provider*."""

    per_session: frozenset[str] = frozenset()

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
        _ = body
        return {}

    def decoder(self, request: ModelRequest) -> ChatDecoder:
        return ChatDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        return refused(body, message)
