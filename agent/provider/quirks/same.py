"""Changes that keep what they don't change: most of a long history passes every quirk as it is, and
records that are made anew for nothing are what a step of a long session would spend its time on.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from operator import is_
from typing import Generic, TypeVar

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

MOST_HELD = 4_096
"""Records that are remembered; the oldest is forgotten first."""

Content = TextContent | ReasoningContent | ToolCallContent


class Remembered(Generic[Given, Made]):
    """*make*, called once for each record as long as that is the same object: the turns and tools
    of a session come again with each of its requests. What is made is not to be changed."""

    def __init__(self, make: Callable[[Given], Made]) -> None:
        self._make = make
        self._held: dict[int, tuple[Given, Made]] = {}

    def __call__(self, given: Given) -> Made:
        held = self._held.get(id(given))
        if held is not None and held[0] is given:
            return held[1]
        made = self._make(given)
        if len(self._held) >= MOST_HELD:
            del self._held[next(iter(self._held))]
        self._held[id(given)] = (given, made)
        return made


def all_same(one: Sequence[object], other: Sequence[object]) -> bool:
    """Whether both hold the very same objects."""
    return len(one) == len(other) and all(map(is_, one, other))


def with_turns(request: ModelRequest, turns: Sequence[Turn]) -> ModelRequest:
    return request if all_same(request.turns, turns) else replace(request, turns=tuple(turns))


def with_content(turn: AssistantTurn, content: Sequence[Content]) -> AssistantTurn:
    return turn if all_same(turn.content, content) else replace(turn, content=tuple(content))


def with_results(turn: ToolTurn, results: Sequence[ToolResultContent]) -> ToolTurn:
    return turn if all_same(turn.content, results) else ToolTurn(tuple(results))


def each_result(
    request: ModelRequest, change: Callable[[ToolResultContent], ToolResultContent]
) -> ModelRequest:
    """*request* with each result as *change* has it."""
    turns = [
        with_results(turn, [change(result) for result in turn.content])
        if isinstance(turn, ToolTurn)
        else turn
        for turn in request.turns
    ]
    return with_turns(request, turns)
