"""OpenAI's chat completions: the decoder of their stream.

Servers that call themselves compatible differ widely, so each field is looked for in all the places
where one of the recorded streams has it.
"""

import json

from agent.provider.client import StepFinish, StreamEvent
from agent.provider.protocols.openai_chat_calls import CallAssembler, merge_objects
from agent.provider.protocols.stream_decoder import (
    FINISH_REASONS,
    StreamDecoder,
    unreadable_error,
)
from agent.provider.tool_names import ToolNames
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.sse import BODY, SseEvent
from agent.provider.usage import chat_usage
from agent.records.json import Json, JsonObject
from agent.records.messages import Usage

FAILURE_REASONS = {
    "insufficient_system_resource": "server_error: it ran out of resources",
    "malformed_function_call": "malformed_function_call",
}
"""Finish reasons (or parts of them) that represent a failure of the provider, with its error."""

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
CONTENT_FIELD = "content"
REASONING_PARTS = ("thinking", "reasoning")
"""Kinds of content parts that are reasoning: Mistral's and Databricks'."""


class ChatDecoder(StreamDecoder):
    """The decoder of one response of chat completions."""

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        super().__init__(provider, names)
        self._calls = CallAssembler(self._names)
        self._reasoning_field: str | None = None
        self._details: list[Json] = []
        self._opaque: JsonObject = {}
        self._has_choices = False

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        data = event.data.strip()
        if data == "[DONE]":
            return self._finish()
        events = super().feed(event)
        if event.event == BODY and data and not self.done:
            unreadable = unreadable_error(self._provider, event)
            events += self._finish() if self._has_choices else self._fail(unreadable)
        return events

    def _parse(self, text: str, event: SseEvent) -> list[JsonObject] | None:
        return _parse_chunks(text)

    def _decode_message(self, data: JsonObject, event: SseEvent) -> list[StreamEvent]:
        return self._decode_chunk(data, is_error_event=event.event == "error")

    def _decode_chunk(
        self, chunk: JsonObject, *, is_error_event: bool = False
    ) -> list[StreamEvent]:
        self._take_usage(chunk)
        choice = _first_choice(chunk)
        error = chunk.get("error") or choice.get("error") or _minimax_error(chunk)
        if not error and (is_error_event or "error" in (chunk.get("type"), chunk.get("object"))):
            error = chunk
        if error:
            return self._fail(error_from_event(self._provider, error))
        if isinstance(chunk.get("choices"), list):
            self._has_choices = True
        events: list[StreamEvent] = []
        delta = self._delta_of(choice)
        self._take_opaque(delta)
        self._take_reasoning(delta, events)
        self._take_content(delta, events)
        self._take_calls(delta, events)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            events.extend(self._take_finish(reason))
        return events

    def _delta_of(self, choice: JsonObject) -> JsonObject:
        """Return the delta; in a response that was not streamed, the message (once)."""
        delta = choice.get("delta")
        if isinstance(delta, dict) and delta:
            return delta
        message = choice.get("message")
        untouched = (
            self._part.kind is None and self._reasoning_field is None and not self._calls.any
        )
        return message if isinstance(message, dict) and untouched else {}

    def _take_usage(self, chunk: JsonObject) -> None:
        """Keep the last usage that counts anything, wherever it is in the chunk."""
        nested = chunk.get("x_groq")
        places = (chunk, _first_choice(chunk), nested if isinstance(nested, dict) else {})
        for place in places:
            usage = chat_usage(place.get("usage"))
            if usage is not None and (self._usage is None or usage != Usage()):
                self._usage = usage

    def _take_opaque(self, delta: JsonObject) -> None:
        details = delta.get("reasoning_details")
        if isinstance(details, list):
            self._details.extend(details)
        if opaque := delta.get("reasoning_opaque"):
            self._opaque["reasoning_opaque"] = opaque

    def _take_reasoning(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        known = self._reasoning_field
        order = (known, *REASONING_FIELDS) if known else REASONING_FIELDS
        for name in order:
            text = delta.get(name)
            if isinstance(text, str) and text and name != CONTENT_FIELD:
                self._add_reasoning(name, text, events)
                return

    def _take_content(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        content = delta.get("content")
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, str):
                self._add_text(part, events)
            elif isinstance(part, dict) and part.get("type") in REASONING_PARTS:
                thought = part.get("thinking") or part.get("summary") or part.get("text")
                self._add_reasoning(CONTENT_FIELD, _text_of(thought), events)
            elif isinstance(part, dict) and part.get("type") == "refusal":
                self._add_text(_text_of(part.get("refusal")), events, refusal=True)
            elif isinstance(part, dict):
                self._add_text(_text_of(part.get("text")), events)
        self._add_text(_text_of(delta.get("refusal")), events, refusal=True)

    def _take_calls(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        entries = delta.get("tool_calls")
        if not entries or not isinstance(entries, list):
            legacy = entries or delta.get("function_call")
            entries = [legacy] if isinstance(legacy, dict) and legacy else list[Json]()
        if not entries:
            return
        self._end_part(events)
        events.extend(self._calls.feed(entries))
        self._attach_details()

    def _attach_details(self) -> None:
        """Move encrypted reasoning that names a call to that call."""
        ids = self._calls.open_ids()
        left: list[Json] = []
        for detail in self._details:
            owner = detail.get("id") if isinstance(detail, dict) else None
            if isinstance(owner, str) and owner in ids:
                self._calls.attach(owner, {"reasoning_details": [detail]})
            else:
                left.append(detail)
        self._details = left

    def _take_finish(self, reason: str) -> list[StreamEvent]:
        lowered = reason.lower()
        for failure, error in FAILURE_REASONS.items():
            if failure in lowered:
                return self._fail(error_from_event(self._provider, error))
        self._raw_finish = reason
        return self._calls.finish_complete()

    def _add_reasoning(self, name: str, text: str, events: list[StreamEvent]) -> None:
        if not text:
            return
        if self._part.kind != "reasoning":
            self._end_part(events)
            self._reasoning_field = name
        self._part.reason(text, events, name)

    def _add_text(self, text: str, events: list[StreamEvent], *, refusal: bool = False) -> None:
        if not text:
            return
        if self._part.kind == "reasoning":
            self._end_part(events)
        self._part.text(text, events, refusal=refusal)

    def _end_part(self, events: list[StreamEvent]) -> None:
        opaque = self._pop_opaque() if self._part.kind == "reasoning" else None
        self._part.end(events, opaque)

    def _pop_opaque(self) -> JsonObject | None:
        details: JsonObject = {"reasoning_details": self._details} if self._details else {}
        opaque = merge_objects(self._opaque, details)
        self._opaque, self._details = {}, []
        return opaque or None

    def _finish(self) -> list[StreamEvent]:
        """End a complete response: by its end mark, or by the end of the body."""
        self.done = True
        events: list[StreamEvent] = []
        self._end_part(events)
        raw = self._raw_finish
        finish = FINISH_REASONS.get(raw.lower(), "other") if raw else None
        events.extend(self._calls.finish(truncated=finish == "length"))
        # Opaque data without any reasoning text must still go back: an empty reasoning part.
        self._part.end(events, self._pop_opaque())
        events.append(StepFinish(finish, raw, self._usage))
        return events

    def _close_open(self, events: list[StreamEvent]) -> None:
        self._end_part(events)
        events.extend(self._calls.abandon())


def _parse_chunks(data: str) -> list[JsonObject] | None:
    """Return the JSON objects in *data*, None where it is no JSON.

    Some servers omit the blank line between events, so that several arrive as lines of one.
    """
    try:
        value: Json = json.loads(data)
    except (ValueError, RecursionError):
        lines = [line for line in data.split("\n") if line.strip() not in ("", "[DONE]")]
        if len(lines) < 2:
            return None
        parsed = [_parse_chunks(line) for line in lines]
        return None if None in parsed else [chunk for group in parsed if group for chunk in group]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, dict)]
    return [value] if isinstance(value, dict) else None


def _first_choice(chunk: JsonObject) -> JsonObject:
    """Return the first choice (one is requested), {} where there is none."""
    choices = chunk.get("choices")
    for choice in choices if isinstance(choices, list) else []:
        if isinstance(choice, dict) and choice.get("index") in (0, None):
            return choice
    return {}


def _minimax_error(chunk: JsonObject) -> Json:
    """Return MiniMax' own form of an error, which comes with status 200; None without error."""
    status = chunk.get("base_resp")
    return status if isinstance(status, dict) and status.get("status_code") else None


def _text_of(value: Json) -> str:
    """Return the text in a string, a text part or a list of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text_of(item) for item in value)
    return _text_of(value.get("text")) if isinstance(value, dict) else ""
