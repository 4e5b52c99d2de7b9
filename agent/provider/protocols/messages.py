"""Messages turn by turn behind the system prompt, as chat completions, Cohere and Ollama want
them."""

from collections.abc import Callable

from agent.provider.client import (
    AssistantTurn,
    ModelRequest,
    ToolResultContent,
    ToolTurn,
    UserTurn,
)
from agent.provider.quirks.structural_sharing import Remembered
from agent.records.json import Json, JsonObject


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
        self._answer = Remembered(answer)
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
