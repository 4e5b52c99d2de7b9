"""OpenAI's chat completions, and everything that is compatible with them."""

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
    UserTurn,
)
from agent.provider.protocols.messages import TurnMessages, function_tools
from agent.provider.protocols.openai_chat_decode import ChatDecoder
from agent.provider.protocols.wire_client import WireClient
from agent.provider.quirks.body_fields import MAX_COMPLETION_TOKENS, MAX_TOKENS
from agent.provider.quirks.media import PDF
from agent.provider.quirks.target import (
    ALTERNATING_ROLES,
    CACHE_MARKS,
    DOCUMENT_NAMES,
    IMAGES,
    REASONING_REPLAY,
    REFUSAL_PATTERN,
    REQUIREMENT_PATTERN,
    first_named,
)
from agent.provider.transport.wire_json import encode_arguments, has_part
from agent.records.json import Json, JsonObject

OPTIONAL_FIELDS = (
    "stream_options", "reasoning_effort", "temperature", "prompt_cache_key", "usage", "reasoning",
    "thinking", "enable_thinking", "thinking_budget", "chat_template_kwargs", "tool_choice",
    MAX_TOKENS, MAX_COMPLETION_TOKENS,
)  # fmt: skip
REASONING_FIELDS = ("reasoning_content", "reasoning_details", "reasoning_opaque", "reasoning")
ALTERNATION_PATTERN = re.compile(
    r"roles must alternate|alternate between|consecutive (user|assistant)"
)


class ChatClient(WireClient):
    """The client of chat completions."""

    decoder_class = ChatDecoder
    path = "/chat/completions"

    @staticmethod
    def build_body(request: ModelRequest) -> JsonObject:
        model = request.model
        body: JsonObject = {
            "model": model.wire_id or model.id,
            "messages": chat_messages(request),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.tools:
            body["tools"] = function_tools(request.tools)
            if not request.calls_allowed:
                body["tool_choice"] = "none"
        if request.max_output is not None:
            body[MAX_TOKENS] = request.max_output
        if request.temperature is not None:
            body["temperature"] = request.temperature
        return body

    @staticmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        text = message.lower()
        if ALTERNATION_PATTERN.search(text):
            return ALTERNATING_ROLES
        if not REFUSAL_PATTERN.search(text):
            return None
        messages = body.get("messages")
        if "cache_control" in text and has_part(messages, "cache_control"):
            return CACHE_MARKS
        if name := first_named(text, (name for name in OPTIONAL_FIELDS if name in body)):
            return name
        if "image" in text and has_part(messages, "image_url"):
            return IMAGES
        if first_named(text, DOCUMENT_NAMES) and has_part(messages, "file_data"):
            return IMAGES
        replayed = (name for name in REASONING_FIELDS if has_part(messages, name))
        if not REQUIREMENT_PATTERN.search(text) and first_named(text, replayed):
            return REASONING_REPLAY
        return None


def chat_messages(request: ModelRequest) -> list[Json]:
    """Return the ``messages`` of *request*, the system prompt first."""
    return _MESSAGES.convert(request)


def _user_message(turn: UserTurn) -> JsonObject:
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


def _assistant_message(turn: AssistantTurn) -> JsonObject:
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
        details += _reasoning_details(opaque)
        sent.append(entry)
    if sent:
        message["tool_calls"] = sent
    if details:
        message["reasoning_details"] = details
    return message


def _add_reasoning(
    message: JsonObject, thoughts: Iterable[ReasoningContent], text: str
) -> list[Json]:
    """Add reasoning to *message* under the field names that it came with.

    Return the ``reasoning_details``, which the caller adds together with those of the calls.
    """
    by_field: dict[str, str] = {}
    details: list[Json] = []
    for thought in thoughts:
        if thought.field_name and thought.text:
            by_field[thought.field_name] = by_field.get(thought.field_name, "") + thought.text
        opaque = thought.opaque or {}
        details += _reasoning_details(opaque)
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


def _reasoning_details(opaque: JsonObject) -> list[Json]:
    details = opaque.get("reasoning_details")
    return details if isinstance(details, list) else []


def _result_message(result: ToolResultContent) -> JsonObject:
    return {"tool_call_id": result.call_id, "content": result.output}


_MESSAGES = TurnMessages(_user_message, _assistant_message, _result_message)
