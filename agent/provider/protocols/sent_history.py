"""JSON of the turns that a conversation's last request had, for reuse by the next one.

Each step of a turn repeats the whole conversation. Only its newest turns are adapted, converted and
encoded; the text of all others is kept. For that the conversation is cut where no rule looks
across, and a stand-in takes the place of the turns on the other side.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from agent.provider.client import (
    AssistantTurn,
    ModelRequest,
    SentHistory,
    TextContent,
    ToolCallContent,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.quirks.structural_sharing import same_objects
from agent.provider.transport.wire_json import encode_body
from agent.records.json import Json, JsonObject

Build: TypeAlias = Callable[[ModelRequest], tuple[ModelRequest, JsonObject]]
"""Returns a request as it was adapted, and its body."""

STAND_IN = (TextContent("stand-in for other turns"),)
USER, MODEL = UserTurn(STAND_IN), AssistantTurn(STAND_IN)
FOLLOWING = (MODEL, USER, MODEL, USER)
"""Stand-ins for the turns after a piece of history; they take the marks for the prompt cache."""


def encode_request(
    request: ModelRequest, build: Build, field: str, sent_with: object
) -> tuple[JsonObject, bytes]:
    """Return the body of *request* and its JSON.

    With a history in the request the body has only the newest of the messages in its *field*.
    *sent_with* is what *build* depends on apart from the request.
    """
    history, cut = request.history, _last_cut(request.turns)
    # Without tools, those that the whole history called are declared.
    if history is None or cut == 0 or not request.tools:
        body = build(request)[1]
        return body, encode_body(body)
    _extend(history, request, cut, build, field, sent_with)
    body = build(_piece(history, request, (USER, *request.turns[cut:])))[1]
    before, _, after = encode_body(body).partition(history.stand_in)
    return body, b"".join((before, history.text, after))


def _extend(
    history: SentHistory,
    request: ModelRequest,
    cut: int,
    build: Build,
    field: str,
    sent_with: object,
) -> None:
    """Let *history* end at *cut*; it begins anew if it is no beginning of *request*."""
    # The output cap, which shrinks with the rest of the window, concerns no message.
    rest = replace(request, turns=(), max_output=None), sent_with
    known = len(history.turns)
    same = cut >= known and same_objects(history.turns, request.turns[:known])
    if not same or history.sent_with != rest:
        history.sent_with, history.stand_in = rest, _stand_in(request, build, field)
        history.turns, history.text = (), bytearray()
        history.call_ids, history.reasoning_ids = {}, frozenset()
        known = 0
    if cut == known:
        return
    start = (USER,) if known else ()
    turns = (*start, *request.turns[known:cut], *FOLLOWING)
    adapted, body = build(replace(_piece(history, request, turns), system=()))
    for message in _messages(body, field)[len(start) : -len(FOLLOWING)]:
        history.text += encode_body(message) + b","
    history.turns = request.turns[:cut]
    history.call_ids, history.reasoning_ids = adapted.call_ids, adapted.reasoning_ids


def _stand_in(request: ModelRequest, build: Build, field: str) -> bytes:
    body = build(replace(request, system=(), turns=(USER, *FOLLOWING)))[1]
    return encode_body(_messages(body, field)[0]) + b","


def _piece(history: SentHistory, request: ModelRequest, turns: tuple[Turn, ...]) -> ModelRequest:
    return replace(
        request, turns=turns, call_ids=history.call_ids, reasoning_ids=history.reasoning_ids
    )


def _messages(body: JsonObject, field: str) -> list[Json]:
    messages = body[field]
    assert isinstance(messages, list)  # in every protocol
    return messages


def _last_cut(turns: Sequence[Turn]) -> int:
    """Return the index of the last turn but one that begins a step; 0 without one.

    So two messages of the user or with results follow, which is where caches are marked.
    """
    starts = (index for index in range(len(turns) - 1, 1, -1) if _is_step(turns, index))
    _ = next(starts, 0)
    return next(starts, 0)


def _is_step(turns: Sequence[Turn], index: int) -> bool:
    """Return whether the turn at *index* has calls and follows results or a text of the user: no
    rule drops one of them, or merges them."""
    step, before = turns[index], turns[index - 1]
    if not isinstance(step, AssistantTurn) or not any(map(_is_call, step.content)):
        return False
    if isinstance(before, UserTurn):
        return any(isinstance(c, TextContent) and c.text.strip() for c in before.content)
    caller = turns[index - 2]
    return (
        isinstance(before, ToolTurn)
        and isinstance(caller, AssistantTurn)
        and any(map(_is_call, caller.content[-1:]))
    )


def _is_call(content: object) -> bool:
    return isinstance(content, ToolCallContent)
