"""Cohere's chat API, version 2."""

from collections.abc import Mapping

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ModelRequest,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    UserTurn,
)
from agent.provider.protocols.cohere_decode import CohereDecoder
from agent.provider.protocols.messages import Messages, functions
from agent.provider.quirks.refused_parts import IMAGES, REFUSAL_PATTERN, first_named
from agent.provider.tool_names import ToolNames
from agent.provider.transport.framing import Framing, JsonLines
from agent.provider.transport.wire_json import encode_arguments
from agent.records.json import Json, JsonObject

OPTIONAL = ("thinking", "temperature", "max_tokens", "tool_choice")


class CohereWire:
    """The ``Wire`` of Cohere's chat at *provider*."""

    per_session: frozenset[str] = frozenset()

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def path(self, request: ModelRequest) -> str:
        _ = request
        return "/v2/chat"

    def framing(self) -> Framing:
        return JsonLines()

    def encode(self, request: ModelRequest) -> JsonObject:
        body: JsonObject = {
            "model": request.model.wire_id or request.model.id,
            "messages": _MESSAGES.of(request),
            "stream": True,
        }
        if request.tools:
            body["tools"] = functions(request.tools)
            if not request.calls_allowed:
                body["tool_choice"] = "NONE"
        if request.max_output is not None:
            body["max_tokens"] = request.max_output
        if request.temperature is not None:
            body["temperature"] = request.temperature
        return body

    def headers(self, body: JsonObject) -> Mapping[str, str]:
        _ = body
        return {}

    def decoder(self, request: ModelRequest) -> CohereDecoder:
        return CohereDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        text = message.lower()
        if "image" in text and "image_url" in str(body.get("messages")):
            return IMAGES
        if not REFUSAL_PATTERN.search(text):
            return None
        return first_named(text, (name for name in OPTIONAL if name in body))


def _user(turn: UserTurn) -> JsonObject:
    return {"content": [_said(content) for content in turn.content]}


def _said(content: TextContent | MediaContent) -> JsonObject:
    if isinstance(content, TextContent):
        return {"type": "text", "text": content.text}
    url = f"data:{content.mime};base64,{content.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _answer(turn: AssistantTurn) -> JsonObject:
    texts = [c.text for c in turn.content if isinstance(c, TextContent)]
    calls: list[Json] = [
        {
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": encode_arguments(call.input)},
        }
        for call in turn.content
        if isinstance(call, ToolCallContent)
    ]
    if calls:
        # With calls the API takes words only as the plan behind them.
        return {"tool_calls": calls, **({"tool_plan": "\n\n".join(texts)} if texts else {})}
    return {"content": "\n\n".join(texts)}


def _result(result: ToolResultContent) -> JsonObject:
    return {"tool_call_id": result.call_id, "content": result.output}


_MESSAGES = Messages(_user, _answer, _result)
