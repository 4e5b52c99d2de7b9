"""Anthropic's Messages API, and servers that are compatible with it: requests.

Thinking goes back as the decoder kept it: ``{"signature": text}``, or ``{"redacted": data}``.
"""

from collections.abc import Mapping

from agent.provider.client import (
    MediaContent,
    ModelRequest,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolSchema,
)
from agent.provider.protocols.anthropic_decode import AnthropicDecoder
from agent.provider.protocols.messages import ContentBlocks, alternating_messages
from agent.provider.protocols.wire_client import WireClient
from agent.provider.quirks.media import PDF
from agent.provider.quirks.reasoning_effort import OUTPUT_CONFIG, THINKING
from agent.provider.quirks.refused_parts import (
    DOCUMENT_NAMES,
    IMAGES,
    REASONING_REPLAY,
    REFUSAL_PATTERN,
    first_named,
)
from agent.provider.transport.wire_json import has_part
from agent.records.json import Json, JsonObject

API_VERSION = "2023-06-01"
INTERLEAVED_THINKING = "interleaved-thinking-2025-05-14"
"""The beta that lets models with a thinking budget think between calls; newer ones always do."""

OPTIONAL_FIELDS = (OUTPUT_CONFIG, THINKING, "temperature")


class AnthropicClient(WireClient):
    """The client of Anthropic's Messages API."""

    decoder_class = AnthropicDecoder
    session_refusals = frozenset({REASONING_REPLAY})
    path = "/messages"

    @classmethod
    def protocol_headers(cls, body: JsonObject) -> Mapping[str, str]:
        headers = {"anthropic-version": API_VERSION}
        thinking = body.get(THINKING)
        if isinstance(thinking, dict) and thinking.get("type") == "enabled":
            headers["anthropic-beta"] = INTERLEAVED_THINKING
        return headers

    @staticmethod
    def build_body(request: ModelRequest) -> JsonObject:
        model = request.model
        body: JsonObject = {"model": model.wire_id or model.id, "max_tokens": request.max_output}
        if request.system:
            body["system"] = [{"type": "text", "text": text} for text in request.system]
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            if not request.calls_allowed:
                body["tool_choice"] = {"type": "none"}
        body["messages"] = list[Json](alternating_messages(request.turns, _BLOCKS))
        body["stream"] = True
        if request.temperature is not None:
            body["temperature"] = request.temperature
        return body

    @staticmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        text = message.lower()
        messages = body.get("messages")
        stale = "signature" in text or "cannot be modified" in text
        if stale and any(has_part(messages, n) for n in ("thinking", "redacted_thinking")):
            return REASONING_REPLAY
        if "image" in text and has_part(messages, "image"):
            return IMAGES
        if first_named(text, DOCUMENT_NAMES) and has_part(messages, "document"):
            return IMAGES
        if "must start with a thinking block" in text and THINKING in body:
            return THINKING
        if not REFUSAL_PATTERN.search(text):
            return None
        if OUTPUT_CONFIG in body and "effort" in text:
            return OUTPUT_CONFIG
        return first_named(text, (name for name in OPTIONAL_FIELDS if name in body))


def _user_block(content: TextContent | MediaContent) -> JsonObject:
    if isinstance(content, TextContent):
        return {"type": "text", "text": content.text}
    source: JsonObject = {"type": "base64", "media_type": content.mime, "data": content.data}
    return {"type": "document" if content.mime == PDF else "image", "source": source}


def _assistant_block(content: TextContent | ReasoningContent | ToolCallContent) -> JsonObject:
    match content:
        case TextContent():
            return {"type": "text", "text": content.text.rstrip()}
        case ReasoningContent():
            opaque = content.opaque or {}
            if "redacted" in opaque:
                return {"type": "redacted_thinking", "data": opaque["redacted"]}
            signature = opaque.get("signature")
            return {"type": "thinking", "thinking": content.text, "signature": signature}
        case ToolCallContent():
            call: JsonObject = {"type": "tool_use", "id": content.call_id, "name": content.name}
            return {**call, "input": content.input}


def _result_block(result: ToolResultContent) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": result.call_id}
    if result.is_error:
        return {**block, "content": result.output, "is_error": True}
    if not result.media:
        return {**block, "content": result.output}
    contents = (TextContent(result.output), *result.media)
    return {**block, "content": [_user_block(content) for content in contents]}


_BLOCKS = ContentBlocks(_user_block, _assistant_block, _result_block)


def _tool(tool: ToolSchema) -> JsonObject:
    sent: JsonObject = {"name": tool.name}
    if tool.description:
        sent["description"] = tool.description
    sent["input_schema"] = {"type": "object", "properties": {}} | tool.parameters
    return sent
