"""Bedrock's Converse stream decoded to our events (spec 5, R9).

What arrives here are the messages of AWS' event stream, taken out of their frames by
``agent.provider.transport.framing``. Thoughts carry a signature, or are sealed and may not be read.
"""

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
from agent.provider.protocols.stream_decoder import OpenPart, incomplete, unreadable
from agent.provider.tool_names import ToolNames
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.framing import ERROR
from agent.provider.transport.sse import BODY, SseEvent
from agent.provider.transport.wire_json import get_object, get_text, parse_object
from agent.provider.usage import token_count
from agent.records.errors import ProviderError
from agent.records.json import Json, JsonObject
from agent.records.messages import Finish, Usage

FINISHES: dict[str, Finish] = {
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
    """One content block: a call, or text or thoughts. *sealed* is what goes back unread."""

    key: str = ""
    name: str = ""
    call_id: str | None = None
    arguments: str = ""
    signature: str = ""
    sealed: str = ""


class BedrockDecoder:
    """The state of one answer. After ``done`` nothing more is to be fed."""

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        self.done = False
        self._provider = provider
        self._names = names or ToolNames()
        self._part = OpenPart()
        self._blocks: dict[str, _Block] = {}
        self._count = 0
        self._raw_finish: str | None = None
        self._usage: Usage | None = None

    @property
    def finishing(self) -> bool:
        """Whether the model has finished, and only usage can still come."""
        return self._raw_finish is not None

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        """The events that *event* stands for; the last of an answer ends it."""
        data = parse_object(event.data)
        if data is None:
            return self._fail(unreadable(self._provider, event))
        if event.event.endswith("Exception") or event.event in (BODY, ERROR):
            named = event.event not in (BODY, ERROR)
            told: JsonObject = {"type": event.event, **data} if named else data
            return self._fail(error_from_event(self._provider, told))
        events: list[StreamEvent] = []
        place = str(data.get("contentBlockIndex", 0))
        match event.event:
            case "contentBlockStart":
                self._start(place, get_object(get_object(data, "start"), "toolUse"), events)
            case "contentBlockDelta":
                self._delta(place, get_object(data, "delta"), events)
            case "contentBlockStop":
                self._stop(place, events)
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

    def close(self, error: ProviderError | None = None) -> list[StreamEvent]:
        """The end of the body, or *error* that broke it. A stop reason makes it complete."""
        if self.done:
            return []
        if self.finishing:
            return self._finish()
        return self._fail(error or incomplete(self._provider))

    def _start(self, place: str, tool: JsonObject, events: list[StreamEvent]) -> None:
        if not tool:
            return
        self._part.end(events)
        name = self._names.from_wire(get_text(tool, "name"))
        block = _Block(f"call-{self._count}", name, get_text(tool, "toolUseId") or None)
        self._count += 1
        self._blocks[place] = block
        events.append(ToolInputStart(block.key, block.name, block.call_id))

    def _delta(self, place: str, delta: JsonObject, events: list[StreamEvent]) -> None:
        block = self._blocks.setdefault(place, _Block())
        if block.key:
            text = get_text(get_object(delta, "toolUse"), "input")
            if text:
                block.arguments += text
                events.append(ToolInputDelta(block.key, text))
            return
        thought = get_object(delta, "reasoningContent")
        self._part.reason(get_text(thought, "text"), events)
        block.signature += get_text(thought, "signature")
        block.sealed += get_text(thought, "redactedContent")
        self._part.text(get_text(delta, "text"), events)

    def _stop(self, place: str, events: list[StreamEvent], *, cut: bool = False) -> None:
        block = self._blocks.pop(place, None)
        if block is None:
            return
        if block.key:
            events.append(ToolInputEnd(block.key))
            call = ToolCall(block.key, block.name, block.arguments, block.call_id, truncated=cut)
            events.append(call)
        elif block.sealed:
            self._part.end(events, {"redacted": block.sealed})
        else:
            self._part.end(events, {"signature": block.signature} if block.signature else None)

    def _stop_all(self, events: list[StreamEvent]) -> None:
        cut = FINISHES.get(self._raw_finish or "") == "length"
        for place in list(self._blocks):
            self._stop(place, events, cut=cut)

    def _finish(self) -> list[StreamEvent]:
        self.done = True
        events: list[StreamEvent] = []
        self._part.end(events)
        raw = self._raw_finish or ""
        if raw.startswith("malformed") and not self._count:
            return [
                *events,
                StreamError(error_from_event(self._provider, {"message": raw}), self._usage),
            ]
        events.append(StepFinish(FINISHES.get(raw, "other"), raw, self._usage))
        return events

    def _fail(self, error: ProviderError) -> list[StreamEvent]:
        """Close what is open; no call is given out after the break (spec 1, L12)."""
        self.done = True
        events: list[StreamEvent] = []
        self._part.end(events)
        events += [ToolInputEnd(block.key) for block in self._blocks.values() if block.key]
        events.append(StreamError(error, self._usage))
        return events


def _usage(raw: Json) -> Usage | None:
    """Cached tokens are counted beside ``inputTokens``, and are put back into the whole."""
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
