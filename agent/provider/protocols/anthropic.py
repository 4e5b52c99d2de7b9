"""Anthropic's Messages API, and servers that are compatible with it.

Thinking goes back as the decoder kept it: ``{"signature": text}``, or ``{"redacted": data}``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from agent.provider.client import (
    MediaContent,
    ModelRequest,
    ReasoningContent,
    StepFinish,
    StreamEvent,
    TextContent,
    ToolCallContent,
    ToolNames,
    ToolResultContent,
    ToolSchema,
)
from agent.provider.protocols.messages import ContentBlocks, alternating_messages
from agent.provider.protocols.stream_decoder import (
    FINISH_REASONS,
    StreamDecoder,
    StreamedCall,
    unreadable_error,
)
from agent.provider.protocols.wire_client import WireClient
from agent.provider.quirks.media import PDF
from agent.provider.quirks.reasoning_effort import OUTPUT_CONFIG, THINKING
from agent.provider.quirks.target import (
    BUDGET_NOW,
    DOCUMENT_NAMES,
    IMAGES,
    REASONING_REPLAY,
    REFUSAL_PATTERN,
    first_named,
)
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.framing import BODY, SseEvent
from agent.provider.transport.wire_json import get_object, get_text, has_part, is_json_object
from agent.provider.usage_parsing import AnthropicUsage
from agent.records.json import Json, JsonObject
from agent.records.messages import Usage


@dataclass(slots=True)
class _Block:
    """One content block."""

    kind: str
    call: StreamedCall | None = None
    """The call of a ``tool_use`` block."""

    initial_input: Json = None
    """The call's input as the start event carried it."""

    signature: str = ""
    ended: bool = False


