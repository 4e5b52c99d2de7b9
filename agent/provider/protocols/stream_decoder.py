"""The part of an answer that is open: text, refusal or reasoning, one at a time."""

import json

from agent.provider.client import (
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from agent.provider.tool_names import ToolNames
from agent.provider.transport.errors import connection_error
from agent.provider.transport.sse import BODY, SseEvent
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.json import Json, JsonObject
from agent.records.messages import Finish

FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "complete": "stop",
    "completed": "stop",
    "tool_calls": "tool-calls",
    "tool_use": "tool-calls",
    "function_call": "tool-calls",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "paused",
    "content_filter": "content-filter",
    "safety": "content-filter",
    "sensitive": "content-filter",
    "recitation": "content-filter",
    "refusal": "content-filter",
    "error": "error",
    "network_error": "error",
}


def unreadable(provider: str, event: SseEvent) -> ProviderError:
    """The error for data that is no answer: a page instead of a stream, or a broken event."""
    if event.event == BODY:
        return ProviderError(
            ProviderErrorKind.INVALID_REQUEST,
            f"{provider} sent something that is no answer of a model, such as a web "
            "page. Check its base URL.",
        )
    return connection_error(provider, "it sent data that cannot be read")


def incomplete(provider: str) -> ProviderError:
    """The error for an answer that ended without its end (spec 1, L12)."""
    return connection_error(provider, "the answer ended before it was complete")


class OpenPart:
    """Writes the events of parts that never overlap. A part starts with its first text."""

    def __init__(self) -> None:
        self.kind: str | None = None

    def text(self, text: str, events: list[StreamEvent], *, refusal: bool = False) -> None:
        """Append *text* to the open text or refusal, or start one."""
        if not text:
            return
        kind = "refusal" if refusal else "text"
        if self.kind != kind:
            self.end(events)
            events.append(TextStart(refusal=refusal))
            self.kind = kind
        events.append(TextDelta(text))

    def reason(self, text: str, events: list[StreamEvent], field_name: str | None = None) -> None:
        """Append *text* to the open reasoning, or start one that came in *field_name*."""
        if not text:
            return
        if self.kind != "reasoning":
            self.end(events)
            events.append(ReasoningStart(field_name))
            self.kind = "reasoning"
        events.append(ReasoningDelta(text))

    def end(self, events: list[StreamEvent], opaque: JsonObject | None = None) -> None:
        """End what is open. *opaque* belongs to the reasoning: it makes one where none is."""
        if opaque and self.kind != "reasoning":
            self.end(events)
            events.append(ReasoningStart())
            self.kind = "reasoning"
        if self.kind == "reasoning":
            events.append(ReasoningEnd(opaque or None))
        elif self.kind is not None:
            events.append(TextEnd())
        self.kind = None

    def end_text(self, events: list[StreamEvent], opaque: JsonObject | None) -> None:
        """End the text that is open, if one is, with the *opaque* that belongs to it."""
        if self.kind in ("text", "refusal"):
            events.append(TextEnd(opaque))
            self.kind = None


class WholeCalls:
    """Writes the events of whole calls, each under a key of its own."""

    def __init__(self, part: OpenPart, names: ToolNames) -> None:
        self._part = part
        self._names = names
        self.count = 0

    def add(
        self,
        name: str,
        arguments: Json,
        events: list[StreamEvent],
        *,
        call_id: str | None = None,
        opaque: JsonObject | None = None,
    ) -> None:
        """One call. *arguments* is an object, or its JSON text."""
        self._part.end(events)
        key = f"call-{self.count}"
        self.count += 1
        own = self._names.from_wire(name)
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        events.append(ToolInputStart(key, own, call_id))
        if text:
            events.append(ToolInputDelta(key, text))
        events.append(ToolInputEnd(key))
        events.append(ToolCall(key, own, text, call_id, opaque))
