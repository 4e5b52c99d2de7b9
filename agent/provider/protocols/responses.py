"""OpenAI's Responses API, and servers that are compatible with it: requests.

Nothing is stored at the server (``store: false``). The decoder keeps ``{"id", "summary"}`` of
reasoning with its ``encrypted_content`` or, from servers that encrypt nothing, its ``content``; of
a text it keeps the ``phase``.
"""

import re
from collections.abc import Iterable, Sequence

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
from agent.provider.protocols.wire_client import WireClient
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
from agent.provider.transport.wire_json import encode_arguments, has_part
from agent.records.json import Json, JsonObject

OPTIONAL_FIELDS = (
    "reasoning",
    "temperature",
    "prompt_cache_key",
    INCLUDE,
    "max_output_tokens",
    "store",
    "tool_choice",
)
STALE_REASONING_PATTERN = re.compile(
    r"required following item|encrypted[_ ]content|could not be (verified|decrypted)|"
    r"item (with id )?'?rs_\w*'? .{0,40}not found"
)
"""A refusal of reasoning that was sent back."""

PHASE = "phase"
"""The field that tells whether a message comments on the work or ends it."""


class ResponsesClient(WireClient):
    """The client of the Responses API."""

    decoder_class = ResponsesDecoder
    session_refusals = frozenset({REASONING_REPLAY})
    path = "/responses"

    @staticmethod
    def build_body(request: ModelRequest) -> JsonObject:
        name = request.model.wire_id or request.model.id
        items = list[Json](input_items(request.turns))
        body: JsonObject = {"model": name, "input": items, "stream": True, "store": False}
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

    @staticmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        text = message.lower()
        items = body.get("input")
        if STALE_REASONING_PATTERN.search(text) and has_part(items, "encrypted_content"):
            return REASONING_REPLAY
        if "image" in text and has_part(items, "input_image"):
            return IMAGES
        if first_named(text, DOCUMENT_NAMES) and has_part(items, "input_file"):
            return IMAGES
        reasoning = body.get("reasoning")
        has_summary = isinstance(reasoning, dict) and "summary" in reasoning
        if has_summary and re.search(r"summar(y|ies)", text):
            return SUMMARY
        if not REFUSAL_PATTERN.search(text):
            return None
        if INCLUDE in body and "encrypted content" in text:
            return INCLUDE
        if PHASE in text and has_part(items, PHASE):
            return REASONING_REPLAY
        return first_named(text, (name for name in OPTIONAL_FIELDS if name in body))


def input_items(turns: Iterable[Turn]) -> list[JsonObject]:
    """Return the ``input`` for *turns*. The items are copies, to which a request can add fields."""
    items: list[JsonObject] = []
    for turn in turns:
        match turn:
            case UserTurn():
                content = _input_parts(turn.content)
                items.append({"type": "message", "role": "user", "content": content})
            case AssistantTurn():
                items += [{**item} for item in _ASSISTANT_ITEMS(turn)]
            case ToolTurn():
                items += [_output_item(result) for result in turn.content]
    return items


def _assistant_items(turn: AssistantTurn) -> tuple[JsonObject, ...]:
    return tuple(map(_assistant_item, turn.content))


_ASSISTANT_ITEMS = IdentityCache(_assistant_items)


def _assistant_item(content: Content) -> JsonObject:
    match content:
        case TextContent():
            part: JsonObject = {"type": "output_text", "text": content.text}
            message: JsonObject = {"type": "message", "role": "assistant", "content": [part]}
            phase = (content.opaque or {}).get(PHASE)
            return {**message, PHASE: phase} if phase else message
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


def _output_item(result: ToolResultContent) -> JsonObject:
    output: Json = result.output
    if result.media:
        output = _input_parts((TextContent(result.output), *result.media))
    return {"type": "function_call_output", "call_id": result.call_id, "output": output}


def _input_parts(content: Sequence[TextContent | MediaContent]) -> list[Json]:
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
