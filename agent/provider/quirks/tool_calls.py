"""Quirks of tool calls: their ids, the names of tools, and tools that must be declared."""

import hashlib
import re
import string
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from agent.provider.client import (
    AssistantTurn,
    ModelRequest,
    ToolCallContent,
    ToolNames,
    ToolResultContent,
    ToolSchema,
    ToolTurn,
    Turn,
)
from agent.provider.quirks.structural_sharing import replace_content, replace_results, replace_turns
from agent.provider.quirks.target import Target
from agent.provider.quirks.turn_order import tool_calls_of

C = TypeVar("C", ToolCallContent, ToolResultContent)
N = TypeVar("N", ToolCallContent, ToolResultContent, ToolSchema)

MAX_ID_LENGTH = 40
LETTERS = string.ascii_letters + string.digits


def sanitize_call_ids(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic refuses ids of other providers, such as ``functions.read:0``: "tool_use.id: String
    should match pattern '^[a-zA-Z0-9_-]+$'"."""
    return _with_ids(request, lambda call_id: re.sub(r"[^A-Za-z0-9_-]", "_", call_id))


def make_call_ids_unique(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic refuses repeated ids, which servers make that number the calls of each response
    from ``call_0``: "tool_use ids must be unique". OpenAI refuses long ids, which contain
    signatures: "string too long … maximum length 40".

    An id depends only on the turns before it, so that a longer history begins with the same ids
    and the provider's cache stays valid.
    """
    taken = dict(request.call_ids)

    def sent(call_id: str) -> str:
        wanted = call_id or "call"
        if len(wanted) > MAX_ID_LENGTH - 4:
            wanted = f"call_{_digest(call_id).hex()[:31]}"
        found, number = wanted, taken.get(wanted, 0)
        while found in taken:
            number += 1
            found = f"{wanted}_{number}"
        taken[wanted] = max(number, 1)
        taken[found] = 1
        return found

    return replace(_with_ids(request, sent), call_ids=taken)


def shorten_call_ids(request: ModelRequest, target: Target) -> ModelRequest:
    """Mistral refuses other ids: "Tool call id was … but must be a-z, A-Z, 0-9, with a length of
    9"."""

    def sent(call_id: str) -> str:
        if len(call_id) == 9 and call_id.isascii() and call_id.isalnum():
            return call_id
        number = int.from_bytes(_digest(call_id))
        return "".join(LETTERS[number // 62**place % 62] for place in range(9))

    return _with_ids(request, sent)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()


def _with_ids(request: ModelRequest, sent: Callable[[str], str]) -> ModelRequest:
    """Return *request* with each call and its result under the id that *sent* returns."""
    turns: list[Turn] = []
    ids: list[str] = []
    for turn in request.turns:
        match turn:
            case AssistantTurn():
                ids = [sent(call.call_id) for call in tool_calls_of(turn)]
                left = iter(ids)
                turns.append(_map_calls(turn, lambda c, left=left: _with_call_id(c, next(left))))
            case ToolTurn():
                pairs = zip(turn.content, ids, strict=True)
                turns.append(
                    replace_results(turn, [_with_call_id(result, i) for result, i in pairs])
                )
            case _:
                turns.append(turn)
    return replace_turns(request, turns)


def _with_call_id(item: C, call_id: str) -> C:
    return item if item.call_id == call_id else replace(item, call_id=call_id)


def _with_name(item: N, name: str) -> N:
    return item if item.name == name else replace(item, name=name)


def _map_calls(
    turn: AssistantTurn, change: Callable[[ToolCallContent], ToolCallContent]
) -> AssistantTurn:
    content = [change(c) if isinstance(c, ToolCallContent) else c for c in turn.content]
    return replace_content(turn, content)


def sanitize_tool_names(request: ModelRequest, target: Target) -> ModelRequest:
    """All providers refuse other tool names: they "should match '^[a-zA-Z0-9_-]{1,64}$'" and be
    unique. Those of MCP servers contain dots and slashes, and models invent impossible names."""
    names = ToolNames(request.tools)

    turns: list[Turn] = []
    for turn in request.turns:
        match turn:
            case AssistantTurn():
                turns.append(_map_calls(turn, lambda c: _with_name(c, names.to_wire(c.name))))
            case ToolTurn():
                turns.append(
                    replace_results(
                        turn, [_with_name(r, names.to_wire(r.name)) for r in turn.content]
                    )
                )
            case _:
                turns.append(turn)
    tools = tuple(_with_name(tool, names.to_wire(tool.name)) for tool in request.tools)
    return replace(replace_turns(request, turns), tools=tools)


def declare_used_tools(request: ModelRequest, target: Target) -> ModelRequest:
    """Anthropic refuses calls in the history without tools: "requests which include tool_use or
    tool_result blocks must define tools"; Bedrock: "the toolConfig field must be defined". If no
    tool is offered (a summary, the last step), declare those of the history and disable calls."""
    used = {call.name for turn in request.turns for call in tool_calls_of(turn)}
    if request.tools or not used:
        return request
    named = tuple(ToolSchema(name, "No longer available.", {}) for name in sorted(used))
    return replace(request, tools=named, calls_allowed=False)
