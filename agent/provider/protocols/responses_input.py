"""A prepared conversation (``agent.provider.quirks``) as the input items of the Responses API.

Nothing is kept at the server (``store: false``). What the decoder keeps of reasoning is ``{"id",
"summary"}`` with the sealed ``encrypted_content`` or, from servers that seal nothing, its
``content``; of a text its ``phase``.
"""

from collections.abc import Iterable, Sequence

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.quirks.media import PDF
from agent.provider.quirks.structural_sharing import Content, Remembered
from agent.provider.transport.wire_json import arguments_of
from agent.records.json import Json, JsonObject

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


_ANSWER = Remembered(_answer)
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
                "arguments": arguments_of(content.input),
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
