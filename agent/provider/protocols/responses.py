"""OpenAI's Responses API, and servers that are compatible with it.

Nothing is stored at the server (``store: false``). The decoder keeps ``{"id", "summary"}`` of
reasoning with its ``encrypted_content`` or, from servers that encrypt nothing, its ``content``; of
a text it keeps the ``phase``.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ModelRequest,
    ReasoningContent,
    StepFinish,
    StreamEvent,
    TextContent,
    ToolCallContent,
    ToolNames,
    ToolResultContent,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.protocols.stream_decoder import (
    FINISH_REASONS,
    StreamDecoder,
    StreamedCall,
    unreadable_error,
)
from agent.provider.protocols.wire_client import WireClient
from agent.provider.quirks.body_fields import INCLUDE
from agent.provider.quirks.media import PDF
from agent.provider.quirks.reasoning_effort import SUMMARY
from agent.provider.quirks.structural_sharing import Content
from agent.provider.quirks.target import (
    DOCUMENT_NAMES,
    IMAGES,
    REASONING_REPLAY,
    REFUSAL_PATTERN,
    first_named,
)
from agent.provider.transport.errors import connection_error, error_from_event
from agent.provider.transport.framing import BODY, SseEvent
from agent.provider.transport.wire_json import (
    encode_arguments,
    get_object,
    get_text,
    has_part,
    is_json_object,
)
from agent.provider.usage_parsing import chat_usage
from agent.records.json import Json, JsonObject
from agent.records.messages import Finish


@dataclass(slots=True)
class _Call(StreamedCall):
    custom: bool = False
    """A custom tool, whose input is free text: its arguments are written as a JSON string."""

    has_input: bool = False
    ended: bool = False
    emitted: bool = False

    @property
    def complete(self) -> bool:
        return self.custom or is_json_object(self.arguments)


class ResponsesCalls:
    """Assembler of the calls.

    A call is emitted as soon as its item is done, if its arguments are complete; else by
    ``finish``, when it is known whether the output limit truncated it.
    """

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._calls: dict[str, _Call] = {}

    @property
    def any(self) -> bool:
        return bool(self._calls)

    def start(self, position: str, item: JsonObject, events: list[StreamEvent]) -> None:
        """Start the call *item* at *position*."""
        name, call_id = item.get("name"), item.get("call_id")
        call = _Call(
            key=f"call-{len(self._calls)}",
            name=self._names.from_wire(name if isinstance(name, str) else ""),
            call_id=call_id if isinstance(call_id, str) and call_id else None,
            custom=item.get("type") == "custom_tool_call",
        )
        self._calls[position] = call
        call.start(events)

    def append(self, position: str, text: str, events: list[StreamEvent]) -> None:
        """Append a piece of the arguments."""
        call = self._calls.get(position)
        if call is None or call.ended or not text:
            return
        if call.custom:
            quote = "" if call.has_input else '"'
            text = f"{quote}{json.dumps(text)[1:-1]}"
        call.has_input = True
        call.append(text, events)

    def complete(self, position: str, text: str, events: list[StreamEvent]) -> None:
        """Set the whole arguments, unless pieces of them came before."""
        call = self._calls.get(position)
        if call is not None and not call.has_input:
            self.append(position, text, events)

    def end(self, position: str, item: JsonObject, events: list[StreamEvent]) -> None:
        """End the call at *position* as the done *item* has it."""
        if position not in self._calls:
            self.start(position, item, events)
        call = self._calls[position]
        given = item.get("arguments") or item.get("input")
        if isinstance(given, dict):
            given = json.dumps(given, ensure_ascii=False)
        if isinstance(given, str):
            self.complete(position, given, events)
        if call.ended:
            return
        self._end_input(call, events)
        if call.complete and item.get("status") != "incomplete":
            self._emit(call, events)

    def finish(self, events: list[StreamEvent], *, truncated: bool) -> None:
        """Emit the calls that are left.

        *truncated* says that the output limit was hit: in the last call, if it is left.
        """
        last = next(reversed(self._calls.values()), None)
        for call in self._calls.values():
            self._end_input(call, events)
            self._emit(call, events, truncated=truncated and call is last)

    def abandon(self, events: list[StreamEvent]) -> None:
        """Close the inputs of a stream that broke, without emitting their calls."""
        for call in self._calls.values():
            if not call.ended:
                call.ended = True
                call.end_input(events)

    def _end_input(self, call: _Call, events: list[StreamEvent]) -> None:
        if call.ended:
            return
        if call.custom:
            call.append('"' if call.has_input else '""', events)
        call.ended = True
        call.end_input(events)

    def _emit(self, call: _Call, events: list[StreamEvent], *, truncated: bool = False) -> None:
        if not call.emitted:
            call.emitted = True
            call.emit(events, truncated=truncated)


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
    """The decoder of one response of the Responses API: a list of items (reasoning, messages,
    calls), identified by their position in it, since the ids of one item can change from event to
    event. Items of an unknown type, which the provider ran itself, are skipped.
    """

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
            return self._fail(connection_error(self._provider, f"the response ended as {status}"))
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


OPTIONAL_FIELDS = (
    "reasoning",
    "temperature",
    "prompt_cache_key",
    INCLUDE,
    "max_output_tokens",
    "store",
    "tool_choice",
)
STALE_REASONING_PATTERN = re.compile(
    r"required following item|encrypted[_ ]content|could not be (verified|decrypted)|"
    r"item (with id )?'?rs_\w*'? .{0,40}not found"
)
"""A refusal of reasoning that was sent back."""

PHASE = "phase"
"""The field that tells whether a message comments on the work or ends it."""


class ResponsesClient(WireClient):
    """The client of the Responses API."""

    decoder_class = ResponsesDecoder
    session_refusals = frozenset({REASONING_REPLAY})
    messages_field = "input"
    path = "/responses"

    @staticmethod
    def build_body(request: ModelRequest) -> JsonObject:
        name = request.model.wire_id or request.model.id
        items = list[Json](input_items(request.turns))
        body: JsonObject = {"model": name, "input": items, "stream": True, "store": False}
        if request.system:
            body["instructions"] = "\n\n".join(request.system)
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": {"type": "object", "properties": {}} | tool.parameters,
                    "strict": False,
                }
                for tool in request.tools
            ]
            if not request.calls_allowed:
                body["tool_choice"] = "none"
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_output is not None:
            body["max_output_tokens"] = request.max_output
        return body

    @staticmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        text = message.lower()
        items = body.get("input")
        if STALE_REASONING_PATTERN.search(text) and has_part(items, "encrypted_content"):
            return REASONING_REPLAY
        if "image" in text and has_part(items, "input_image"):
            return IMAGES
        if first_named(text, DOCUMENT_NAMES) and has_part(items, "input_file"):
            return IMAGES
        reasoning = body.get("reasoning")
        has_summary = isinstance(reasoning, dict) and "summary" in reasoning
        if has_summary and re.search(r"summar(y|ies)", text):
            return SUMMARY
        if not REFUSAL_PATTERN.search(text):
            return None
        if INCLUDE in body and "encrypted content" in text:
            return INCLUDE
        if PHASE in text and has_part(items, PHASE):
            return REASONING_REPLAY
        return first_named(text, (name for name in OPTIONAL_FIELDS if name in body))


def input_items(turns: Iterable[Turn]) -> list[JsonObject]:
    """Return the ``input`` for *turns*."""
    items: list[JsonObject] = []
    for turn in turns:
        match turn:
            case UserTurn():
                content = _input_parts(turn.content)
                items.append({"type": "message", "role": "user", "content": content})
            case AssistantTurn():
                items += map(_assistant_item, turn.content)
            case ToolTurn():
                items += [_output_item(result) for result in turn.content]
    return items


def _assistant_item(content: Content) -> JsonObject:
    match content:
        case TextContent():
            part: JsonObject = {"type": "output_text", "text": content.text}
            message: JsonObject = {"type": "message", "role": "assistant", "content": [part]}
            phase = (content.opaque or {}).get(PHASE)
            return {**message, PHASE: phase} if phase else message
        case ReasoningContent():
            opaque = content.opaque or {}
            whole = {key: opaque[key] for key in ("encrypted_content", "content") if key in opaque}
            summary = opaque.get("summary") or []
            return {"type": "reasoning", "id": opaque.get("id"), "summary": summary, **whole}
        case ToolCallContent():
            return {
                "type": "function_call",
                "call_id": content.call_id,
                "name": content.name,
                "arguments": encode_arguments(content.input),
            }


def _output_item(result: ToolResultContent) -> JsonObject:
    output: Json = result.output
    if result.media:
        output = _input_parts((TextContent(result.output), *result.media))
    return {"type": "function_call_output", "call_id": result.call_id, "output": output}


def _input_parts(content: Sequence[TextContent | MediaContent]) -> list[Json]:
    return [
        _media(item)
        if isinstance(item, MediaContent)
        else {"type": "input_text", "text": item.text}
        for item in content
    ]


def _media(media: MediaContent) -> JsonObject:
    url = f"data:{media.mime};base64,{media.data}"
    if media.mime == PDF:
        name = media.name or "document.pdf"
        return {"type": "input_file", "filename": name, "file_data": url}
    return {"type": "input_image", "image_url": url}
