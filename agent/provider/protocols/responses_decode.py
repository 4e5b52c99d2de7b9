"""OpenAI's Responses API: the decoder of its stream.

A response is a list of items (reasoning, messages, calls), identified by their position in it: the
ids of one item can change from event to event. Items of an unknown type, which the provider ran
itself, are skipped.
"""

from agent.provider.client import StepFinish, StreamEvent
from agent.provider.protocols.responses_calls import ResponsesCalls
from agent.provider.protocols.stream_decoder import (
    FINISH_REASONS,
    StreamDecoder,
    unreadable_error,
)
from agent.provider.tool_names import ToolNames
from agent.provider.transport.errors import connection_error, error_from_event
from agent.provider.transport.sse import BODY, SseEvent
from agent.provider.transport.wire_json import get_object, get_text
from agent.provider.usage import chat_usage
from agent.records.json import Json, JsonObject
from agent.records.messages import Finish

END_EVENTS = frozenset({
    "response.completed", "response.incomplete", "response.done", "response.failed",
    "response.cancelled",
})  # fmt: skip
TEXT_EVENTS = {
    "response.output_text": "text",
    "response.refusal": "refusal",
    "response.reasoning_summary_text": "reasoning",
    "response.reasoning_text": "reasoning",
}
"""The kind of part for each family of events with text."""

PART_EVENTS = {
    "summary_text": "response.reasoning_summary_text",
    "reasoning_text": "response.reasoning_text",
    "output_text": "response.output_text",
    "refusal": "response.refusal",
}
"""The family of events for each type of part in a complete item."""

WHOLE_TEXT_FIELDS = ("text", "refusal")
"""The fields with the whole text in the event that ends a piece of it."""

CUSTOM_CALL = "custom_tool_call"
CALL_ITEMS = frozenset({"function_call", CUSTOM_CALL})
SERVER_SIDE_CUSTOM_TOOLS = frozenset({"xai"})
"""Providers whose own tools appear as calls of custom tools, which they have run already."""

CALL_INPUT_EVENTS = ("response.function_call_arguments", "response.custom_tool_call_input")


