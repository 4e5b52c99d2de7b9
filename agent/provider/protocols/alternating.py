"""Messages whose speakers take turns, as Anthropic, Gemini and Bedrock want them: what one says in
a row is one message, and the results of calls stand first in what the user says next."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Blocks:
    """How a protocol writes the contents of a message: what the user *said*, what the model *told*
    (None: left out), the *result* of a call."""

    said: Callable[[TextContent | MediaContent], JsonObject]
    told: Callable[[TextContent | ReasoningContent | ToolCallContent], JsonObject | None]
    result: Callable[[ToolResultContent], JsonObject]

    def of(self, turn: Turn) -> Iterator[JsonObject]:
        match turn:
            case UserTurn():
                yield from map(self.said, turn.content)
            case AssistantTurn():
                yield from (
                    block for each in turn.content if (block := self.told(each)) is not None
                )
            case ToolTurn():
                yield from map(self.result, turn.content)


def alternating(
    turns: Sequence[Turn], blocks: Blocks, *, assistant: str = "assistant", key: str = "content"
) -> list[JsonObject]:
    """*turns* as messages of a role and the blocks at *key*; *assistant* is the model's role."""
    messages: list[tuple[str, list[Json]]] = []
    for turn in turns:
        role = assistant if isinstance(turn, AssistantTurn) else "user"
        if not messages or messages[-1][0] != role:
            messages.append((role, []))
        messages[-1][1].extend(blocks.of(turn))
    return [{"role": role, key: contents} for role, contents in messages]
