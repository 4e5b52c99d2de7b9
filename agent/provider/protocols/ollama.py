"""Ollama's own chat API: for a provider whose ``api`` is ``ollama``.

The provider ``ollama`` itself speaks chat completions, which Ollama serves too.
"""

from collections.abc import Mapping

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ModelRequest,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    UserTurn,
)
from agent.provider.protocols.messages import Messages, functions
from agent.provider.protocols.ollama_decode import OllamaDecoder
from agent.provider.quirks.refused_parts import IMAGES, REFUSAL_PATTERN, first_named
from agent.provider.tool_names import ToolNames
from agent.provider.transport.framing import Framing, JsonLines
from agent.records.json import Json, JsonObject

OPTIONAL = ("think", "tools", "options")


class OllamaWire:
    """The ``Wire`` of Ollama's chat at *provider*."""

    per_session: frozenset[str] = frozenset()

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def path(self, request: ModelRequest) -> str:
        _ = request
        return "/api/chat"

    def framing(self) -> Framing:
        return JsonLines()

    def encode(self, request: ModelRequest) -> JsonObject:
        model = request.model
        body: JsonObject = {
            "model": model.wire_id or model.id,
            "messages": _MESSAGES.of(request),
            "stream": True,
        }
        if request.tools and request.calls_allowed:
            body["tools"] = functions(request.tools)
        options: JsonObject = {}
        if request.max_output is not None:
            options["num_predict"] = request.max_output
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if model.context_limit is not None:
            options["num_ctx"] = model.context_limit
        return {**body, "options": options} if options else body

    def headers(self, body: JsonObject) -> Mapping[str, str]:
        _ = body
        return {}

    def decoder(self, request: ModelRequest) -> OllamaDecoder:
        return OllamaDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        text = message.lower()
        if "image" in text and '"images"' in str(body).replace("'", '"'):
            return IMAGES
        if not REFUSAL_PATTERN.search(text):
            return None
        if "think" in body and "thinking" in text:
            return "think"
        return first_named(text, (name for name in OPTIONAL if name in body))


def _said(turn: UserTurn) -> JsonObject:
    texts = [c.text for c in turn.content if isinstance(c, TextContent)]
    images: list[Json] = [c.data for c in turn.content if isinstance(c, MediaContent)]
    said: JsonObject = {"content": "\n\n".join(texts)}
    return {**said, "images": images} if images else said


def _answer(turn: AssistantTurn) -> JsonObject:
    texts = [c.text for c in turn.content if isinstance(c, TextContent)]
    thoughts = [c.text for c in turn.content if isinstance(c, ReasoningContent) and c.text]
    calls: list[Json] = [
        {"function": {"name": call.name, "arguments": call.input}}
        for call in turn.content
        if isinstance(call, ToolCallContent)
    ]
    made: JsonObject = {"content": "\n\n".join(texts)}
    if thoughts:
        made["thinking"] = "\n\n".join(thoughts)
    return {**made, "tool_calls": calls} if calls else made


def _result(result: ToolResultContent) -> JsonObject:
    return {"tool_name": result.name, "content": result.output}


_MESSAGES = Messages(_said, _answer, _result)