class ResponsesDecoder(StreamDecoder):
    """The decoder of one response of the Responses API."""

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        super().__init__(provider, names)
        self._calls = ResponsesCalls(self._names)
        self._seen_texts: set[tuple[str, str]] = set()
        self._open_text: tuple[str, str, str] | None = None
        self._items = 0
        client_side = provider not in SERVER_SIDE_CUSTOM_TOOLS
        self._call_items = CALL_ITEMS if client_side else CALL_ITEMS - {CUSTOM_CALL}

    def _decode_message(self, data: JsonObject, event: SseEvent) -> list[StreamEvent]:
        kind = data.get("type")
        if not isinstance(kind, str):
            kind = event.event
        if event.event == BODY and data.get("object") == "response":
            return self._end(data)
        if kind == "error" or (data.get("error") and not kind.startswith("response.")):
            return self._fail(error_from_event(self._provider, data.get("error") or data))
        if event.event == BODY:
            return self._fail(unreadable_error(self._provider, event))
        if kind in END_EVENTS:
            return self._end(get_object(data, "response"))
        return self._decode_item_event(kind, data)

    def _decode_item_event(self, kind: str, data: JsonObject) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        position = _position(data)
        name, _, step = kind.rpartition(".")
        if kind == "response.output_item.added":
            self._start_item(position, get_object(data, "item"), events)
        elif kind == "response.output_item.done":
            self._end_item(position, get_object(data, "item"), events)
        elif name in TEXT_EVENTS and step in ("delta", "done"):
            self._take_text(position, name, step, data, events)
        elif name in CALL_INPUT_EVENTS and step == "delta":
            self._calls.append(position, get_text(data, "delta"), events)
        elif name in CALL_INPUT_EVENTS and step == "done":
            given = get_text(data, "arguments") or get_text(data, "input")
            self._calls.complete(position, given, events)
        return events

    def _start_item(self, position: str, item: JsonObject, events: list[StreamEvent]) -> None:
        self._items += 1
        self._end_part(events)
        if item.get("type") in self._call_items:
            self._calls.start(position, item, events)

    def _take_text(
        self, position: str, name: str, step: str, data: JsonObject, events: list[StreamEvent]
    ) -> None:
        """Write a delta of text; or the whole text, if no delta of it came before."""
        number = str(data.get("summary_index", data.get("content_index", 0)))
        key = (position, f"{name} {number}")
        if step == "delta":
            text = get_text(data, "delta")
        else:
            whole = (get_text(data, field) for field in WHOLE_TEXT_FIELDS)
            text = next(filter(None, whole), "")
            if key in self._seen_texts:
                return
        if text:
            self._seen_texts.add(key)
            self._write((position, name, number), text, events)

    def _write(self, target: tuple[str, str, str], text: str, events: list[StreamEvent]) -> None:
        """Write *text* into the part *target*; each part of a summary becomes one part of ours."""
        if target != self._open_text:
            self._end_part(events)
            self._open_text = target
        kind = TEXT_EVENTS[target[1]]
        if kind == "reasoning":
            self._part.reason(text, events)
        else:
            self._part.text(text, events, refusal=kind == "refusal")

    def _end_part(self, events: list[StreamEvent], opaque: JsonObject | None = None) -> None:
        self._open_text = None
        self._part.end(events, opaque)

    def _end_item(self, position: str, item: JsonObject, events: list[StreamEvent]) -> None:
        kind = item.get("type")
        if kind in self._call_items:
            self._end_part(events)
            self._calls.end(position, item, events)
        elif kind in ("reasoning", "message"):
            if not any(seen == position for seen, _ in self._seen_texts):
                self._write_whole_item(position, item, events)
            if kind == "message":
                self._part.end_text(events, _phase(item))
            self._end_part(events, _replayable(item) if kind == "reasoning" else None)

    def _write_whole_item(self, position: str, item: JsonObject, events: list[StreamEvent]) -> None:
        """Write the texts of an item without any delta."""
        for field in ("summary", "content"):
            parts = item.get(field)
            for number, part in enumerate(parts if isinstance(parts, list) else []):
                name = PART_EVENTS.get(str(part.get("type"))) if isinstance(part, dict) else None
                if name is not None and isinstance(part, dict):
                    text = get_text(part, "text") or get_text(part, "refusal")
                    if text:
                        self._write((position, name, f"{field} {number}"), text, events)

    def _end(self, response: JsonObject) -> list[StreamEvent]:
        """End the response by its last event, which contains the whole *response*."""
        self._usage = chat_usage(response.get("usage"))
        status = get_text(response, "status")
        error = response.get("error")
        if error:
            return self._fail(error_from_event(self._provider, error))
        if status in ("failed", "cancelled"):
            return self._fail(connection_error(self._provider, f"the answer ended as {status}"))
        events: list[StreamEvent] = []
        output = response.get("output")
        if not self._items and isinstance(output, list):
            for number, item in enumerate(output):
                if isinstance(item, dict):
                    self._end_item(str(number), item, events)
        self.done = True
        self._end_part(events)
        reason = get_text(get_object(response, "incomplete_details"), "reason")
        raw = f"incomplete:{reason}" if reason else status or "completed"
        finish: Finish = "tool-calls" if self._calls.any else "stop"
        if reason or status == "incomplete":
            finish = FINISH_REASONS.get(reason, "other")
        self._calls.finish(events, truncated=finish == "length")
        events.append(StepFinish(finish, raw, self._usage))
        return events

    def _close_open(self, events: list[StreamEvent]) -> None:
        self._end_part(events)
        self._calls.abandon(events)


def _phase(item: JsonObject) -> JsonObject | None:
    """Return the phase of a message, which goes back to the model with its text."""
    phase = get_text(item, "phase")
    return {"phase": phase} if phase else None


def _replayable(item: JsonObject) -> JsonObject | None:
    """Return the fields of a reasoning item that go back with the next request.

    Its content is encrypted, or in full where a server shows it (open models do). None if it is
    neither: nothing is stored at the server.
    """
    name, encrypted = get_text(item, "id"), get_text(item, "encrypted_content")
    summary, content = item.get("summary"), item.get("content")
    fields: JsonObject = {"id": name, "summary": summary if isinstance(summary, list) else []}
    if name and encrypted:
        return {**fields, "encrypted_content": encrypted}
    return (
        {**fields, "content": content} if name and content and isinstance(content, list) else None
    )


def _position(data: JsonObject) -> str:
    index = data.get("output_index")
    return str(index) if isinstance(index, int) else str(data.get("item_id") or _item_id(data))


def _item_id(data: JsonObject) -> Json:
    return get_object(data, "item").get("id")
