"""Stream events put together again: text, reasoning, calls, order, end."""

import json
from collections.abc import Callable
from typing import assert_never

from agent.provider.client import (
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepFinish,
    StreamError,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from agent.provider.transport.retry import retryable
from agent.records.errors import ProviderError
from agent.records.json import Json, JsonObject
from agent.records.messages import Finish, Usage


class Collected:
    """Takes the events of one answer."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._refusal: list[str] = []
        self._reasoning: list[str] = []
        self._calls: list[Json] = []
        self._order: list[Json] = []
        self._refusing = False
        self._finish: Finish | None = None
        self._usage: Usage | None = None
        self._error: ProviderError | None = None

    def take(self, event: StreamEvent) -> None:
        match event:
            case TextStart():
                self._refusing = event.refusal
                if not event.refusal:
                    self._order.append("text")
            case TextDelta():
                (self._refusal if self._refusing else self._text).append(event.text)
            case ReasoningStart():
                self._order.append("reasoning")
            case ReasoningDelta():
                self._reasoning.append(event.text)
            case ToolInputStart():
                self._order.append("tool")
            case ToolCall():
                self._calls.append(_call(event))
            case StepFinish():
                self._finish, self._usage = event.finish, event.usage
            case StreamError():
                self._error, self._usage = event.error, event.usage
            case TextEnd() | ReasoningEnd() | ToolInputDelta() | ToolInputEnd():
                pass
            case _:
                assert_never(event)

    def answer(self, usage: Callable[[Usage], JsonObject]) -> JsonObject:
        """Everything as one JSON object."""
        error = self._error
        told: JsonObject | None = None
        if error is not None:
            told = {
                "class": error.kind.value,
                "retryable": retryable(error),
                "retry_after_s": error.retry_after,
            }
        return {
            "text": "".join(self._text),
            "reasoning": "".join(self._reasoning),
            "refusal": "".join(self._refusal) or None,
            "tool_calls": self._calls,
            "order": self._order,
            "finish": "error" if error is not None and self._finish is None else self._finish,
            "usage": usage(self._usage) if self._usage is not None else None,
            "run_tools": error is None,
            "error": told,
        }


def _call(call: ToolCall) -> JsonObject:
    arguments: Json
    broken: str | None = None
    try:
        arguments = json.loads(call.arguments) if call.arguments.strip() else {}
    except ValueError:
        arguments, broken = None, call.arguments
    return {
        "id": call.call_id or call.key,
        "name": call.name,
        "input": arguments,
        "invalid_json": broken,
    }
