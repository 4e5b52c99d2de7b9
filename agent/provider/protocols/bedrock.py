"""Amazon Bedrock's Converse API, with a Bedrock API key as bearer token."""

import json
import re
from collections.abc import Mapping
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
from agent.provider.protocols.bedrock_decode import BedrockDecoder
from agent.provider.protocols.messages import Blocks, alternating
from agent.provider.quirks.media import PDF
from agent.provider.quirks.reasoning_effort import THINKING
from agent.provider.quirks.refused_parts import (
    CACHE_MARKS,
    IMAGES,
    REASONING_REPLAY,
    REFUSAL_PATTERN,
    TEMPERATURE,
)
from agent.provider.tool_names import ToolNames
from agent.provider.transport.framing import AwsFrames, Framing
from agent.provider.transport.wire_json import get_object
from agent.records.json import Json, JsonObject

MORE = "additionalModelRequestFields"
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9()\[\] -]+|\s{2,}")
LONGEST_NAME = 200
"""Letters, digits, brackets, hyphens and single spaces are all that a document's name may hold."""


class BedrockWire:
    """The ``Wire`` of Bedrock's Converse at *provider*."""

    per_session: frozenset[str] = frozenset({REASONING_REPLAY})

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def path(self, request: ModelRequest) -> str:
        name = request.model.wire_id or request.model.id
        return f"/model/{quote(name, safe='')}/converse-stream"

    def framing(self) -> Framing:
        return AwsFrames()

    def encode(self, request: ModelRequest) -> JsonObject:
        body: JsonObject = {"messages": list[Json](alternating(request.turns, _BLOCKS))}
        if request.system:
            body["system"] = [{"text": text} for text in request.system]
        inference: JsonObject = {}
        if request.max_output is not None:
            inference["maxTokens"] = request.max_output
        if request.temperature is not None:
            inference["temperature"] = request.temperature
        if inference:
            body["inferenceConfig"] = inference
        if request.tools:
            body["toolConfig"] = {"tools": [_tool(tool) for tool in request.tools]}
        return body

    def headers(self, body: JsonObject) -> Mapping[str, str]:
        _ = body
        return {"accept": "application/vnd.amazon.eventstream"}

    def decoder(self, request: ModelRequest) -> BedrockDecoder:
        return BedrockDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        text = message.lower()
        said = json.dumps(body.get("messages"))
        if "cachePoint" in said and "cach" in text:
            return CACHE_MARKS
        if MORE in body and re.search(r"thinking|reasoning|effort|budget", text):
            return THINKING
        if "reasoningContent" in said and re.search(r"signature|thinking|reasoning", text):
            return REASONING_REPLAY
        if '"image"' in said and "image" in text:
            return IMAGES
        if '"document"' in said and "document" in text:
            return IMAGES
        inference = get_object(body, "inferenceConfig")
        if "temperature" in inference and "temperature" in text and REFUSAL_PATTERN.search(text):
            return TEMPERATURE
        return None


def _tool(tool: ToolSchema) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": {}} | tool.parameters
    return {
        "toolSpec": {
            "name": tool.name,
            "description": tool.description or tool.name,
            "inputSchema": {"json": schema},
        }
    }


def _said(content: TextContent | MediaContent) -> JsonObject:
    if isinstance(content, TextContent):
        return {"text": content.text}
    source: JsonObject = {"bytes": content.data}
    if content.mime == PDF:
        name = NOT_IN_NAMES.sub(" ", content.name).strip() or "document"
        return {"document": {"format": "pdf", "name": name[:LONGEST_NAME], "source": source}}
    return {"image": {"format": content.mime.partition("/")[2], "source": source}}


def _told(content: TextContent | ReasoningContent | ToolCallContent) -> JsonObject:
    match content:
        case TextContent():
            return {"text": content.text}
        case ReasoningContent():
            opaque = content.opaque or {}
            if "redacted" in opaque:
                return {"reasoningContent": {"redactedContent": opaque["redacted"]}}
            thought: JsonObject = {"text": content.text, "signature": opaque.get("signature")}
            return {"reasoningContent": {"reasoningText": thought}}
        case ToolCallContent():
            use: JsonObject = {"toolUseId": content.call_id, "name": content.name}
            return {"toolUse": {**use, "input": content.input}}


def _result(result: ToolResultContent) -> JsonObject:
    said: list[Json] = [_said(c) for c in (TextContent(result.output), *result.media)]
    status = "error" if result.is_error else "success"
    return {"toolResult": {"toolUseId": result.call_id, "content": said, "status": status}}


_BLOCKS = Blocks(_said, _told, _result)
