"""Google's Gemini API, and what is compatible with it."""

import json
import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

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
from agent.provider.protocols.gemini_decode import GeminiDecoder
from agent.provider.protocols.messages import Blocks, alternating
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
from agent.provider.tool_names import ToolNames
from agent.provider.transport.framing import Framing
from agent.provider.transport.sse import BodyDecoder
from agent.provider.transport.wire_json import get_object
from agent.records.json import Json, JsonObject


class GeminiWire:
    """The ``Wire`` of Gemini at *provider*."""

    per_session: frozenset[str] = frozenset({REASONING_REPLAY})

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


SIGNATURES = re.compile(r"thought.?signature")


def encode(request: ModelRequest) -> JsonObject:
    """The body for the prepared *request*."""
    body: JsonObject = {"contents": list[Json](_contents(request.turns))}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": text} for text in request.system]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_declared(tool) for tool in request.tools]}]
        if not request.calls_allowed:
            body["toolConfig"] = {"functionCallingConfig": {"mode": "NONE"}}
    generation: JsonObject = {}
    if request.max_output is not None:
        generation["maxOutputTokens"] = request.max_output
    if request.temperature is not None:
        generation["temperature"] = request.temperature
    return {**body, "generationConfig": generation} if generation else body


def _declared(tool: ToolSchema) -> JsonObject:
    sent: JsonObject = {"name": tool.name, "description": tool.description}
    return {**sent, "parameters": tool.parameters} if "properties" in tool.parameters else sent


def _contents(turns: Sequence[Turn]) -> list[JsonObject]:
    return alternating(turns, _BLOCKS, assistant="model", key="parts")


def _said(content: TextContent | MediaContent) -> JsonObject:
    if isinstance(content, TextContent):
        return {"text": content.text}
    return {"inlineData": {"mimeType": content.mime, "data": content.data}}


def _told(content: TextContent | ReasoningContent | ToolCallContent) -> JsonObject | None:
    match content:
        case TextContent():
            part: JsonObject = {"text": content.text}
        case ToolCallContent():
            part = {"functionCall": {"name": content.name, "args": content.input}}
        case ReasoningContent():
            return None
    signature = (content.opaque or {}).get(THOUGHT_SIGNATURE)
    return {**part, THOUGHT_SIGNATURE: signature} if signature else part


def _result(result: ToolResultContent) -> JsonObject:
    said: JsonObject = {"error" if result.is_error else "output": result.output}
    return {"functionResponse": {"name": result.name, "response": said}}


_BLOCKS = Blocks(_said, _told, _result)


def refused(body: JsonObject, message: str) -> str | None:
    """What a refusal objects to that can be left out, None if nothing is known.

    *message* is the error's sentence. The answer is a name for the quirks' *without*.
    """
    text = message.lower()
    said = json.dumps(body.get("contents"))
    if SIGNATURES.search(text):
        if "missing" in text and '"functionCall"' in said:
            return UNSIGNED_CALLS
        return REASONING_REPLAY if f'"{THOUGHT_SIGNATURE}"' in said else None
    generation = get_object(body, "generationConfig")
    if THINKING_CONFIG in generation and "thinking" in text:
        return THINKING_CONFIG
    if not REFUSAL_PATTERN.search(text):
        return None
    if '"inlineData"' in said and ("image" in text or first_named(text, DOCUMENT_NAMES)):
        return IMAGES
    return "temperature" if "temperature" in generation and "temperature" in text else None
