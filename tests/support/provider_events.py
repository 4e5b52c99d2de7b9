"""The events of one response collected and checked, and streams of chat completions to decode."""

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from agent.provider.client import (
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepFinish,
    StreamError,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from agent.provider.protocols.stream_decoder import StreamDecoder
from agent.provider.transport.framing import SseEvent
from agent.records.messages import Finish, Usage


@dataclass
class Response:
    """The sum of the events of one response."""

    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    field_names: list[str | None] = field(default_factory=list)
    opaque: list[Any] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    inputs: dict[str, str] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    finish: Finish | None = None
    raw: str | None = None
    usage: Usage | None = None
    error: Any = None

    @property
    def parsed_inputs(self) -> list[Any]:
        return [parse_arguments(call.arguments) for call in self.calls]


def parse_arguments(arguments: str) -> Any:
    """Return the input of a call, None where its *arguments* are no JSON."""
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return None


def collect(events: Iterable[StreamEvent]) -> Response:
    """Return the response; fail where *events* break the contract of ``agent.provider.client``."""
    response = Response()
    part: str | None = None
    keys: dict[str, str] = {}
    ended = False
    for event in events:
        assert not ended, f"{event} after the last event"
        match event:
            case ReasoningStart(field_name):
                assert part is None
                part = "reasoning"
                response.field_names.append(field_name)
            case ReasoningDelta(text):
                assert part == "reasoning"
                assert text
                response.reasoning += text
                _add_to_order(response, "reasoning")
            case ReasoningEnd(opaque):
                assert part == "reasoning"
                part = None
                if opaque:
                    response.opaque.append(opaque)
            case TextStart(refusal):
                assert part is None
                part = "refusal" if refusal else "text"
            case TextDelta(text):
                assert text
                if part == "text":
                    response.text += text
                    _add_to_order(response, "text")
                else:
                    assert part == "refusal"
                    response.refusal += text
            case TextEnd(opaque):
                assert part in ("text", "refusal")
                part = None
                if opaque:
                    response.opaque.append(opaque)
            case ToolInputStart(key):
                assert key not in keys
                keys[key] = "open"
                response.inputs[key] = ""
                response.order.append("tool")
            case ToolInputDelta(key, text):
                assert keys[key] == "open"
                response.inputs[key] += text
            case ToolInputEnd(key):
                assert keys[key] == "open"
                keys[key] = "ended"
            case ToolCall():
                assert keys[event.key] == "ended"
                keys[event.key] = "called"
                assert response.inputs[event.key] == event.arguments
                response.calls.append(event)
            case StepFinish():
                ended = True
                response.finish, response.raw, response.usage = event.finish, event.raw, event.usage
            case StreamError(error, usage):
                ended = True
                response.error, response.usage = error, usage
    assert ended, "no last event"
    assert part is None
    assert "open" not in keys.values()
    return response


def _add_to_order(response: Response, kind: str) -> None:
    if not response.order or response.order[-1] != kind:
        response.order.append(kind)


async def drain(stream: AsyncGenerator[StreamEvent, None]) -> Response:
    """Return the response of a whole stream."""
    async with aclosing(stream) as events:
        return collect([event async for event in events])


def feed_all(decoder: StreamDecoder, *events: SseEvent) -> list[StreamEvent]:
    """Feed *events* to *decoder* until it is done."""
    out: list[StreamEvent] = []
    for event in events:
        if not decoder.done:
            out += decoder.feed(event)
    return out


def decode_all(decoder: StreamDecoder, *events: SseEvent) -> Response:
    """Return the response of *events*, after which the body ends."""
    return collect([*feed_all(decoder, *events), *decoder.close()])


def sse(*chunks: Any, done: bool = True) -> bytes:
    """Return *chunks* as server-sent events.

    A dict without choices, error or usage is the delta of the first choice.
    """
    lines: list[str] = []
    for given in chunks:
        delta = isinstance(given, dict) and not {"choices", "error", "usage"} & set(given)
        chunk = finish(None, **given) if delta else given
        lines.append(chunk if isinstance(chunk, str) else f"data: {json.dumps(chunk)}")
    if done:
        lines.append("data: [DONE]")
    return "".join(f"{line}\n\n" for line in lines).encode()


def finish(reason: str | None, **delta: Any) -> dict[str, Any]:
    """Return a chunk with a finish reason and *delta*."""
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def call(index: int | None = None, **entry: Any) -> dict[str, Any]:
    """Return a delta with one tool call: its ``id``, and its function's name and arguments."""
    function = {key: entry.pop(key) for key in ("name", "arguments") if key in entry}
    if index is not None:
        entry["index"] = index
    return {"tool_calls": [{**entry, "function": function}]}
