"""Cohere's stream (version 2 of its chat) decoded to our events (spec 5, R9).

It comes as server-sent events or as JSON lines. The plan that the model gives before its calls
is no part of its answer and is passed over, like citations.
"""

from dataclasses import dataclass

from agent.provider.client import (
    StepFinish,
    StreamError,
    StreamEvent,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from agent.provider.protocols.stream_decoder import OpenPart, incomplete, unreadable
from agent.provider.tool_names import ToolNames
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.sse import SseEvent
from agent.provider.transport.wire_json import get_object, get_text, parse_object
from agent.provider.usage import token_count
from agent.records.errors import ProviderError
from agent.records.json import Json, JsonObject
from agent.records.messages import Finish, Usage

FINISHES: dict[str, Finish] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "ERROR_LIMIT": "length",
    "TOOL_CALL": "tool-calls",
    "ERROR_TOXIC": "content-filter",
    "ERROR": "error",
    "TIMEOUT": "error",
}


@dataclass(slots=True)
class _Call:
    key: str
    name: str
    call_id: str | None
    arguments: str = ""


class CohereDecoder:
    """The state of one answer. After ``done`` nothing more is to be fed."""

    finishing = False
    """The event that tells of the end is the end."""

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        self.done = False
        self._provider = provider
        self._names = names or ToolNames()
        self._part = OpenPart()
        self._open: dict[str, _Call] = {}
        self._count = 0

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        """The events that *event* stands for; the last of an answer ends it."""
        text = event.data.strip()
        if not text or text == "[DONE]":
            return []
        data = parse_object(text)
        if data is None:
            return self._fail(unreadable(self._provider, event))
        kind = get_text(data, "type") or event.event
        message = get_object(get_object(data, "delta"), "message")
        call = get_object(message, "tool_calls")
        events: list[StreamEvent] = []
        match kind:
            case "content-start" | "content-delta":
                content = get_object(message, "content")
                self._part.reason(get_text(content, "thinking"), events)
                self._part.text(get_text(content, "text"), events)
            case "content-end":
                self._part.end(events)
            case "tool-call-start":
                self._start(_place(data), call, events)
            case "tool-call-delta":
                arguments = get_text(get_object(call, "function"), "arguments")
                self._append(self._open.get(_place(data)), arguments, events)
            case "tool-call-end":
                self._end_call(_place(data), events)
            case "message-end":
                self._end(get_object(data, "delta"), events)
            case "error":
                return self._fail(error_from_event(self._provider, data.get("error") or data))
            case _ if data.get("error") or ("message" in data and "delta" not in data):
                return self._fail(error_from_event(self._provider, data.get("error") or data))
            case _:
                pass  # message-start, tool-plan-delta, citations, and newer events
        return events

    def close(self, error: ProviderError | None = None) -> list[StreamEvent]:
        """The end of the body, or *error* that broke it: without its last event an answer is
        never complete."""
        return [] if self.done else self._fail(error or incomplete(self._provider))

    def _start(self, place: str, call: JsonObject, events: list[StreamEvent]) -> None:
        self._part.end(events)
        function = get_object(call, "function")
        name = self._names.from_wire(get_text(function, "name"))
        started = _Call(f"call-{self._count}", name, get_text(call, "id") or None)
        self._count += 1
        self._open[place] = started
        events.append(ToolInputStart(started.key, started.name, started.call_id))
        self._append(started, get_text(function, "arguments"), events)

    def _append(self, call: _Call | None, text: str, events: list[StreamEvent]) -> None:
        if call is not None and text:
            call.arguments += text
            events.append(ToolInputDelta(call.key, text))

    def _end_call(self, place: str, events: list[StreamEvent], *, cut: bool = False) -> None:
        call = self._open.pop(place, None)
        if call is not None:
            events.append(ToolInputEnd(call.key))
            events.append(
                ToolCall(call.key, call.name, call.arguments, call.call_id, truncated=cut)
            )

    def _end(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        self.done = True
        self._part.end(events)
        raw = get_text(delta, "finish_reason")
        finish = FINISHES.get(raw, "other") if raw else None
        for place in list(self._open):
            self._end_call(place, events, cut=finish == "length")
        events.append(StepFinish(finish, raw or None, _usage(delta.get("usage"))))

    def _fail(self, error: ProviderError) -> list[StreamEvent]:
        """Close what is open; no call is given out after the break (spec 1, L12)."""
        self.done = True
        events: list[StreamEvent] = []
        self._part.end(events)
        events += [ToolInputEnd(call.key) for call in self._open.values()]
        events.append(StreamError(error))
        return events


def _place(data: JsonObject) -> str:
    return str(data.get("index", 0))


def _usage(raw: Json) -> Usage | None:
    """``tokens`` is what was really read and written; ``billed_units`` leaves the frame out."""
    if not isinstance(raw, dict) or not raw:
        return None
    counted = get_object(raw, "tokens") or get_object(raw, "billed_units")
    if not counted:
        return None
    return Usage(
        input=token_count(counted.get("input_tokens")),
        output=token_count(counted.get("output_tokens")),
        cache_read=token_count(raw.get("cached_tokens")),
    )
