"""OpenAI chat completions, and everything that is compatible with it."""

from collections.abc import Mapping

from agent.jsontypes import JsonObject
from agent.provider.client import ModelRequest
from agent.provider.framing import Framing
from agent.provider.protocols.openai_chat_decode import ChatDecoder
from agent.provider.protocols.openai_chat_request import build_body, refused
from agent.provider.providers import Quirks
from agent.provider.sse import BodyDecoder

PATH = "/chat/completions"


class ChatWire:
    """The ``Wire`` of chat completions at *provider*, with its *quirks*."""

    per_session: frozenset[str] = frozenset()

    def __init__(self, provider: str, quirks: Quirks) -> None:
        self._provider = provider
        self._quirks = quirks

    def path(self, request: ModelRequest) -> str:
        _ = request
        return PATH

    def framing(self) -> Framing:
        return BodyDecoder()

    def body(self, request: ModelRequest, without: frozenset[str]) -> JsonObject:
        return build_body(request, self._quirks, without)

    def headers(self, body: JsonObject) -> Mapping[str, str]:
        return {}

    def decoder(self, request: ModelRequest) -> ChatDecoder:
        return ChatDecoder(self._provider)

    def refused(self, body: JsonObject, message: str) -> str | None:
        return refused(body, message)
