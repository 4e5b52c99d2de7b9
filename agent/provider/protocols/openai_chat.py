"""OpenAI chat completions, and everything that is compatible with it."""

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
    UserTurn,
)
from agent.provider.protocols.messages import Messages, functions
from agent.provider.protocols.openai_chat_decode import ChatDecoder
from agent.provider.quirks.body_fields import MAX_COMPLETION_TOKENS, MAX_TOKENS
from agent.provider.quirks.media import PDF
from agent.provider.quirks.refused_parts import (
    ALTERNATING_ROLES,
    CACHE_MARKS,
    DOCUMENT_NAMES,
    IMAGES,
    REASONING_REPLAY,
    REFUSAL_PATTERN,
    REQUIREMENT_PATTERN,
    first_named,
)
from agent.provider.tool_names import ToolNames
from agent.provider.transport.framing import Framing
from agent.provider.transport.sse import BodyDecoder
from agent.provider.transport.wire_json import encode_arguments
from agent.records.json import Json, JsonObject

PATH = "/chat/completions"


class ChatWire:
    """The ``Wire`` of chat completions at *provider*."""

    per_session: frozenset[str] = frozenset()

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
        _ = body
        return {}

    def decoder(self, request: ModelRequest) -> ChatDecoder:
        return ChatDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        return refused(body, message)


OPTIONAL = (
    "stream_options", "reasoning_effort", "temperature", "prompt_cache_key", "usage", "reasoning",
    "thinking", "enable_thinking", "thinking_budget", "chat_template_kwargs", "tool_choice",
    MAX_TOKENS, MAX_COMPLETION_TOKENS,
)  # fmt: skip
REASONING_FIELDS = ("reasoning_content", "reasoning_details", "reasoning_opaque", "reasoning")
IN_TURN = re.compile(r"roles must alternate|alternate between|consecutive (user|assistant)")


def encode(request: ModelRequest) -> JsonObject:
    """The body for the prepared *request*."""
    model = request.model
    body: JsonObject = {
        "model": model.wire_id or model.id,
        "messages": messages_of(request),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = functions(request.tools)
        if not request.calls_allowed:
            body["tool_choice"] = "none"
    if request.max_output is not None:
        body[MAX_TOKENS] = request.max_output
    if request.temperature is not None:
        body["temperature"] = request.temperature
    return body


def refused(body: JsonObject, message: str) -> str | None:
    """What a server's refusal objects to that can be left out, None if nothing is known.

    *message* is the error's sentence. The answer is a name for the quirks' *without*.
    """
    text = message.lower()
    if IN_TURN.search(text):
        return ALTERNATING_ROLES
    if not REFUSAL_PATTERN.search(text):
        return None
    messages = json.dumps(body.get("messages"))
    if "cache_control" in text and '"cache_control"' in messages:
        return CACHE_MARKS
    if name := first_named(text, (name for name in OPTIONAL if name in body)):
        return name
    if "image" in text and '"image_url"' in messages:
        return IMAGES
    if first_named(text, DOCUMENT_NAMES) and '"file_data"' in messages:
        return IMAGES
    replayed = (name for name in REASONING_FIELDS if f'"{name}"' in messages)
    if not REQUIREMENT_PATTERN.search(text) and first_named(text, replayed):
        return REASONING_REPLAY
    return None


def messages_of(request: ModelRequest) -> list[Json]:
    """The ``messages`` of *request*, the system prompt first."""
    return _MESSAGES.of(request)


def _said(turn: UserTurn) -> JsonObject:
    return {"content": _user_content(turn.content)}


def _user_content(content: Sequence[TextContent | MediaContent]) -> str | list[Json]:
    texts = [item.text for item in content if isinstance(item, TextContent)]
    if len(texts) == len(content):
        return "\n\n".join(texts)
    return [
        _media(item) if isinstance(item, MediaContent) else {"type": "text", "text": item.text}
        for item in content
    ]


def _media(media: MediaContent) -> JsonObject:
    url = f"data:{media.mime};base64,{media.data}"
    if media.mime == PDF:
        file: JsonObject = {"filename": media.name or "document.pdf", "file_data": url}
        return {"type": "file", "file": file}
    return {"type": "image_url", "image_url": {"url": url}}


def _assistant(turn: AssistantTurn) -> JsonObject:
    text = "\n\n".join(item.text for item in turn.content if isinstance(item, TextContent))
    message: JsonObject = {"content": text or None}
    thoughts = [item for item in turn.content if isinstance(item, ReasoningContent)]
    details = _add_reasoning(message, thoughts, text)
    sent: list[Json] = []
    for call in turn.content:
        if not isinstance(call, ToolCallContent):
            continue
        entry: JsonObject = {
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": encode_arguments(call.input)},
        }
        opaque = call.opaque or {}
        if "extra_content" in opaque:
            entry["extra_content"] = opaque["extra_content"]
        details += _details(opaque)
        sent.append(entry)
    if sent:
        message["tool_calls"] = sent
    if details:
        message["reasoning_details"] = details
    return message


def _add_reasoning(
    message: JsonObject, thoughts: Iterable[ReasoningContent], text: str
) -> list[Json]:
    """Put reasoning back under the very names that it came with; what came as details is told
    to the caller."""
    by_field: dict[str, str] = {}
    details: list[Json] = []
    for thought in thoughts:
        if thought.field_name and thought.text:
            by_field[thought.field_name] = by_field.get(thought.field_name, "") + thought.text
        opaque = thought.opaque or {}
        details += _details(opaque)
        if "reasoning_opaque" in opaque:
            message["reasoning_opaque"] = opaque["reasoning_opaque"]
    for name, thinking in by_field.items():
        if name != "content":
            message[name] = thinking
            continue
        # Mistral's reasoning models send and take thinking as a part of the content.
        parts: list[Json] = [{"type": "thinking", "thinking": [{"type": "text", "text": thinking}]}]
        if text:
            parts.append({"type": "text", "text": text})
        message["content"] = parts
    return details


def _details(opaque: JsonObject) -> list[Json]:
    details = opaque.get("reasoning_details")
    return details if isinstance(details, list) else []


def _result(result: ToolResultContent) -> JsonObject:
    return {"tool_call_id": result.call_id, "content": result.output}


_MESSAGES = Messages(_said, _assistant, _result)
