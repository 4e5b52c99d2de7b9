"""A prepared conversation (``agent.provider.quirks``) as chat-completions messages."""

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
from agent.provider.protocols.messages import Messages
from agent.provider.quirks.media import PDF
from agent.provider.transport.wire_json import arguments_of
from agent.records.json import Json, JsonObject


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
            "function": {"name": call.name, "arguments": arguments_of(call.input)},
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
