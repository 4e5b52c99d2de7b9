"""Builders of message lists and tool lists that several protocols share.

- ``TurnMessages``: one message per turn (chat completions, Cohere, Ollama);
- ``ContentBlocks`` and ``alternating_messages``: lists of content blocks in messages whose roles
  alternate (Anthropic, Gemini, Bedrock);
- ``function_tools``: tools as chat completions describe them.
"""

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
from agent.provider.quirks.structural_sharing import Content
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject


def function_tools(tools: Sequence[ToolSchema]) -> list[Json]:
    """Return the ``tools`` of a request. Some servers refuse parameters without ``properties``."""
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


@frozen
class TurnMessages:
    """Converter of turns to messages, one for each turn, after the system prompt.

    Created once for a protocol, with its converters for a user turn, an assistant turn and a tool
    result.
    """

    user: Callable[[UserTurn], JsonObject]
    assistant: Callable[[AssistantTurn], JsonObject]
    result: Callable[[ToolResultContent], JsonObject]

    def convert(self, request: ModelRequest) -> list[Json]:
        """Return the ``messages`` of *request*."""
        messages: list[Json] = []
        if request.system:
            messages.append({"role": "system", "content": "\n\n".join(request.system)})
        for turn in request.turns:
            match turn:
                case UserTurn():
                    messages.append({"role": "user", **self.user(turn)})
                case AssistantTurn():
                    messages.append({"role": "assistant", **self.assistant(turn)})
                case ToolTurn():
                    results = map(self.result, turn.content)
                    messages.extend({"role": "tool", **result} for result in results)
        return messages


@frozen
class ContentBlocks:
    """Converter of a turn's contents to the content blocks of a protocol.

    Created once for a protocol, with its converters for content of the user, content of the model
    (None to leave it out) and a tool result.
    """

    user: Callable[[TextContent | MediaContent], JsonObject]
    assistant: Callable[[Content], JsonObject | None]
    result: Callable[[ToolResultContent], JsonObject]

    def convert(self, turn: Turn) -> Iterator[JsonObject]:
        """Yield the blocks of *turn*."""
        match turn:
            case UserTurn():
                yield from map(self.user, turn.content)
            case AssistantTurn():
                blocks = map(self.assistant, turn.content)
                yield from (block for block in blocks if block is not None)
            case ToolTurn():
                yield from map(self.result, turn.content)


def alternating_messages(
    turns: Sequence[Turn],
    blocks: ContentBlocks,
    *,
    assistant: str = "assistant",
    key: str = "content",
) -> list[JsonObject]:
    """Return *turns* as messages whose roles alternate; tool results are part of the user's.

    *assistant* is the model's role, and *key* the field of a message for its blocks.
    """
    messages: list[tuple[str, list[Json]]] = []
    for turn in turns:
        role = assistant if isinstance(turn, AssistantTurn) else "user"
        if not messages or messages[-1][0] != role:
            messages.append((role, []))
        messages[-1][1].extend(blocks.convert(turn))
    return [{"role": role, key: contents} for role, contents in messages]
