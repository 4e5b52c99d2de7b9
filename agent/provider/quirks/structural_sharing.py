"""Changes that keep what they don't change: most of a long history passes every quirk as it is, and
records that are made anew for nothing are what a step of a long session would spend its time on.
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
    """*make*, called once for each record as long as that is the same object: the turns and tools
    of a session come again with each of its requests. What is made is not to be changed, and is
    forgotten with the record."""

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
    """Whether both hold the very same objects."""
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
    """*request* with each result as *change* has it."""
    turns = [
        replace_results(turn, [change(result) for result in turn.content])
        if isinstance(turn, ToolTurn)
        else turn
        for turn in request.turns
    ]
    return replace_turns(request, turns)
