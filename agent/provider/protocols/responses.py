"""OpenAI's Responses API, and what is compatible with it."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ModelRequest,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.protocols.responses_decode import ResponsesDecoder
from agent.provider.quirks.body_fields import INCLUDE
from agent.provider.quirks.media import PDF
from agent.provider.quirks.reasoning_effort import SUMMARY
from agent.provider.quirks.refused_parts import (
    DOCUMENT_NAMES,
    IMAGES,
    REASONING_REPLAY,
    REFUSAL_PATTERN,
    first_named,
)
from agent.provider.quirks.structural_sharing import Content, IdentityCache
from agent.provider.tool_names import ToolNames
from agent.provider.transport.framing import Framing
from agent.provider.transport.sse import BodyDecoder
from agent.provider.transport.wire_json import encode_arguments
from agent.records.json import Json, JsonObject

PATH = "/responses"


class ResponsesWire:
    """The ``Wire`` of the Responses API at *provider*."""

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
        return {}

    def decoder(self, request: ModelRequest) -> ResponsesDecoder:
        return ResponsesDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        return refused(body, message)


OPTIONAL = (
    "reasoning",
    "temperature",
    "prompt_cache_key",
    INCLUDE,
    "max_output_tokens",
    "store",
    "tool_choice",
)
STALE = re.compile(
    r"required following item|encrypted[_ ]content|could not be (verified|decrypted)|"
    r"item (with id )?'?rs_\w*'? .{0,40}not found"
)
"""A refusal of reasoning that was sent back."""


def encode(request: ModelRequest) -> JsonObject:
    """The body for the prepared *request*."""
    model = request.model
    name = model.wire_id or model.id
    items = items_of(request.turns)
    body: JsonObject = {"model": name, "input": list[Json](items), "stream": True, "store": False}
    if request.system:
        body["instructions"] = "\n\n".join(request.system)
    if request.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": {"type": "object", "properties": {}} | tool.parameters,
                "strict": False,
            }
            for tool in request.tools
        ]
        if not request.calls_allowed:
            body["tool_choice"] = "none"
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.max_output is not None:
        body["max_output_tokens"] = request.max_output
    return body


def refused(body: JsonObject, message: str) -> str | None:
    """What a refusal objects to that can be left out, None if nothing is known.

    *message* is the error's sentence. The answer is a name for the quirks' *without*.
    """
    text = message.lower()
    items = json.dumps(body.get("input"))
    if '"encrypted_content"' in items and STALE.search(text):
        return REASONING_REPLAY
    if "image" in text and '"input_image"' in items:
        return IMAGES
    if first_named(text, DOCUMENT_NAMES) and '"input_file"' in items:
        return IMAGES
    reasoning = body.get("reasoning")
    if isinstance(reasoning, dict) and "summary" in reasoning and re.search(r"summar(y|ies)", text):
        return SUMMARY
    if not REFUSAL_PATTERN.search(text):
        return None
    if INCLUDE in body and "encrypted content" in text:
        return INCLUDE
    if PHASE in text and f'"{PHASE}"' in items:
        return REASONING_REPLAY
    return first_named(text, (name for name in OPTIONAL if name in body))


PHASE = "phase"
"""Whether a message comments on the work or ends it."""


def items_of(turns: Iterable[Turn]) -> list[JsonObject]:
    """The ``input`` for *turns*."""
    items: list[JsonObject] = []
    for turn in turns:
        match turn:
            case UserTurn():
                content = _parts(turn.content)
                items.append({"type": "message", "role": "user", "content": content})
            case AssistantTurn():
                items += [{**item} for item in _ANSWER(turn)]
            case ToolTurn():
                items += [_output(result) for result in turn.content]
    return items


def _answer(turn: AssistantTurn) -> tuple[JsonObject, ...]:
    return tuple(map(_said, turn.content))


_ANSWER = IdentityCache(_answer)
"""Each request has a copy of the items, to which it may add."""


def _said(content: Content) -> JsonObject:
    match content:
        case TextContent():
            part: JsonObject = {"type": "output_text", "text": content.text}
            said: JsonObject = {"type": "message", "role": "assistant", "content": [part]}
            phase = (content.opaque or {}).get(PHASE)
            return {**said, PHASE: phase} if phase else said
        case ReasoningContent():
            opaque = content.opaque or {}
            whole = {key: opaque[key] for key in ("encrypted_content", "content") if key in opaque}
            summary = opaque.get("summary") or []
            return {"type": "reasoning", "id": opaque.get("id"), "summary": summary, **whole}
        case ToolCallContent():
            return {
                "type": "function_call",
                "call_id": content.call_id,
                "name": content.name,
                "arguments": encode_arguments(content.input),
            }


def _output(result: ToolResultContent) -> JsonObject:
    output: Json = result.output
    if result.media:
        output = _parts((TextContent(result.output), *result.media))
    return {"type": "function_call_output", "call_id": result.call_id, "output": output}


def _parts(content: Sequence[TextContent | MediaContent]) -> list[Json]:
    return [
        _media(item)
        if isinstance(item, MediaContent)
        else {"type": "input_text", "text": item.text}
        for item in content
    ]


def _media(media: MediaContent) -> JsonObject:
    url = f"data:{media.mime};base64,{media.data}"
    if media.mime == PDF:
        name = media.name or "document.pdf"
        return {"type": "input_file", "filename": name, "file_data": url}
    return {"type": "input_image", "image_url": url}
