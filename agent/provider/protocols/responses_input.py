"""Our turns as the input items of OpenAI's Responses API: a pure transform (spec 5, R4).

Nothing is kept at the server (``store: false``): each call has its output after it, and a
reasoning item goes back encrypted, to the model that made it, and only with the item that
followed it. What the decoder keeps of one is ``{"id", "encrypted_content", "summary"}``.
"""

import json
from collections.abc import Iterable, Sequence

from agent.jsontypes import Json, JsonObject
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
from agent.provider.protocols.anthropic_messages import LOST_RESULT, NO_OUTPUT
from agent.provider.protocols.call_ids import CallIds


def items_of(turns: Iterable[Turn], *, model: str, vision: bool = False) -> list[JsonObject]:
    """The ``input`` for *turns*, to be sent to *model* (``provider/model``)."""
    ids = CallIds()
    items: list[JsonObject] = []
    open_calls: list[tuple[str, str]] = []
    thoughts: set[str] = set()
    for turn in turns:
        results = turn.content if isinstance(turn, ToolTurn) else ()
        items += _outputs(open_calls, results)
        open_calls = []
        if isinstance(turn, UserTurn):
            parts = _user_parts(turn.content, vision=vision)
            if parts:
                items.append({"type": "message", "role": "user", "content": parts})
        elif isinstance(turn, AssistantTurn):
            said, open_calls = _assistant(turn, ids, thoughts, same=turn.model in ("", model))
            items += said
    return items + _outputs(open_calls, ())


def _assistant(
    turn: AssistantTurn, ids: CallIds, thoughts: set[str], *, same: bool
) -> tuple[list[JsonObject], list[tuple[str, str]]]:
    """The items of one answer and its calls as (stored id, sent id)."""
    items: list[JsonObject] = []
    calls: list[tuple[str, str]] = []
    waiting: list[JsonObject] = []
    for content in turn.content:
        match content:
            case ReasoningContent():
                item = _reasoning(content, thoughts) if same else None
                waiting += [item] if item is not None else []
                continue
            case TextContent() if content.text.strip():
                part: JsonObject = {"type": "output_text", "text": content.text}
                said: JsonObject = {"type": "message", "role": "assistant", "content": [part]}
            case ToolCallContent():
                sent = ids.take(content.call_id)
                calls.append((content.call_id, sent))
                said = {
                    "type": "function_call",
                    "call_id": sent,
                    "name": content.name,
                    "arguments": json.dumps(content.input, ensure_ascii=False),
                }
            case _:
                continue
        items += [*waiting, said]  # reasoning that nothing follows is refused, so it waits
        waiting = []
    return items, calls


def _reasoning(content: ReasoningContent, thoughts: set[str]) -> JsonObject | None:
    opaque = content.opaque or {}
    name = opaque.get("id")
    if not isinstance(name, str) or name in thoughts or not opaque.get("encrypted_content"):
        return None
    thoughts.add(name)
    return {
        "type": "reasoning",
        "id": name,
        "summary": opaque.get("summary") or [],
        "encrypted_content": opaque["encrypted_content"],
    }


def _outputs(
    calls: Sequence[tuple[str, str]], results: Sequence[ToolResultContent]
) -> list[JsonObject]:
    left = list(results)
    items: list[JsonObject] = []
    for call_id, sent in calls:
        found = next((result for result in left if result.call_id == call_id), None)
        output = LOST_RESULT
        if found is not None:
            left.remove(found)
            output = found.output or NO_OUTPUT
        items.append({"type": "function_call_output", "call_id": sent, "output": output})
    return items


def _user_parts(content: Sequence[TextContent | MediaContent], *, vision: bool) -> list[Json]:
    parts: list[Json] = []
    for item in content:
        match item:
            case TextContent() if item.text.strip():
                parts.append({"type": "input_text", "text": item.text})
            case MediaContent() if vision and item.mime.startswith("image/"):
                url = f"data:{item.mime};base64,{item.data}"
                parts.append({"type": "input_image", "image_url": url})
            case MediaContent():
                text = f"[Attachment ({item.mime}): this model cannot see it.]"
                parts.append({"type": "input_text", "text": text})
            case _:
                pass
    return parts
