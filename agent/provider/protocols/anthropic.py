"""Anthropic's Messages API, and what is compatible with it."""

import json
from collections.abc import Mapping, Sequence

from agent.provider.client import (
    MediaContent,
    ModelRequest,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolSchema,
    Turn,
)
from agent.provider.protocols.anthropic_decode import AnthropicDecoder
from agent.provider.protocols.messages import Blocks, alternating
from agent.provider.quirks.media import PDF
from agent.provider.quirks.reasoning_effort import OUTPUT_CONFIG, THINKING
from agent.provider.quirks.refused_parts import (
    DOCUMENT_NAMES,
    IMAGES,
    REASONING_REPLAY,
    REFUSAL_PATTERN,
    first_named,
)
from agent.provider.tool_names import ToolNames
from agent.provider.transport.framing import Framing
from agent.provider.transport.sse import BodyDecoder
from agent.records.json import Json, JsonObject

PATH = "/messages"
VERSION = "2023-06-01"
INTERLEAVED = "interleaved-thinking-2025-05-14"
"""Lets models with a thinking budget think between their calls; newer ones do so anyway."""


class AnthropicWire:
    """The ``Wire`` of Anthropic's messages at *provider*."""

    per_session: frozenset[str] = frozenset({REASONING_REPLAY})

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
        headers = {"anthropic-version": VERSION}
        thinking = body.get(THINKING)
        if isinstance(thinking, dict) and thinking.get("type") == "enabled":
            headers["anthropic-beta"] = INTERLEAVED
        return headers

    def decoder(self, request: ModelRequest) -> AnthropicDecoder:
        return AnthropicDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        return refused(body, message)


OPTIONAL = (OUTPUT_CONFIG, THINKING, "temperature")


def encode(request: ModelRequest) -> JsonObject:
    """The body for the prepared *request*."""
    model = request.model
    body: JsonObject = {"model": model.wire_id or model.id, "max_tokens": request.max_output}
    if request.system:
        body["system"] = [{"type": "text", "text": text} for text in request.system]
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
        if not request.calls_allowed:
            body["tool_choice"] = {"type": "none"}
    body["messages"] = list[Json](messages_of(request.turns))
    body["stream"] = True
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return body


def messages_of(turns: Sequence[Turn]) -> list[JsonObject]:
    """The ``messages``."""
    return alternating(turns, _BLOCKS)


def _said(content: TextContent | MediaContent) -> JsonObject:
    if isinstance(content, TextContent):
        return {"type": "text", "text": content.text}
    source: JsonObject = {"type": "base64", "media_type": content.mime, "data": content.data}
    return {"type": "document" if content.mime == PDF else "image", "source": source}


def _told(content: TextContent | ReasoningContent | ToolCallContent) -> JsonObject:
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


def _result(result: ToolResultContent) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": result.call_id}
    if result.is_error:
        return {**block, "content": result.output, "is_error": True}
    if not result.media:
        return {**block, "content": result.output}
    return {**block, "content": [_said(c) for c in (TextContent(result.output), *result.media)]}


_BLOCKS = Blocks(_said, _told, _result)


def _tool(tool: ToolSchema) -> JsonObject:
    sent: JsonObject = {"name": tool.name}
    if tool.description:
        sent["description"] = tool.description
    sent["input_schema"] = {"type": "object", "properties": {}} | tool.parameters
    return sent


def refused(body: JsonObject, message: str) -> str | None:
    """What a refusal objects to that can be left out, None if nothing is known.

    *message* is the error's sentence. The answer is a name for the quirks' *without*.
    """
    text = message.lower()
    messages = json.dumps(body.get("messages"))
    thoughts = '"thinking"' in messages or '"redacted_thinking"' in messages
    if thoughts and ("signature" in text or "cannot be modified" in text):
        return REASONING_REPLAY
    if "image" in text and '"image"' in messages:
        return IMAGES
    if first_named(text, DOCUMENT_NAMES) and '"document"' in messages:
        return IMAGES
    if "must start with a thinking block" in text and THINKING in body:
        return THINKING
    if not REFUSAL_PATTERN.search(text):
        return None
    if OUTPUT_CONFIG in body and "effort" in text:
        return OUTPUT_CONFIG
    return first_named(text, (name for name in OPTIONAL if name in body))
