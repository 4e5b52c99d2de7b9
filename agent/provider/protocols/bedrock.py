"""Amazon Bedrock's Converse API, with an API key or signed with AWS credentials."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from agent.provider.client import (
    MediaContent,
    ModelRequest,
    ReasoningContent,
    StepFinish,
    StreamError,
    StreamEvent,
    TextContent,
    ToolCallContent,
    ToolNames,
    ToolResultContent,
    ToolSchema,
)
from agent.provider.protocols.messages import ContentBlocks, alternating_messages
from agent.provider.protocols.stream_decoder import StreamDecoder, StreamedCall
from agent.provider.protocols.wire_client import WireClient
from agent.provider.quirks.media import PDF
from agent.provider.quirks.reasoning_effort import THINKING
from agent.provider.quirks.target import (
    CACHE_MARKS,
    IMAGES,
    REASONING_REPLAY,
    REFUSAL_PATTERN,
    TEMPERATURE,
)
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.framing import BODY, ERROR, AwsFrames, SseEvent
from agent.provider.transport.wire_json import get_object, get_text, has_part
from agent.provider.usage_parsing import token_count
from agent.records.json import Json, JsonObject
from agent.records.messages import Finish, Usage

FINISH_REASONS: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "content-filter",
    "content_filtered": "content-filter",
    "malformed_tool_use": "error",
    "malformed_model_output": "error",
}


@dataclass(slots=True)
class _Block:
    """One content block: a call, or text or reasoning."""

    call: StreamedCall | None = None
    signature: str = ""
    redacted: str = ""
    """Encrypted reasoning, which goes back unread."""


class BedrockDecoder(StreamDecoder):
    """The decoder of one response of the Converse API. Reasoning carries a signature, or is
    redacted. ``agent.provider.transport.framing`` has removed the frames of AWS' event stream.
    """

    skips_blank_messages = False

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        super().__init__(provider, names)
        self._blocks: dict[str, _Block] = {}
        self._calls = 0

    def _decode_message(self, data: JsonObject, event: SseEvent) -> list[StreamEvent]:
        if event.event.endswith("Exception") or event.event in (BODY, ERROR):
            named = event.event not in (BODY, ERROR)
            error: JsonObject = {"type": event.event, **data} if named else data
            return self._fail(error_from_event(self._provider, error))
        events: list[StreamEvent] = []
        index = str(data.get("contentBlockIndex", 0))
        match event.event:
            case "contentBlockStart":
                self._start(index, get_object(get_object(data, "start"), "toolUse"), events)
            case "contentBlockDelta":
                self._delta(index, get_object(data, "delta"), events)
            case "contentBlockStop":
                self._stop(index, events)
            case "messageStop":
                self._raw_finish = get_text(data, "stopReason") or "end_turn"
                self._stop_all(events)
            case "metadata":
                self._usage = _usage(data.get("usage"))
                if self.finishing:
                    events += self._finish()
            case _:
                pass  # messageStart, and events that are newer than this program
        return events

    def _start(self, index: str, tool: JsonObject, events: list[StreamEvent]) -> None:
        if not tool:
            return
        self._part.end(events)
        name = self._names.from_wire(get_text(tool, "name"))
        call = StreamedCall(f"call-{self._calls}", name, get_text(tool, "toolUseId") or None)
        self._calls += 1
        self._blocks[index] = _Block(call)
        call.start(events)

    def _delta(self, index: str, delta: JsonObject, events: list[StreamEvent]) -> None:
        block = self._blocks.setdefault(index, _Block())
        if block.call is not None:
            block.call.append(get_text(get_object(delta, "toolUse"), "input"), events)
            return
        thought = get_object(delta, "reasoningContent")
        self._part.reason(get_text(thought, "text"), events)
        block.signature += get_text(thought, "signature")
        block.redacted += get_text(thought, "redactedContent")
        self._part.text(get_text(delta, "text"), events)

    def _stop(self, index: str, events: list[StreamEvent], *, truncated: bool = False) -> None:
        block = self._blocks.pop(index, None)
        if block is None:
            return
        if block.call is not None:
            block.call.end_input(events)
            block.call.emit(events, truncated=truncated)
        elif block.redacted:
            self._part.end(events, {"redacted": block.redacted})
        else:
            self._part.end(events, {"signature": block.signature} if block.signature else None)

    def _stop_all(self, events: list[StreamEvent]) -> None:
        truncated = FINISH_REASONS.get(self._raw_finish or "") == "length"
        for index in list(self._blocks):
            self._stop(index, events, truncated=truncated)

    def _finish(self) -> list[StreamEvent]:
        self.done = True
        events: list[StreamEvent] = []
        self._part.end(events)
        raw = self._raw_finish or ""
        if raw.startswith("malformed") and not self._calls:
            error = error_from_event(self._provider, {"message": raw})
            return [*events, StreamError(error, self._usage)]
        events.append(StepFinish(FINISH_REASONS.get(raw, "other"), raw, self._usage))
        return events

    def _close_open(self, events: list[StreamEvent]) -> None:
        self._part.end(events)
        for block in self._blocks.values():
            if block.call is not None:
                block.call.end_input(events)


def _usage(raw: Json) -> Usage | None:
    """Return the token counts of *raw*. ``inputTokens`` excludes cached tokens; add them."""
    if not isinstance(raw, dict) or not raw:
        return None
    read = token_count(raw.get("cacheReadInputTokens"))
    write = token_count(raw.get("cacheWriteInputTokens"))
    return Usage(
        input=token_count(raw.get("inputTokens")) + read + write,
        output=token_count(raw.get("outputTokens")),
        cache_read=read,
        cache_write=write,
    )


MODEL_FIELDS = "additionalModelRequestFields"
INVALID_IN_NAMES = re.compile(r"[^A-Za-z0-9()\[\] -]+|\s{2,}")
"""Whatever a document's name must not contain: only letters, digits, brackets, hyphens and single
spaces are valid."""

MAX_NAME = 200


class BedrockClient(WireClient):
    """The client of Bedrock's Converse API."""

    decoder_class = BedrockDecoder
    framing_class = AwsFrames
    session_refusals = frozenset({REASONING_REPLAY})

    @classmethod
    def path_for(cls, request: ModelRequest) -> str:
        name = request.model.wire_id or request.model.id
        return f"/model/{quote(name, safe='')}/converse-stream"

    @classmethod
    def protocol_headers(cls, body: JsonObject) -> Mapping[str, str]:
        return {"accept": "application/vnd.amazon.eventstream"}

    @staticmethod
    def build_body(request: ModelRequest) -> JsonObject:
        messages = alternating_messages(request.turns, _BLOCKS)
        body: JsonObject = {"messages": list[Json](messages)}
        if request.system:
            body["system"] = [{"text": text} for text in request.system]
        inference: JsonObject = {}
        if request.max_output is not None:
            inference["maxTokens"] = request.max_output
        if request.temperature is not None:
            inference["temperature"] = request.temperature
        if inference:
            body["inferenceConfig"] = inference
        if request.tools:
            body["toolConfig"] = {"tools": [_tool(tool) for tool in request.tools]}
        return body

    @staticmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        text = message.lower()
        messages = body.get("messages")
        if "cach" in text and has_part(messages, "cachePoint"):
            return CACHE_MARKS
        if MODEL_FIELDS in body and re.search(r"thinking|reasoning|effort|budget", text):
            return THINKING
        if re.search(r"signature|thinking|reasoning", text) and has_part(
            messages, "reasoningContent"
        ):
            return REASONING_REPLAY
        if "image" in text and has_part(messages, "image"):
            return IMAGES
        if "document" in text and has_part(messages, "document"):
            return IMAGES
        inference = get_object(body, "inferenceConfig")
        if "temperature" in inference and "temperature" in text and REFUSAL_PATTERN.search(text):
            return TEMPERATURE
        return None


