"""A prompt that a sub-agent works on before the model is called.

The work is a call of the ``task`` tool like any other, except that the program requests it: the
response of its step is that call. So it is shown, canceled, stored and sent in the usual way.
"""

import json
from collections.abc import AsyncGenerator, Sequence

from agent.provider.client import (
    ModelRequest,
    StepFinish,
    StreamEvent,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from agent.records.messages import MessageWithParts, SubtaskPart, UserMessage

TASK = "task"


class SubtaskClient:
    """A model client that responds with the calls of *subtasks*; no server is called."""

    def __init__(self, subtasks: Sequence[SubtaskPart]) -> None:
        self._subtasks = tuple(subtasks)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        _ = request
        for index, part in enumerate(self._subtasks):
            key = str(index)
            arguments = json.dumps(
                {
                    "description": part.description,
                    "prompt": part.prompt,
                    "subagent_type": part.agent,
                }
            )
            yield ToolInputStart(key, TASK)
            yield ToolInputDelta(key, arguments)
            yield ToolInputEnd(key)
            yield ToolCall(key, TASK, arguments)
        yield StepFinish("tool-calls")


def subtasks_due(history: Sequence[MessageWithParts]) -> tuple[SubtaskPart, ...]:
    """Return the subtasks that the newest user messages ask for, oldest first."""
    due: list[SubtaskPart] = []
    for item in reversed(history):
        if not isinstance(item.message, UserMessage):
            break
        due[:0] = [part for part in item.parts if isinstance(part, SubtaskPart)]
    return tuple(due)
