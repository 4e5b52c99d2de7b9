"""OpenAI's chat completions: the decoder of their stream.

Servers that call themselves compatible differ widely, so each field is looked for in all the places
where one of the recorded streams has it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.provider.client import (
    StepFinish,
    StreamEvent,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolNames,
)
from agent.provider.protocols.stream_decoder import (
    FINISH_REASONS,
    StreamDecoder,
    unreadable_error,
)
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.framing import BODY, SseEvent
from agent.provider.transport.wire_json import is_json_object
from agent.provider.usage_parsing import chat_usage
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.messages import Usage


@dataclass(slots=True)
class _Call:
    key: str
    name: str = ""
    call_id: str | None = None
    arguments: str = ""
    opaque: JsonObject | None = None
    started: bool = False
    ended: bool = False
    chunk: int = 0

    @property
    def complete(self) -> bool:
        """True if the arguments are a complete JSON object, so that nothing can follow."""
        return self.ended or is_json_object(self.arguments)


@frozen
class _Delta:
    """One entry of ``tool_calls``, with values of the right types."""

    index: int | None
    call_id: str | None
    name: str
    arguments: str
    opaque: JsonObject | None


@dataclass(slots=True)
class CallAssembler:
    """Assembler of calls: feed it the ``tool_calls`` of each chunk.

    A ``ToolCall`` is emitted when the next call starts, if its arguments are complete by then,
    else by ``finish``.

    Servers disagree on how a call is distinguished from the next. The rules, from recorded streams:

    - a new index starts a call; a delta without index belongs to the last call with its id, else to
      the last call;
    - under one index, another id together with a name starts a new call, and so does a repeated
      name if the call before it is complete (its arguments are a JSON object);
    - a name that comes in pieces before the arguments is one name, if a tool has it;
    - ids that change without a name are ignored (some servers make one for each delta);
    - a whole call that is sent again is dropped.
    """

    _names: ToolNames = field(default_factory=ToolNames)
    _calls: list[_Call] = field(default_factory=list[_Call])
    _by_index: dict[int, _Call] = field(default_factory=dict[int, _Call])
    _chunk: int = 0

    @property
    def any(self) -> bool:
        return bool(self._calls)

    def feed(self, entries: Sequence[Json]) -> list[StreamEvent]:
        """Return the events of one chunk's deltas."""
        self._chunk += 1
        events: list[StreamEvent] = []
        for entry in entries:
            if isinstance(entry, dict):
                self._take(_delta(entry), events)
        return events

    def finish(self, *, truncated: bool) -> list[StreamEvent]:
        """End all open calls.

        *truncated* says that the output limit was hit: it truncated the last call, if the
        arguments of that are incomplete.
        """
        events: list[StreamEvent] = []
        last = self._calls[-1] if self._calls else None
        for call in self._calls:
            self._end(call, events, truncated=truncated and call is last and not call.complete)
        return events

    def finish_complete(self) -> list[StreamEvent]:
        """End the calls whose arguments are complete (the finish reason has come)."""
        events: list[StreamEvent] = []
        for call in self._calls:
            if call.complete and call.name:
                self._end(call, events)
        return events

    def abandon(self) -> list[StreamEvent]:
        """Close the inputs of a stream that broke, without emitting their calls."""
        events: list[StreamEvent] = []
        for call in self._calls:
            if call.started and not call.ended:
                events.append(ToolInputEnd(call.key))
            call.ended = True
        return events

    def open_ids(self) -> frozenset[str]:
        """Return the ids of calls that have not ended."""
        return frozenset(c.call_id for c in self._calls if c.call_id and not c.ended)

    def attach(self, call_id: str, opaque: JsonObject) -> None:
        """Add *opaque* to the open call *call_id*; the lists of both are joined."""
        for call in self._calls:
            if call.call_id == call_id and not call.ended:
                call.opaque = merge_objects(call.opaque, opaque)

    def _take(self, delta: _Delta, events: list[StreamEvent]) -> None:
        current = self._current(delta)
        if current is None or self._starts_new(current, delta):
            if current is not None and _repeats(current, delta):
                return
            current = self._new(delta, events)
        elif current.ended:
            return
        current.chunk = self._chunk
        current.name = self._joined_name(current, delta) or current.name or delta.name
        current.call_id = current.call_id or delta.call_id
        current.opaque = merge_objects(current.opaque, delta.opaque)
        known = len(current.arguments) if current.started else 0
        current.arguments += delta.arguments
        begins = current.arguments or not self._names.can_continue(current.name)
        if current.name and not current.started and begins:
            current.started = True
            own = self._names.from_wire(current.name)
            events.append(ToolInputStart(current.key, own, current.call_id))
        if current.started and len(current.arguments) > known:
            events.append(ToolInputDelta(current.key, current.arguments[known:]))

    def _current(self, delta: _Delta) -> _Call | None:
        if delta.index is not None:
            found = self._by_index.get(delta.index)
            if found is not None or delta.name or delta.call_id is None:
                return found
        if delta.call_id is not None:
            for call in reversed(self._calls):
                if call.call_id == delta.call_id:
                    return call
            if delta.name:
                return None
        return self._calls[-1] if self._calls else None

    def _starts_new(self, current: _Call, delta: _Delta) -> bool:
        other_id = bool(
            delta.call_id and current.call_id is not None and delta.call_id != current.call_id
        )
        if other_id:
            return bool(delta.name) or current.complete
        if not delta.name or not current.name:
            return False
        if delta.index is None and delta.call_id is None and current.chunk == self._chunk:
            return True  # two whole calls in one list, with nothing but their names
        if self._joined_name(current, delta):
            return False
        return current.complete or (delta.name != current.name)

    def _joined_name(self, call: _Call, delta: _Delta) -> str:
        """Return the name of *call* with the piece in *delta*, "" if that is no piece of it."""
        joined = call.name + delta.name
        pieces = bool(call.name and delta.name) and not (call.arguments or call.started)
        return joined if pieces and self._names.is_sent(joined) else ""

    def _new(self, delta: _Delta, events: list[StreamEvent]) -> _Call:
        for call in self._calls:
            if call.name and call.complete:
                self._end(call, events)
        call = _Call(key=f"call-{len(self._calls)}")
        self._calls.append(call)
        if delta.index is not None:
            self._by_index[delta.index] = call
        return call

    def _end(self, call: _Call, events: list[StreamEvent], *, truncated: bool = False) -> None:
        if call.ended:
            return
        call.ended = True
        name = self._names.from_wire(call.name)
        if not call.started:
            events.append(ToolInputStart(call.key, name, call.call_id))
            if call.arguments:
                events.append(ToolInputDelta(call.key, call.arguments))
        events.append(ToolInputEnd(call.key))
        events.append(
            ToolCall(call.key, name, call.arguments, call.call_id, call.opaque, truncated)
        )


