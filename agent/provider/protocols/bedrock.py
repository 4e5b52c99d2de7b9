"""Amazon Bedrock's Converse API: requests, with an API key or signed with AWS credentials."""

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
from agent.provider.protocols.messages import ContentBlocks, alternating_messages
from agent.provider.protocols.wire_client import WireClient
from agent.provider.quirks.media import PDF
from agent.provider.quirks.reasoning_effort import THINKING
from agent.provider.quirks.refused_parts import (
    CACHE_MARKS,
    IMAGES,
    REASONING_REPLAY,
    REFUSAL_PATTERN,
    TEMPERATURE,
)
from agent.provider.transport.framing import AwsFrames
from agent.provider.transport.wire_json import get_object, has_part
from agent.records.json import Json, JsonObject

MODEL_FIELDS = "additionalModelRequestFields"
INVALID_IN_NAMES = re.compile(r"[^A-Za-z0-9()\[\] -]+|\s{2,}")
"""Whatever a document's name must not contain: only letters, digits, brackets, hyphens and single
spaces are valid."""

MAX_NAME = 200


class BedrockClient(WireClient):
    """The client of Bedrock's Converse API."""

    decoder_class = BedrockDecoder
    framing_class = AwsFrames
    session_refusals = frozenset({REASONING_REPLAY})

    @classmethod
    def path_for(cls, request: ModelRequest) -> str:
        name = request.model.wire_id or request.model.id
        return f"/model/{quote(name, safe='')}/converse-stream"

    @classmethod
    def protocol_headers(cls, body: JsonObject) -> Mapping[str, str]:
        _ = body
        return {"accept": "application/vnd.amazon.eventstream"}

    @staticmethod
    def build_body(request: ModelRequest) -> JsonObject:
        messages = alternating_messages(request.turns, _BLOCKS)
        body: JsonObject = {"messages": list[Json](messages)}
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

    @staticmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        text = message.lower()
        messages = body.get("messages")
        if "cach" in text and has_part(messages, "cachePoint"):
            return CACHE_MARKS
        if MODEL_FIELDS in body and re.search(r"thinking|reasoning|effort|budget", text):
            return THINKING
        if re.search(r"signature|thinking|reasoning", text) and has_part(
            messages, "reasoningContent"
        ):
            return REASONING_REPLAY
        if "image" in text and has_part(messages, "image"):
            return IMAGES
        if "document" in text and has_part(messages, "document"):
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


def _user_block(content: TextContent | MediaContent) -> JsonObject:
    if isinstance(content, TextContent):
        return {"text": content.text}
    source: JsonObject = {"bytes": content.data}
    if content.mime == PDF:
        name = INVALID_IN_NAMES.sub(" ", content.name).strip() or "document"
        return {"document": {"format": "pdf", "name": name[:MAX_NAME], "source": source}}
    return {"image": {"format": content.mime.partition("/")[2], "source": source}}


def _assistant_block(content: TextContent | ReasoningContent | ToolCallContent) -> JsonObject:
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


def _result_block(result: ToolResultContent) -> JsonObject:
    contents = (TextContent(result.output), *result.media)
    blocks: list[Json] = [_user_block(content) for content in contents]
    status = "error" if result.is_error else "success"
    return {"toolResult": {"toolUseId": result.call_id, "content": blocks, "status": status}}


_BLOCKS = ContentBlocks(_user_block, _assistant_block, _result_block)
