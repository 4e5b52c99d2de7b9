"""Google's Gemini API, and servers that are compatible with it: requests.

A thought signature goes back with the same part that it came with; the results of a response's
calls follow it together.
"""

import re
from urllib.parse import quote

from agent.provider.client import (
    MediaContent,
    ModelRequest,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolSchema,
)
from agent.provider.protocols.gemini_decode import GeminiDecoder
from agent.provider.protocols.messages import ContentBlocks, alternating_messages
from agent.provider.protocols.wire_client import WireClient
from agent.provider.quirks.reasoning_effort import THINKING_CONFIG
from agent.provider.quirks.reasoning_replay import THOUGHT_SIGNATURE
from agent.provider.quirks.refused_parts import (
    DOCUMENT_NAMES,
    IMAGES,
    REASONING_REPLAY,
    REFUSAL_PATTERN,
    UNSIGNED_CALLS,
    first_named,
)
from agent.provider.transport.wire_json import get_object, has_part
from agent.records.json import Json, JsonObject

SIGNATURE_PATTERN = re.compile(r"thought.?signature")


class GeminiClient(WireClient):
    """The client of the Gemini API."""

    decoder_class = GeminiDecoder
    session_refusals = frozenset({REASONING_REPLAY})

    @classmethod
    def path_for(cls, request: ModelRequest) -> str:
        name = request.model.wire_id or request.model.id
        return f"/models/{quote(name.removeprefix('models/'))}:streamGenerateContent?alt=sse"

    @staticmethod
    def build_body(request: ModelRequest) -> JsonObject:
        contents = alternating_messages(request.turns, _PARTS, assistant="model", key="parts")
        body: JsonObject = {"contents": list[Json](contents)}
        if request.system:
            body["systemInstruction"] = {"parts": [{"text": text} for text in request.system]}
        if request.tools:
            body["tools"] = [{"functionDeclarations": [_tool(tool) for tool in request.tools]}]
            if not request.calls_allowed:
                body["toolConfig"] = {"functionCallingConfig": {"mode": "NONE"}}
        generation: JsonObject = {}
        if request.max_output is not None:
            generation["maxOutputTokens"] = request.max_output
        if request.temperature is not None:
            generation["temperature"] = request.temperature
        return {**body, "generationConfig": generation} if generation else body

    @staticmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        text = message.lower()
        contents = body.get("contents")
        if SIGNATURE_PATTERN.search(text):
            if "missing" in text and has_part(contents, "functionCall"):
                return UNSIGNED_CALLS
            return REASONING_REPLAY if has_part(contents, THOUGHT_SIGNATURE) else None
        generation = get_object(body, "generationConfig")
        if THINKING_CONFIG in generation and "thinking" in text:
            return THINKING_CONFIG
        if not REFUSAL_PATTERN.search(text):
            return None
        media_named = "image" in text or first_named(text, DOCUMENT_NAMES)
        if media_named and has_part(contents, "inlineData"):
            return IMAGES
        return "temperature" if "temperature" in generation and "temperature" in text else None


def _tool(tool: ToolSchema) -> JsonObject:
    sent: JsonObject = {"name": tool.name, "description": tool.description}
    return {**sent, "parameters": tool.parameters} if "properties" in tool.parameters else sent


def _user_part(content: TextContent | MediaContent) -> JsonObject:
    if isinstance(content, TextContent):
        return {"text": content.text}
    return {"inlineData": {"mimeType": content.mime, "data": content.data}}


def _model_part(content: TextContent | ReasoningContent | ToolCallContent) -> JsonObject | None:
    match content:
        case TextContent():
            part: JsonObject = {"text": content.text}
        case ToolCallContent():
            part = {"functionCall": {"name": content.name, "args": content.input}}
        case ReasoningContent():
            return None
    signature = (content.opaque or {}).get(THOUGHT_SIGNATURE)
    return {**part, THOUGHT_SIGNATURE: signature} if signature else part


def _result_part(result: ToolResultContent) -> JsonObject:
    response: JsonObject = {"error" if result.is_error else "output": result.output}
    return {"functionResponse": {"name": result.name, "response": response}}


_PARTS = ContentBlocks(_user_part, _model_part, _result_part)
