"""Anthropic's stream decoded to our events, without any input or output of its own.

An answer is a list of blocks, told apart by their index. Blocks of a type that is not known
here (what the provider ran itself, its compaction) are passed over. Nothing in the shape of an
event is relied on.
"""

import json
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
from agent.provider.protocols.stream_decoder import FINISHES, OpenPart, incomplete, unreadable
from agent.provider.tool_names import ToolNames
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.sse import BODY, SseEvent
from agent.provider.transport.wire_json import get_object, get_text, is_json_object, parse_object
from agent.provider.usage import AnthropicUsage
from agent.records.errors import ProviderError
from agent.records.json import Json, JsonObject


@dataclass(slots=True)
class _Block:
    """One content block. *started* is a call's input as the start event held it."""

    kind: str
    key: str = ""
    name: str = ""
    call_id: str | None = None
    arguments: str = ""
    started: Json = None
    signature: str = ""
    ended: bool = False


class AnthropicDecoder:
    """The state of one answer. After ``done`` nothing more is to be fed."""

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        self.done = False
        self._provider = provider
        self._names = names or ToolNames()
        self._part = OpenPart()
        self._blocks: dict[int, _Block] = {}
        self._open: _Block | None = None
        self._held: _Block | None = None
        self._calls = 0
        self._raw_finish: str | None = None
        self._usage = AnthropicUsage()

    @property
    def finishing(self) -> bool:
        """Whether the model has finished, and only the end mark can still come."""
        return self._raw_finish is not None

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        """The events that *event* stands for; the last of an answer ends it."""
        text = event.data.strip()
        if not text or text == "[DONE]":
            return []
        data = parse_object(text)
        if data is None:
            return self._fail(unreadable(self._provider, event))
        kind = data.get("type") or event.event
        if kind == "error" or data.get("error"):
            return self._fail(error_from_event(self._provider, data.get("error") or data))
        if event.event == BODY:
            return self._whole(event, data)
        events: list[StreamEvent] = []
        match kind:
            case "message_start":
                self._usage.add(get_object(data, "message").get("usage"))
            case "content_block_start":
                self._start(data.get("index"), get_object(data, "content_block"), events)
            case "content_block_delta":
                self._delta(data.get("index"), get_object(data, "delta"), events)
            case "content_block_stop":
                self._stop(self._blocks.get(_key(data.get("index"))), events)
            case "message_delta":
                self._usage.add(data.get("usage"))
                self._take_reason(get_object(data, "delta"), events)
            case "message_stop":
                events.extend(self._finish())
            case _:
                pass  # pings, and events that are newer than this program
        return events

    def close(self, error: ProviderError | None = None) -> list[StreamEvent]:
        """The end of the body, or *error* that broke it. A stop reason makes it complete."""
        if self.done:
            return []
        if self.finishing:
            return self._finish()
        return self._fail(error or incomplete(self._provider))

    def _whole(self, event: SseEvent, message: JsonObject) -> list[StreamEvent]:
        """An answer that was not streamed, as one message."""
        content = message.get("content")
        if message.get("type") != "message" or not isinstance(content, list):
            return self._fail(unreadable(self._provider, event))
        events: list[StreamEvent] = []
        for index, block in enumerate(content):
            if isinstance(block, dict):
                self._start(index, block, events)
                self._stop(self._blocks.get(index), events)
        self._usage.add(message.get("usage"))
        self._take_reason(message, events)
        return [*events, *self._finish()]

    def _start(self, index: Json, content: JsonObject, events: list[StreamEvent]) -> None:
        self._stop(self._open, events)
        self._release(events)
        kind = str(content.get("type"))
        block = _Block(kind)
        self._blocks[_key(index)] = self._open = block
        match kind:
            case "text":
                self._part.text(get_text(content, "text"), events)
            case "thinking":
                block.signature = get_text(content, "signature")
                self._part.reason(get_text(content, "thinking"), events)
            case "redacted_thinking":
                self._part.end(events)
                if data := content.get("data"):
                    self._part.end(events, {"redacted": data})
            case "tool_use":
                self._part.end(events)
                block.key = f"call-{self._calls}"
                self._calls += 1
                block.name = self._names.from_wire(get_text(content, "name"))
                block.call_id = get_text(content, "id") or None
                block.started = content.get("input")
                events.append(ToolInputStart(block.key, block.name, block.call_id))
            case _:
                self._part.end(events)

    def _delta(self, index: Json, delta: JsonObject, events: list[StreamEvent]) -> None:
        block = self._blocks.get(_key(index))
        if block is None or block.ended:
            return
        match block.kind, delta.get("type"):
            case "text", "text_delta":
                self._part.text(get_text(delta, "text"), events)
            case "thinking", "thinking_delta":
                self._part.reason(get_text(delta, "thinking"), events)
            case "thinking", "signature_delta":
                block.signature = get_text(delta, "signature")
            case "tool_use", "input_json_delta":
                self._append(block, get_text(delta, "partial_json"), events)
            case _:
                pass

    def _append(self, block: _Block, text: str, events: list[StreamEvent]) -> None:
        if text:
            block.arguments += text
            events.append(ToolInputDelta(block.key, text))

    def _stop(self, block: _Block | None, events: list[StreamEvent]) -> None:
        if block is None or block.ended:
            return
        block.ended = True
        if block is self._open:
            self._open = None
        if block.kind != "tool_use":
            signed: JsonObject | None = None
            if block.kind == "thinking" and block.signature:
                signed = {"signature": block.signature}
            self._part.end(events, signed)
            return
        if not block.arguments and isinstance(block.started, dict) and block.started:
            self._append(block, json.dumps(block.started, ensure_ascii=False), events)
        events.append(ToolInputEnd(block.key))
        self._release(events)
        self._held = block
        if is_json_object(block.arguments):
            self._release(events)

    def _release(self, events: list[StreamEvent], *, cut: bool = False) -> None:
        """Give out the call that is held. One whose arguments are none or not whole waits for
        what follows it: the output limit may have cut it off, and says so only at the end."""
        block, self._held = self._held, None
        if block is not None:
            events.append(
                ToolCall(block.key, block.name, block.arguments, block.call_id, truncated=cut)
            )

    def _take_reason(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        reason = get_text(delta, "stop_reason")
        if reason:
            self._raw_finish = reason
            if FINISHES.get(reason) != "length":
                self._stop(self._open, events)
                self._release(events)

    def _finish(self) -> list[StreamEvent]:
        self.done = True
        events: list[StreamEvent] = []
        raw = self._raw_finish
        finish = FINISHES.get(raw.lower(), "other") if raw else None
        self._stop(self._open, events)
        self._part.end(events)
        self._release(events, cut=finish == "length")
        events.append(StepFinish(finish, raw, self._usage.total))
        return events

    def _fail(self, error: ProviderError) -> list[StreamEvent]:
        """Close what is open; no call is given out after the break (spec 1, L12)."""
        self.done = True
        events: list[StreamEvent] = []
        self._part.end(events)
        if self._open is not None and self._open.kind == "tool_use":
            events.append(ToolInputEnd(self._open.key))
        events.append(StreamError(error, self._usage.total))
        return events


def _key(index: Json) -> int:
    return index if isinstance(index, int) else -1