def merge_objects(first: JsonObject | None, second: JsonObject | None) -> JsonObject | None:
    """Return both objects in one; where both hold a list, the lists are joined."""
    if not first or not second:
        return first or second
    result = dict(first)
    for name, value in second.items():
        before = result.get(name)
        if isinstance(before, list) and isinstance(value, list):
            result[name] = [*before, *value]
        else:
            result[name] = value
    return result


def _delta(entry: JsonObject) -> _Delta:
    function = entry.get("function")
    if not isinstance(function, dict):
        function = entry
    index = entry.get("index")
    call_id = entry.get("id")
    name = function.get("name")
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    extra = entry.get("extra_content")
    return _Delta(
        index=index if isinstance(index, int) and not isinstance(index, bool) else None,
        call_id=call_id if isinstance(call_id, str) and call_id else None,
        name=name if isinstance(name, str) else "",
        arguments=arguments if isinstance(arguments, str) else "",
        opaque={"extra_content": extra} if extra else None,
    )


def _repeats(call: _Call, delta: _Delta) -> bool:
    same_id = delta.call_id is not None and delta.call_id == call.call_id
    return same_id and delta.name == call.name and delta.arguments in ("", call.arguments)


FAILURE_REASONS = {
    "insufficient_system_resource": "server_error: it ran out of resources",
    "malformed_function_call": "malformed_function_call",
}
"""Finish reasons (or parts of them) that represent a failure of the provider, with its error."""

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
CONTENT_FIELD = "content"
TEXT_FIELDS = frozenset({"role", CONTENT_FIELD})
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
        choice = _first_choice(chunk)
        self._take_usage(chunk, choice)
        error = chunk.get("error") or choice.get("error") or _minimax_error(chunk)
        if not error and (is_error_event or "error" in (chunk.get("type"), chunk.get("object"))):
            error = chunk
        if error:
            return self._fail(error_from_event(self._provider, error))
        if isinstance(chunk.get("choices"), list):
            self._has_choices = True
        events: list[StreamEvent] = []
        delta = self._delta_of(choice)
        if delta.keys() <= TEXT_FIELDS:  # nearly all are
            self._take_content(delta, events)
        else:
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

    def _take_usage(self, chunk: JsonObject, choice: JsonObject) -> None:
        """Keep the last usage that counts anything, wherever it is in the chunk."""
        nested = chunk.get("x_groq")
        for place in (chunk, choice, nested):
            found = place.get("usage") if isinstance(place, dict) else None
            usage = chat_usage(found) if found is not None else None
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