def _tool(tool: ToolSchema) -> JsonObject:
    schema: JsonObject = {"type": "object", "properties": {}} | tool.parameters
    return {
        "toolSpec": {
            "name": tool.name,
            "description": tool.description or tool.name,
            "inputSchema": {"json": schema},
        }
    }


def _user_block(content: TextContent | MediaContent) -> JsonObject:
    if isinstance(content, TextContent):
        return {"text": content.text}
    source: JsonObject = {"bytes": content.data}
    if content.mime == PDF:
        name = INVALID_IN_NAMES.sub(" ", content.name).strip() or "document"
        return {"document": {"format": "pdf", "name": name[:MAX_NAME], "source": source}}
    return {"image": {"format": content.mime.partition("/")[2], "source": source}}


def _assistant_block(content: TextContent | ReasoningContent | ToolCallContent) -> JsonObject:
    match content:
        case TextContent():
            return {"text": content.text}
        case ReasoningContent():
            opaque = content.opaque or {}
            if "redacted" in opaque:
                return {"reasoningContent": {"redactedContent": opaque["redacted"]}}
            thought: JsonObject = {"text": content.text, "signature": opaque.get("signature")}
            return {"reasoningContent": {"reasoningText": thought}}
        case ToolCallContent():
            use: JsonObject = {"toolUseId": content.call_id, "name": content.name}
            return {"toolUse": {**use, "input": content.input}}


def _result_block(result: ToolResultContent) -> JsonObject:
    contents = (TextContent(result.output), *result.media)
    blocks: list[Json] = [_user_block(content) for content in contents]
    status = "error" if result.is_error else "success"
    return {"toolResult": {"toolUseId": result.call_id, "content": blocks, "status": status}}


_BLOCKS = ContentBlocks(_user_block, _assistant_block, _result_block)
