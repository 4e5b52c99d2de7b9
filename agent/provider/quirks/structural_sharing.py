"""Changes of a request that return the same objects where nothing changes.

Most of a long history passes every quirk unchanged; copying it in each step of a long session would
take most of the time of a request.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import is_
from typing import Generic, TypeVar
from weakref import ref

from agent.provider.client import (
    AssistantTurn,
    ModelRequest,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolTurn,
    Turn,
)

Given = TypeVar("Given")
Made = TypeVar("Made")

Content = TextContent | ReasoningContent | ToolCallContent


class IdentityCache(Generic[Given, Made]):
    """A cache of the results of *make* by the identity of its argument.

    The turns and tools of a session are the same objects in each of its requests. A result must
    not be changed, and is dropped together with its argument.
    """

    def __init__(self, make: Callable[[Given], Made]) -> None:
        self._make = make
        self._held: dict[int, tuple[ref[Given], Made]] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __call__(self, given: Given) -> Made:
        held, key = self._held, id(given)
        known = held.get(key)
        if known is not None and known[0]() is given:
            return known[1]
        made = self._make(given)
        held[key] = (ref(given, lambda _: held.pop(key, None)), made)
        return made


def same_objects(one: Sequence[object], other: Sequence[object]) -> bool:
    """Return whether both contain the same objects."""
    return len(one) == len(other) and all(map(is_, one, other))


def replace_turns(request: ModelRequest, turns: Sequence[Turn]) -> ModelRequest:
    return request if same_objects(request.turns, turns) else replace(request, turns=tuple(turns))


def replace_content(turn: AssistantTurn, content: Sequence[Content]) -> AssistantTurn:
    return turn if same_objects(turn.content, content) else replace(turn, content=tuple(content))


def replace_results(turn: ToolTurn, results: Sequence[ToolResultContent]) -> ToolTurn:
    return turn if same_objects(turn.content, results) else ToolTurn(tuple(results))


def map_results(
    request: ModelRequest, change: Callable[[ToolResultContent], ToolResultContent]
) -> ModelRequest:
    """Return *request* with *change* applied to each result."""
    turns = [
        replace_results(turn, [change(result) for result in turn.content])
        if isinstance(turn, ToolTurn)
        else turn
        for turn in request.turns
    ]
    return replace_turns(request, turns)
