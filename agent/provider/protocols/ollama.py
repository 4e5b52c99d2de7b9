"""Ollama's own chat API, for a provider whose ``api`` is ``ollama``: requests.

The built-in provider ``ollama`` uses chat completions, which Ollama serves too.
"""

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
from agent.provider.protocols.messages import TurnMessages, function_tools
from agent.provider.protocols.ollama_decode import OllamaDecoder
from agent.provider.protocols.wire_client import WireClient
from agent.provider.quirks.refused_parts import IMAGES, REFUSAL_PATTERN, first_named
from agent.provider.transport.framing import JsonLines
from agent.provider.transport.wire_json import has_part
from agent.records.json import Json, JsonObject

OPTIONAL_FIELDS = ("think", "tools", "options")


class OllamaClient(WireClient):
    """The client of Ollama's own chat API."""

    decoder_class = OllamaDecoder
    framing_class = JsonLines
    path = "/api/chat"

    @staticmethod
    def build_body(request: ModelRequest) -> JsonObject:
        model = request.model
        body: JsonObject = {
            "model": model.wire_id or model.id,
            "messages": _MESSAGES.convert(request),
            "stream": True,
        }
        if request.tools and request.calls_allowed:
            body["tools"] = function_tools(request.tools)
        options: JsonObject = {}
        if request.max_output is not None:
            options["num_predict"] = request.max_output
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if model.context_limit is not None:
            options["num_ctx"] = model.context_limit
        return {**body, "options": options} if options else body

    @staticmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        text = message.lower()
        if "image" in text and has_part(body.get("messages"), "images"):
            return IMAGES
        if not REFUSAL_PATTERN.search(text):
            return None
        if "think" in body and "thinking" in text:
            return "think"
        return first_named(text, (name for name in OPTIONAL_FIELDS if name in body))


def _user_message(turn: UserTurn) -> JsonObject:
    texts = [c.text for c in turn.content if isinstance(c, TextContent)]
    images: list[Json] = [c.data for c in turn.content if isinstance(c, MediaContent)]
    message: JsonObject = {"content": "\n\n".join(texts)}
    return {**message, "images": images} if images else message


def _assistant_message(turn: AssistantTurn) -> JsonObject:
    texts = [c.text for c in turn.content if isinstance(c, TextContent)]
    thoughts = [c.text for c in turn.content if isinstance(c, ReasoningContent) and c.text]
    calls: list[Json] = [
        {"function": {"name": call.name, "arguments": call.input}}
        for call in turn.content
        if isinstance(call, ToolCallContent)
    ]
    message: JsonObject = {"content": "\n\n".join(texts)}
    if thoughts:
        message["thinking"] = "\n\n".join(thoughts)
    return {**message, "tool_calls": calls} if calls else message


def _result_message(result: ToolResultContent) -> JsonObject:
    return {"tool_name": result.name, "content": result.output}


_MESSAGES = TurnMessages(_user_message, _assistant_message, _result_message)
