"""The body of a request to Gemini, and what to leave out of it when a server refuses a part.

A thought signature goes back to the very part that it came with; the results of an answer's
calls stand together right after it.
"""

import json
import re
from collections.abc import Sequence

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
from agent.provider.protocols.alternating import Blocks, alternating
from agent.provider.quirks.reasoning_effort import THINKING_CONFIG
from agent.provider.quirks.reasoning_replay import SIGNATURE
from agent.provider.quirks.refused_parts import (
    ATTACHED,
    IMAGES,
    REASONING,
    REFUSING,
    UNSIGNED,
    named,
)
from agent.provider.transport.wire_json import object_in
from agent.records.json import Json, JsonObject

SIGNATURES = re.compile(r"thought.?signature")


def encode(request: ModelRequest) -> JsonObject:
    """The body for the prepared *request*."""
    body: JsonObject = {"contents": list[Json](_contents(request.turns))}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": text} for text in request.system]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_declared(tool) for tool in request.tools]}]
        if not request.may_call:
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
    signature = (content.opaque or {}).get(SIGNATURE)
    return {**part, SIGNATURE: signature} if signature else part


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
            return UNSIGNED
        return REASONING if f'"{SIGNATURE}"' in said else None
    generation = object_in(body, "generationConfig")
    if THINKING_CONFIG in generation and "thinking" in text:
        return THINKING_CONFIG
    if not REFUSING.search(text):
        return None
    if '"inlineData"' in said and ("image" in text or named(text, ATTACHED)):
        return IMAGES
    return "temperature" if "temperature" in generation and "temperature" in text else None
