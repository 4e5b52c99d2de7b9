"""Our turns as the input items of OpenAI's Responses API: a pure transform (spec 5, R4).

Nothing is kept at the server (``store: false``): each call has its output after it, and a
reasoning item goes back to the model that made it, and only with the item that followed it.
What the decoder keeps of one is ``{"id", "summary"}`` with the sealed ``encrypted_content`` or,
from servers that seal nothing, its ``content``.
"""

from collections.abc import Callable, Iterable, Sequence

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
from agent.provider.protocols.call_ids import CallIds
from agent.provider.protocols.placeholders import (
    BLIND,
    LOST_RESULT,
    NO_OUTPUT,
    PDF,
    Sight,
    unseen,
)
from agent.provider.protocols.tool_names import clean
from agent.provider.protocols.wire_json import arguments_of

PHASE = "phase"
"""Whether a message comments on the work or ends it: goes back to the model that said so."""


def items_of(
    turns: Iterable[Turn],
    *,
    model: str,
    sight: Sight = BLIND,
    replay: bool = True,
    name: Callable[[str], str] = clean,
) -> list[JsonObject]:
    """The ``input`` for *turns*, to be sent to *model* (``provider/model``).

    *replay* false leaves out all reasoning; *name* gives the name of a call as it is sent.
    """
    ids = CallIds()
    items: list[JsonObject] = []
    open_calls: list[tuple[str, str]] = []
    thoughts: set[str] = set()
    for turn in turns:
        results = turn.content if isinstance(turn, ToolTurn) else ()
        items += _outputs(open_calls, results, sight=sight)
        open_calls = []
        if isinstance(turn, UserTurn):
            parts = _user_parts(turn.content, sight=sight)
            if parts:
                items.append({"type": "message", "role": "user", "content": parts})
        elif isinstance(turn, AssistantTurn):
            same = replay and turn.model in ("", model)
            said, open_calls = _assistant(turn, ids, name, thoughts if same else None)
            items += said
    return items + _outputs(open_calls, (), sight=sight)


def _assistant(
    turn: AssistantTurn, ids: CallIds, name: Callable[[str], str], thoughts: set[str] | None
) -> tuple[list[JsonObject], list[tuple[str, str]]]:
    """The items of one answer and its calls as (stored id, sent id).

    *thoughts* are the ids of the reasoning sent so far, None to send none.
    """
    items: list[JsonObject] = []
    calls: list[tuple[str, str]] = []
    waiting: list[JsonObject] = []
    for content in turn.content:
        match content:
            case ReasoningContent():
                item = None if thoughts is None else _reasoning(content, thoughts)
                waiting += [item] if item is not None else []
                continue
            case TextContent() if content.text.strip():
                part: JsonObject = {"type": "output_text", "text": content.text}
                said: JsonObject = {"type": "message", "role": "assistant", "content": [part]}
                if thoughts is not None and content.opaque and PHASE in content.opaque:
                    said[PHASE] = content.opaque[PHASE]
            case ToolCallContent():
                sent = ids.take(content.call_id)
                calls.append((content.call_id, sent))
                said = {
                    "type": "function_call",
                    "call_id": sent,
                    "name": name(content.name),
                    "arguments": arguments_of(content.input),
                }
            case _:
                continue
        items += [*waiting, said]  # reasoning that nothing follows is refused, so it waits
        waiting = []
    return items, calls


def _reasoning(content: ReasoningContent, thoughts: set[str]) -> JsonObject | None:
    opaque = content.opaque or {}
    name = opaque.get("id")
    kept = {key: opaque[key] for key in ("encrypted_content", "content") if opaque.get(key)}
    if not isinstance(name, str) or name in thoughts or not kept:
        return None
    thoughts.add(name)
    return {"type": "reasoning", "id": name, "summary": opaque.get("summary") or [], **kept}


def _outputs(
    calls: Sequence[tuple[str, str]], results: Sequence[ToolResultContent], *, sight: Sight
) -> list[JsonObject]:
    left = list(results)
    items: list[JsonObject] = []
    for call_id, sent in calls:
        found = next((result for result in left if result.call_id == call_id), None)
        output: Json = LOST_RESULT
        if found is not None:
            left.remove(found)
            output = found.output if found.output.strip() else NO_OUTPUT
            if found.media:
                output = _user_parts((TextContent(output), *found.media), sight=sight)
        items.append({"type": "function_call_output", "call_id": sent, "output": output})
    return items


def _user_parts(content: Sequence[TextContent | MediaContent], *, sight: Sight) -> list[Json]:
    parts: list[Json] = []
    for item in content:
        match item:
            case TextContent() if item.text.strip():
                parts.append({"type": "input_text", "text": item.text})
            case MediaContent():
                parts.append(_media(item, sight))
            case _:
                pass
    return parts


def _media(media: MediaContent, sight: Sight) -> JsonObject:
    url = f"data:{media.mime};base64,{media.data}"
    if not sight.sees(media):
        return {"type": "input_text", "text": unseen(media)}
    if media.mime == PDF:
        name = media.name or "document.pdf"
        return {"type": "input_file", "filename": name, "file_data": url}
    return {"type": "input_image", "image_url": url}