class AnthropicDecoder(StreamDecoder):
    """The decoder of one response of the Messages API: a list of content blocks, identified by
    their index. Blocks of an unknown type (tools that the provider ran itself, its compaction) are
    skipped.
    """

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        super().__init__(provider, names)
        self._blocks: dict[int, _Block] = {}
        self._open: _Block | None = None
        self._held: StreamedCall | None = None
        self._calls = 0
        self._counts = AnthropicUsage()

    def _decode_message(self, data: JsonObject, event: SseEvent) -> list[StreamEvent]:
        kind = data.get("type") or event.event
        if kind == "error" or data.get("error"):
            return self._fail(error_from_event(self._provider, data.get("error") or data))
        if event.event == BODY:
            return self._decode_unstreamed(event, data)
        events: list[StreamEvent] = []
        match kind:
            case "message_start":
                self._counts.add(get_object(data, "message").get("usage"))
            case "content_block_start":
                self._start(data.get("index"), get_object(data, "content_block"), events)
            case "content_block_delta":
                self._delta(data.get("index"), get_object(data, "delta"), events)
            case "content_block_stop":
                self._stop(self._blocks.get(_block_index(data.get("index"))), events)
            case "message_delta":
                self._counts.add(data.get("usage"))
                self._take_stop_reason(get_object(data, "delta"), events)
            case "message_stop":
                events.extend(self._finish())
            case _:
                pass  # pings, and events that are newer than this program
        return events

    def _decode_unstreamed(self, event: SseEvent, message: JsonObject) -> list[StreamEvent]:
        """Decode a response that was not streamed: one whole message."""
        content = message.get("content")
        if message.get("type") != "message" or not isinstance(content, list):
            return self._fail(unreadable_error(self._provider, event))
        events: list[StreamEvent] = []
        for index, block in enumerate(content):
            if isinstance(block, dict):
                self._start(index, block, events)
                self._stop(self._blocks.get(index), events)
        self._counts.add(message.get("usage"))
        self._take_stop_reason(message, events)
        return [*events, *self._finish()]

    def _start(self, index: Json, content: JsonObject, events: list[StreamEvent]) -> None:
        self._stop(self._open, events)
        self._release(events)
        kind = str(content.get("type"))
        block = _Block(kind)
        self._blocks[_block_index(index)] = self._open = block
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
                name = self._names.from_wire(get_text(content, "name"))
                call_id = get_text(content, "id") or None
                block.call = StreamedCall(f"call-{self._calls}", name, call_id)
                self._calls += 1
                block.initial_input = content.get("input")
                block.call.start(events)
            case _:
                self._part.end(events)

    def _delta(self, index: Json, delta: JsonObject, events: list[StreamEvent]) -> None:
        block = self._blocks.get(_block_index(index))
        if block is None or block.ended:
            return
        match block.kind, delta.get("type"):
            case "text", "text_delta":
                self._part.text(get_text(delta, "text"), events)
            case "thinking", "thinking_delta":
                self._part.reason(get_text(delta, "thinking"), events)
            case "thinking", "signature_delta":
                block.signature = get_text(delta, "signature")
            case "tool_use", "input_json_delta" if block.call is not None:
                block.call.append(get_text(delta, "partial_json"), events)
            case _:
                pass

    def _stop(self, block: _Block | None, events: list[StreamEvent]) -> None:
        if block is None or block.ended:
            return
        block.ended = True
        if block is self._open:
            self._open = None
        call = block.call
        if call is None:
            signed: JsonObject | None = None
            if block.kind == "thinking" and block.signature:
                signed = {"signature": block.signature}
            self._part.end(events, signed)
            return
        if not call.arguments and isinstance(block.initial_input, dict) and block.initial_input:
            call.append(json.dumps(block.initial_input, ensure_ascii=False), events)
        call.end_input(events)
        self._release(events)
        self._held = call
        if is_json_object(call.arguments):
            self._release(events)

    def _release(self, events: list[StreamEvent], *, truncated: bool = False) -> None:
        """Emit the held call.

        A call with missing or incomplete arguments is held until the next block or the stop
        reason: only then is it known whether the output limit truncated it.
        """
        call, self._held = self._held, None
        if call is not None:
            call.emit(events, truncated=truncated)

    def _take_stop_reason(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        reason = get_text(delta, "stop_reason")
        if reason:
            self._raw_finish = reason
            if FINISH_REASONS.get(reason) != "length":
                self._stop(self._open, events)
                self._release(events)

    def _finish(self) -> list[StreamEvent]:
        self.done = True
        events: list[StreamEvent] = []
        raw = self._raw_finish
        finish = FINISH_REASONS.get(raw.lower(), "other") if raw else None
        self._stop(self._open, events)
        self._part.end(events)
        self._release(events, truncated=finish == "length")
        events.append(StepFinish(finish, raw, self._counts.total))
        return events

    def _close_open(self, events: list[StreamEvent]) -> None:
        self._part.end(events)
        if self._open is not None and self._open.call is not None:
            self._open.call.end_input(events)

    def _current_usage(self) -> Usage | None:
        return self._counts.total


def _block_index(index: Json) -> int:
    return index if isinstance(index, int) else -1


API_VERSION = "2023-06-01"
INTERLEAVED_THINKING = "interleaved-thinking-2025-05-14"
"""The beta that lets models with a thinking budget think between calls; newer ones always do."""

OPTIONAL_FIELDS = (OUTPUT_CONFIG, THINKING, "temperature")


class AnthropicClient(WireClient):
    """The client of Anthropic's Messages API."""

    decoder_class = AnthropicDecoder
    session_refusals = frozenset({REASONING_REPLAY})
    path = "/messages"

    @classmethod
    def protocol_headers(cls, body: JsonObject) -> Mapping[str, str]:
        headers = {"anthropic-version": API_VERSION}
        thinking = body.get(THINKING)
        if isinstance(thinking, dict) and thinking.get("type") == "enabled":
            headers["anthropic-beta"] = INTERLEAVED_THINKING
        return headers

    @staticmethod
    def build_body(request: ModelRequest) -> JsonObject:
        model = request.model
        body: JsonObject = {"model": model.wire_id or model.id, "max_tokens": request.max_output}
        if request.system:
            body["system"] = [{"type": "text", "text": text} for text in request.system]
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            if not request.calls_allowed:
                body["tool_choice"] = {"type": "none"}
        body["messages"] = list[Json](alternating_messages(request.turns, _BLOCKS))
        body["stream"] = True
        if request.temperature is not None:
            body["temperature"] = request.temperature
        return body

    @staticmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        text = message.lower()
        messages = body.get("messages")
        stale = "signature" in text or "cannot be modified" in text
        if stale and any(has_part(messages, n) for n in ("thinking", "redacted_thinking")):
            return REASONING_REPLAY
        if "image" in text and has_part(messages, "image"):
            return IMAGES
        if first_named(text, DOCUMENT_NAMES) and has_part(messages, "document"):
            return IMAGES
        if "must start with a thinking block" in text and THINKING in body:
            return BUDGET_NOW
        if not REFUSAL_PATTERN.search(text):
            return None
        if OUTPUT_CONFIG in body and "effort" in text:
            return OUTPUT_CONFIG
        return first_named(text, (name for name in OPTIONAL_FIELDS if name in body))


def _user_block(content: TextContent | MediaContent) -> JsonObject:
    if isinstance(content, TextContent):
        return {"type": "text", "text": content.text}
    source: JsonObject = {"type": "base64", "media_type": content.mime, "data": content.data}
    return {"type": "document" if content.mime == PDF else "image", "source": source}


def _assistant_block(content: TextContent | ReasoningContent | ToolCallContent) -> JsonObject:
    match content:
        case TextContent():
            return {"type": "text", "text": content.text.rstrip()}
        case ReasoningContent():
            opaque = content.opaque or {}
            if "redacted" in opaque:
                return {"type": "redacted_thinking", "data": opaque["redacted"]}
            signature = opaque.get("signature")
            return {"type": "thinking", "thinking": content.text, "signature": signature}
        case ToolCallContent():
            call: JsonObject = {"type": "tool_use", "id": content.call_id, "name": content.name}
            return {**call, "input": content.input}


def _result_block(result: ToolResultContent) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": result.call_id}
    if result.is_error:
        return {**block, "content": result.output, "is_error": True}
    if not result.media:
        return {**block, "content": result.output}
    contents = (TextContent(result.output), *result.media)
    return {**block, "content": [_user_block(content) for content in contents]}


_BLOCKS = ContentBlocks(_user_block, _assistant_block, _result_block)


def _tool(tool: ToolSchema) -> JsonObject:
    sent: JsonObject = {"name": tool.name}
    if tool.description:
        sent["description"] = tool.description
    sent["input_schema"] = {"type": "object", "properties": {}} | tool.parameters
    return sent
