"""The base class of the decoders for all wire protocols, and the parts that they share.

A decoder turns the messages of one response into the events of ``agent.provider.client``. It does
no input or output of its own, and relies on nothing in the shape of a message: any field can be
missing, null or of another type.
"""

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass

from agent.provider.client import (
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamError,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolNames,
)
from agent.provider.transport.errors import connection_error
from agent.provider.transport.framing import BODY, SseEvent
from agent.provider.transport.wire_json import parse_object
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.json import Json, JsonObject
from agent.records.messages import Finish, Usage

FINISH_REASONS: dict[str, Finish] = {
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
"""Finish reasons (in lower case) of chat completions, Anthropic and the Responses API."""


class OpenPart:
    """The open part of a response: text, a refusal or reasoning, one at a time.

    It writes the events of parts that never overlap. A part starts with its first text.
    """

    def __init__(self) -> None:
        self.kind: str | None = None
        """``text``, ``refusal``, ``reasoning``, or None while nothing is open."""

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
        """End the open part.

        *opaque* belongs to reasoning; if none is open, an empty reasoning part carries it.
        """
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
        """End the open text, if there is one, with the *opaque* that belongs to it."""
        if self.kind in ("text", "refusal"):
            events.append(TextEnd(opaque))
            self.kind = None


@dataclass(slots=True)
class StreamedCall:
    """A tool call whose arguments arrive in pieces."""

    key: str
    """The id of the call within the response."""

    name: str
    call_id: str | None
    arguments: str = ""

    def start(self, events: list[StreamEvent]) -> None:
        events.append(ToolInputStart(self.key, self.name, self.call_id))

    def append(self, text: str, events: list[StreamEvent]) -> None:
        if text:
            self.arguments += text
            events.append(ToolInputDelta(self.key, text))

    def end_input(self, events: list[StreamEvent]) -> None:
        events.append(ToolInputEnd(self.key))

    def emit(self, events: list[StreamEvent], *, truncated: bool = False) -> None:
        """Emit the complete call, after ``end_input``."""
        events.append(
            ToolCall(self.key, self.name, self.arguments, self.call_id, truncated=truncated)
        )


class CompleteCalls:
    """Writer of the events of calls that a provider sends complete, in one message."""

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
        """Write one call. *arguments* is an object, or its JSON text."""
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


class StreamDecoder(ABC):
    """The state of one response. Feed it nothing more once it is ``done``.

    A subclass decodes one message in ``_decode_message``. It ends a complete response with a
    ``StepFinish`` and a failed one with ``_fail``, and sets ``_raw_finish`` and ``_usage`` as
    they arrive.
    """

    skips_blank_messages = True
    """True if blank messages and ``[DONE]`` are ignored; else they are unreadable."""

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        self.done = False
        self._provider = provider
        self._names = names or ToolNames()
        self._part = OpenPart()
        self._raw_finish: str | None = None
        self._usage: Usage | None = None

    @property
    def finishing(self) -> bool:
        """True if the model has finished, so that only usage or the end mark can still come.

        Always false for protocols whose last message carries the finish reason.
        """
        return self._raw_finish is not None

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        """Return the events of one message; the last one of a response ends it."""
        text = event.data
        if self.skips_blank_messages:
            text = text.strip()
            if not text or text == "[DONE]":
                return []
        objects = self._parse(text, event)
        if objects is None:
            return self._fail(unreadable_error(self._provider, event))
        events: list[StreamEvent] = []
        for data in objects:
            if not self.done:
                events += self._decode_message(data, event)
        return events

    def close(self, error: ProviderError | None = None) -> list[StreamEvent]:
        """Return the events for the end of the body, or for the *error* that broke it.

        A response whose finish reason has come is complete.
        """
        if self.done:
            return []
        if self.finishing:
            return self._finish()
        return self._fail(error or incomplete_error(self._provider))

    def _parse(self, text: str, event: SseEvent) -> list[JsonObject] | None:
        """Return the JSON objects of one message, None where it is unreadable."""
        data = parse_object(text)
        return None if data is None else [data]

    @abstractmethod
    def _decode_message(self, data: JsonObject, event: SseEvent) -> list[StreamEvent]:
        """Return the events of one JSON object out of *event*."""

    def _finish(self) -> list[StreamEvent]:
        """End a response whose finish reason has come.

        Only for protocols where messages can follow the finish reason.
        """
        raise NotImplementedError

    def _fail(self, error: ProviderError) -> list[StreamEvent]:
        """End the response with *error*. Open calls are closed but never emitted."""
        self.done = True
        events: list[StreamEvent] = []
        self._close_open(events)
        events.append(StreamError(error, self._current_usage()))
        return events

    def _close_open(self, events: list[StreamEvent]) -> None:
        """Close the parts and call inputs that are open when the stream breaks."""
        self._part.end(events)

    def _current_usage(self) -> Usage | None:
        return self._usage


def unreadable_error(provider: str, event: SseEvent) -> ProviderError:
    """Return the error for data that is no response: a web page, or a broken message."""
    if event.event == BODY:
        return ProviderError(
            ProviderErrorKind.INVALID_REQUEST,
            f"{provider} sent something other than a model response, such as a web page. Check its "
            "base URL.",
        )
    return connection_error(provider, "it sent data that cannot be read")


def incomplete_error(provider: str) -> ProviderError:
    """Return the error for a response that ended without its end mark."""
    return connection_error(provider, "the response ended before it was complete")
