"""Amazon Bedrock's Converse API: the decoder of its stream.

The messages arrive here without the frames of AWS' event stream, which
``agent.provider.transport.framing`` takes off. Reasoning carries a signature, or is redacted.
"""

from dataclasses import dataclass

from agent.provider.client import StepFinish, StreamError, StreamEvent
from agent.provider.protocols.stream_decoder import StreamDecoder, StreamedCall
from agent.provider.tool_names import ToolNames
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.framing import ERROR
from agent.provider.transport.sse import BODY, SseEvent
from agent.provider.transport.wire_json import get_object, get_text
from agent.provider.usage import token_count
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
    """The decoder of one response of the Converse API."""

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
