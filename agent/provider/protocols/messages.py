"""Messages turn by turn behind the system prompt, as chat completions, Cohere and Ollama want
them."""

from collections.abc import Callable, Iterator, Sequence

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ModelRequest,
    TextContent,
    ToolResultContent,
    ToolSchema,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.quirks.structural_sharing import Content, IdentityCache
from agent.records.json import Json, JsonObject


class Blocks:
    """How a protocol writes the contents of a message: what the user *said*, what the model *told*
    (None: left out), the *result* of a call. Made once for a protocol: an answer is written once,
    and each request has a copy of its blocks, to which it may add."""

    def __init__(
        self,
        said: Callable[[TextContent | MediaContent], JsonObject],
        told: Callable[[Content], JsonObject | None],
        result: Callable[[ToolResultContent], JsonObject],
    ) -> None:
        self._said = said
        self._told = told
        self._result = result
        self._answer = IdentityCache(self._written)

    def of(self, turn: Turn) -> Iterator[JsonObject]:
        match turn:
            case UserTurn():
                yield from map(self._said, turn.content)
            case AssistantTurn():
                yield from ({**block} for block in self._answer(turn))
            case ToolTurn():
                yield from map(self._result, turn.content)

    def _written(self, turn: AssistantTurn) -> tuple[JsonObject, ...]:
        blocks = map(self._told, turn.content)
        return tuple(block for block in blocks if block is not None)


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


def functions(tools: Sequence[ToolSchema]) -> list[Json]:
    """The ``tools`` of a request. Some servers refuse parameters without ``properties``."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": {"type": "object", "properties": {}} | tool.parameters,
            },
        }
        for tool in tools
    ]


class Messages:
    """How a protocol writes what the user *said*, an *answer* of the model, the *result* of a call.
    Made once for a protocol: an answer is written once, and each request has a copy of it, to which
    it may add; what is in it stays as it is."""

    def __init__(
        self,
        said: Callable[[UserTurn], JsonObject],
        answer: Callable[[AssistantTurn], JsonObject],
        result: Callable[[ToolResultContent], JsonObject],
    ) -> None:
        self._said = said
        self._answer = IdentityCache(answer)
        self._result = result

    def of(self, request: ModelRequest) -> list[Json]:
        """The ``messages`` of *request*."""
        messages: list[Json] = []
        if request.system:
            messages.append({"role": "system", "content": "\n\n".join(request.system)})
        for turn in request.turns:
            match turn:
                case UserTurn():
                    messages.append({"role": "user", **self._said(turn)})
                case AssistantTurn():
                    messages.append({"role": "assistant", **self._answer(turn)})
                case ToolTurn():
                    results = map(self._result, turn.content)
                    messages.extend({"role": "tool", **result} for result in results)
        return messages
