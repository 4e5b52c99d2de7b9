"""Cohere's chat API, version 2: requests."""

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
from agent.provider.protocols.messages import TurnMessages, function_tools
from agent.provider.protocols.wire_client import WireClient
from agent.provider.quirks.refused_parts import IMAGES, REFUSAL_PATTERN, first_named
from agent.provider.transport.framing import JsonLines
from agent.provider.transport.wire_json import encode_arguments, has_part
from agent.records.json import Json, JsonObject

OPTIONAL_FIELDS = ("thinking", "temperature", "max_tokens", "tool_choice")


class CohereClient(WireClient):
    """The client of Cohere's chat API."""

    decoder_class = CohereDecoder
    framing_class = JsonLines
    path = "/v2/chat"

    @staticmethod
    def build_body(request: ModelRequest) -> JsonObject:
        body: JsonObject = {
            "model": request.model.wire_id or request.model.id,
            "messages": _MESSAGES.convert(request),
            "stream": True,
        }
        if request.tools:
            body["tools"] = function_tools(request.tools)
            if not request.calls_allowed:
                body["tool_choice"] = "NONE"
        if request.max_output is not None:
            body["max_tokens"] = request.max_output
        if request.temperature is not None:
            body["temperature"] = request.temperature
        return body

    @staticmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        text = message.lower()
        if "image" in text and has_part(body.get("messages"), "image_url"):
            return IMAGES
        if not REFUSAL_PATTERN.search(text):
            return None
        return first_named(text, (name for name in OPTIONAL_FIELDS if name in body))


def _user_message(turn: UserTurn) -> JsonObject:
    return {"content": [_content(content) for content in turn.content]}


def _content(content: TextContent | MediaContent) -> JsonObject:
    if isinstance(content, TextContent):
        return {"type": "text", "text": content.text}
    url = f"data:{content.mime};base64,{content.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _assistant_message(turn: AssistantTurn) -> JsonObject:
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
        # Beside calls the API takes text only as the plan for them.
        return {"tool_calls": calls, **({"tool_plan": "\n\n".join(texts)} if texts else {})}
    return {"content": "\n\n".join(texts)}


def _result_message(result: ToolResultContent) -> JsonObject:
    return {"tool_call_id": result.call_id, "content": result.output}


_MESSAGES = TurnMessages(_user_message, _assistant_message, _result_message)
