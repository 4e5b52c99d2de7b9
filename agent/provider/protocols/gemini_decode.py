"""Gemini's stream decoded to our events, without any input or output of its own.

Each event is a piece of one response. There is no end mark: after the event with a finish
reason only usage can come, and the body ends. Parts of a kind that is not known here (code that
the provider ran itself, images) are passed over. Nothing in the shape of an event is relied on.

A thought signature belongs to the part that it came with and has to go back there: with a call
it and with text it is kept as ``{"thoughtSignature"}``.
"""

import json

from agent.provider.client import StepFinish, StreamError, StreamEvent
from agent.provider.protocols.stream_decoder import OpenPart, WholeCalls, incomplete, unreadable
from agent.provider.quirks.reasoning_replay import THOUGHT_SIGNATURE
from agent.provider.tool_names import ToolNames
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.sse import BODY, SseEvent
from agent.provider.transport.wire_json import get_object, get_objects, get_text, parse_object
from agent.provider.usage import token_count
from agent.records.errors import ProviderError
from agent.records.json import Json, JsonObject
from agent.records.messages import Finish, Usage

FILTERED = frozenset({
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "LANGUAGE", "MODEL_ARMOR",
})  # fmt: skip
MALFORMED = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"})


class GeminiDecoder:
    """The state of one answer. After ``done`` nothing more is to be fed."""

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        self.done = False
        self._provider = provider
        self._part = OpenPart()
        self._calls = WholeCalls(self._part, names or ToolNames())
        self._raw_finish: str | None = None
        self._said = ""
        self._usage: Usage | None = None

    @property
    def finishing(self) -> bool:
        """Whether the model has finished, and only usage can still come."""
        return self._raw_finish is not None

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        """The events that *event* stands for; an error ends the answer."""
        text = event.data.strip()
        if not text or text == "[DONE]":
            return []
        pieces = _pieces(text) if event.event == BODY else _one(parse_object(text))
        if not pieces:
            return self._fail(unreadable(self._provider, event))
        events: list[StreamEvent] = []
        for data in pieces:
            if data.get("error"):
                return [*events, *self._fail(error_from_event(self._provider, data["error"]))]
            if event.event == BODY and "candidates" not in data and "promptFeedback" not in data:
                return self._fail(unreadable(self._provider, event))
            self._take(data, events)
        return events

    def close(self, error: ProviderError | None = None) -> list[StreamEvent]:
        """The end of the body, or *error* that broke it. A finish reason makes it complete."""
        if self.done:
            return []
        if not self.finishing:
            return self._fail(error or incomplete(self._provider))
        self.done = True
        events: list[StreamEvent] = []
        self._part.end(events)
        raw = self._raw_finish or ""
        if raw in MALFORMED and not self._calls.count:
            told = error_from_event(self._provider, {"message": f"{raw}: {self._said}"})
            return [*events, StreamError(told, self._usage)]
        events.append(StepFinish(self._finish(raw), raw, self._usage))
        return events

    def _take(self, data: JsonObject, events: list[StreamEvent]) -> None:
        # A response inside "response" is Vertex' and Code Assist's envelope.
        data = get_object(data, "response") or data
        for candidate in get_objects(data, "candidates")[:1]:
            for part in get_objects(get_object(candidate, "content"), "parts"):
                self._piece(part, events)
            reason = get_text(candidate, "finishReason")
            if reason not in ("", "FINISH_REASON_UNSPECIFIED"):
                self._raw_finish = reason
                self._said = get_text(candidate, "finishMessage")
        blocked = get_text(get_object(data, "promptFeedback"), "blockReason")
        if blocked and self._raw_finish is None:
            self._raw_finish = blocked
        self._usage = _usage(data.get("usageMetadata")) or self._usage

    def _piece(self, part: JsonObject, events: list[StreamEvent]) -> None:
        signature = get_text(part, THOUGHT_SIGNATURE)
        opaque: JsonObject | None = {THOUGHT_SIGNATURE: signature} if signature else None
        call = part.get("functionCall")
        if isinstance(call, dict):
            name = get_text(call, "name")
            call_id = get_text(call, "id") or None
            self._calls.add(name, call.get("args"), events, call_id=call_id, opaque=opaque)
        elif text := get_text(part, "text"):
            if part.get("thought") is True:
                self._part.reason(text, events)
            else:
                self._part.text(text, events)
        if opaque is not None and not isinstance(call, dict):
            self._part.end_text(events, opaque)

    def _finish(self, raw: str) -> Finish:
        if raw in MALFORMED:
            return "error"
        if raw in FILTERED:
            return "content-filter"
        if raw == "MAX_TOKENS":
            return "length"
        if raw == "STOP":
            return "tool-calls" if self._calls.count else "stop"
        return "other"

    def _fail(self, error: ProviderError) -> list[StreamEvent]:
        """Close what is open; no call is given out after the break (spec 1, L12)."""
        self.done = True
        events: list[StreamEvent] = []
        self._part.end(events)
        events.append(StreamError(error, self._usage))
        return events


def _one(data: JsonObject | None) -> list[JsonObject]:
    return [] if data is None else [data]


def _pieces(text: str) -> list[JsonObject]:
    """The pieces of a body that is no event stream: one object, or a list of them."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return []
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, dict)]


def _usage(raw: Json) -> Usage | None:
    """Thoughts are counted beside the candidates; cached tokens are part of the prompt."""
    if not isinstance(raw, dict) or not raw:
        return None
    thoughts = token_count(raw.get("thoughtsTokenCount"))
    return Usage(
        input=token_count(raw.get("promptTokenCount"))
        + token_count(raw.get("toolUsePromptTokenCount")),
        output=token_count(raw.get("candidatesTokenCount")) + thoughts,
        reasoning=thoughts,
        cache_read=token_count(raw.get("cachedContentTokenCount")),
    )
