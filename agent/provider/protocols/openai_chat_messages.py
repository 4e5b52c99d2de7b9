"""Our turns as chat-completions messages (spec 5, R4).

What is sent holds for every server: the system message first; each assistant tool call followed
by exactly one tool message; ids unique in a message; ``arguments`` a JSON object; no empty
assistant message.
"""

import hashlib
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.jsontypes import Json, JsonObject
from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ModelRequest,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolTurn,
    UserTurn,
)
from agent.provider.protocols.placeholders import LOST_RESULT, NO_OUTPUT, PDF, Sight, unseen
from agent.provider.protocols.refusals import REASONING
from agent.provider.protocols.tool_names import clean
from agent.provider.protocols.wire_json import arguments_of
from agent.provider.providers import Quirks

LETTERS = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class _Call:
    """A call as it is sent: *sent_id* may differ from the stored *call_id*."""

    call_id: str
    sent_id: str
    name: str


def messages_of(request: ModelRequest, quirks: Quirks, without: frozenset[str]) -> list[Json]:
    """The ``messages`` of *request*. *without* holds names of ``refusals``."""
    sight = Sight.of(request.model, without)
    messages: list[Json] = []
    system = "\n\n".join(block for block in request.system if block.strip())
    if system:
        messages.append({"role": "system", "content": system})
    open_calls: list[_Call] = []
    for turn in request.turns:
        if isinstance(turn, ToolTurn):
            messages.extend(_results(open_calls, turn.content, sight=sight))
            open_calls = []
            continue
        messages.extend(_results(open_calls, (), sight=sight))
        open_calls = []
        if isinstance(turn, UserTurn):
            content = _user_content(turn.content, sight=sight)
            if content:
                messages.append({"role": "user", "content": content})
            continue
        same = turn.model in ("", request.model.full_name)
        replay = same and quirks.replay_reasoning and REASONING not in without
        open_calls = _calls(turn, quirks)
        message = _assistant(turn, open_calls, replay=replay)
        if message is not None:
            messages.append(message)
    messages.extend(_results(open_calls, (), sight=sight))
    return messages


def _user_content(
    content: Sequence[TextContent | MediaContent], *, sight: Sight
) -> str | list[Json]:
    parts: list[Json] = []
    for item in content:
        if isinstance(item, MediaContent):
            parts.append(_media(item, sight))
        elif item.text.strip():
            parts.append({"type": "text", "text": item.text})
    texts = [part["text"] for part in parts if isinstance(part, dict) and part["type"] == "text"]
    if len(texts) == len(parts):
        return "\n\n".join(str(text) for text in texts)
    return parts


def _media(media: MediaContent, sight: Sight) -> JsonObject:
    url = f"data:{media.mime};base64,{media.data}"
    if not sight.sees(media):
        return {"type": "text", "text": unseen(media)}
    if media.mime == PDF:
        file: JsonObject = {"filename": media.name or "document.pdf", "file_data": url}
        return {"type": "file", "file": file}
    return {"type": "image_url", "image_url": {"url": url}}


def _calls(turn: AssistantTurn, quirks: Quirks) -> list[_Call]:
    used: set[str] = set()
    calls: list[_Call] = []
    for item in turn.content:
        if isinstance(item, ToolCallContent):
            sent = _sent_id(item.call_id, quirks, used)
            used.add(sent)
            calls.append(_Call(item.call_id, sent, item.name))
    return calls


def _sent_id(call_id: str, quirks: Quirks, used: set[str]) -> str:
    """A stable id in the provider's alphabet, unlike those in *used*."""
    for extra in range(1000):
        wanted = f"{call_id or 'call'}-{extra}" if extra or not call_id else call_id
        if quirks.call_ids == "nine" and not (
            len(wanted) == 9 and wanted.isascii() and wanted.isalnum()
        ):
            number = int.from_bytes(hashlib.sha256(wanted.encode(errors="replace")).digest())
            wanted = "".join(LETTERS[number // 62**i % 62] for i in range(9))
        elif quirks.call_ids == "forty" and len(wanted) > 40:
            wanted = f"call_{hashlib.sha256(wanted.encode(errors='replace')).hexdigest()[:32]}"
        if wanted not in used:
            return wanted
    raise AssertionError("a message with a thousand calls of one id")


def _assistant(turn: AssistantTurn, calls: list[_Call], *, replay: bool) -> JsonObject | None:
    texts = [item.text for item in turn.content if isinstance(item, TextContent)]
    text = "\n\n".join(part for part in texts if part.strip())
    message: JsonObject = {"role": "assistant", "content": text or None}
    if not text and not calls:
        return None
    if replay:
        thoughts = [item for item in turn.content if isinstance(item, ReasoningContent)]
        _add_reasoning(message, thoughts, text)
    items = [item for item in turn.content if isinstance(item, ToolCallContent)]
    sent: list[Json] = []
    details: list[Json] = []
    for item, call in zip(items, calls, strict=True):
        entry: JsonObject = {
            "id": call.sent_id,
            "type": "function",
            "function": {"name": clean(item.name), "arguments": arguments_of(item.input)},
        }
        if replay and item.opaque:
            if "extra_content" in item.opaque:
                entry["extra_content"] = item.opaque["extra_content"]
            more = item.opaque.get("reasoning_details")
            details.extend(more if isinstance(more, list) else [])
        sent.append(entry)
    if sent:
        message["tool_calls"] = sent
    if details:
        before = message.get("reasoning_details")
        message["reasoning_details"] = [*(before if isinstance(before, list) else []), *details]
    return message


def _add_reasoning(message: JsonObject, thoughts: Iterable[ReasoningContent], text: str) -> None:
    """Put reasoning back under the very names that it came with."""
    by_field: dict[str, str] = {}
    details: list[Json] = []
    for thought in thoughts:
        if thought.field_name and thought.text:
            by_field[thought.field_name] = by_field.get(thought.field_name, "") + thought.text
        opaque = thought.opaque or {}
        more = opaque.get("reasoning_details")
        details.extend(more if isinstance(more, list) else [])
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
    if details:
        message["reasoning_details"] = details


def _results(
    calls: list[_Call], results: Sequence[ToolResultContent], *, sight: Sight
) -> list[Json]:
    """One tool message for each of *calls*, in order; what they attach follows as a user's."""
    left = list(results)
    messages: list[Json] = []
    shown: list[TextContent | MediaContent] = []
    for call in calls:
        found = next((result for result in left if result.call_id == call.call_id), None)
        output = LOST_RESULT
        if found is not None:
            left.remove(found)
            notes = [unseen(media) for media in found.media if not sight.sees(media)]
            output = "\n\n".join([*([found.output] if found.output else []), *notes])
            pictures = [media for media in found.media if sight.sees(media)]
            if pictures:
                shown.append(TextContent(f"Files from the {call.name} call:"))
                shown.extend(pictures)
        messages.append(
            {"role": "tool", "tool_call_id": call.sent_id, "content": output or NO_OUTPUT}
        )
    if shown:
        messages.append({"role": "user", "content": _user_content(shown, sight=sight)})
    return messages
