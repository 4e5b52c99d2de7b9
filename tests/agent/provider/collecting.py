"""Events collected to one answer, and a check of their order."""

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from agent.provider.catalog.catalog import Catalog, ProviderSettings
from agent.provider.client import (
    ModelInfo,
    ModelRequest,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepFinish,
    StreamError,
    StreamEvent,
    TextContent,
    TextDelta,
    TextEnd,
    TextStart,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
    ToolSchema,
    Turn,
    UserTurn,
)
from agent.provider.client_pool import wire_of
from agent.provider.protocols.wire_client import body_of
from agent.provider.transport.wire_json import encode_body
from agent.records.messages import Finish, Usage


@dataclass
class Answer:
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
    def inputs_parsed(self) -> list[Any]:
        return [parsed(call.arguments) for call in self.calls]


def parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return None


def collect(events: Iterable[StreamEvent]) -> Answer:
    """One answer of *events*; fails where they break the contract of ``agent.provider.client``."""
    answer = Answer()
    part: str | None = None
    keys: dict[str, str] = {}
    ended = False
    for event in events:
        assert not ended, f"{event} after the last event"
        match event:
            case ReasoningStart(field_name):
                assert part is None
                part = "reasoning"
                answer.field_names.append(field_name)
            case ReasoningDelta(text):
                assert part == "reasoning"
                assert text
                answer.reasoning += text
                _first(answer, "reasoning")
            case ReasoningEnd(opaque):
                assert part == "reasoning"
                part = None
                if opaque:
                    answer.opaque.append(opaque)
            case TextStart(refusal):
                assert part is None
                part = "refusal" if refusal else "text"
            case TextDelta(text):
                assert text
                if part == "text":
                    answer.text += text
                    _first(answer, "text")
                else:
                    assert part == "refusal"
                    answer.refusal += text
            case TextEnd(opaque):
                assert part in ("text", "refusal")
                part = None
                if opaque:
                    answer.opaque.append(opaque)
            case ToolInputStart(key):
                assert key not in keys
                keys[key] = "open"
                answer.inputs[key] = ""
                answer.order.append("tool")
            case ToolInputDelta(key, text):
                assert keys[key] == "open"
                answer.inputs[key] += text
            case ToolInputEnd(key):
                assert keys[key] == "open"
                keys[key] = "ended"
            case ToolCall():
                assert keys[event.key] == "ended"
                keys[event.key] = "called"
                assert answer.inputs[event.key] == event.arguments
                answer.calls.append(event)
            case StepFinish():
                ended = True
                answer.finish, answer.raw, answer.usage = event.finish, event.raw, event.usage
            case StreamError(error, usage):
                ended = True
                answer.error, answer.usage = error, usage
    assert ended, "no last event"
    assert part is None
    assert "open" not in keys.values()
    return answer


def _first(answer: Answer, kind: str) -> None:
    if not answer.order or answer.order[-1] != kind:
        answer.order.append(kind)


async def drain(stream: AsyncGenerator[StreamEvent, None]) -> Answer:
    async with aclosing(stream) as events:
        return collect([event async for event in events])


def catalog(url: str, provider: str = "acme", **settings: Any) -> Catalog:
    """A catalogue with one provider of the config at *url*."""
    own = ProviderSettings(id=provider, base_url=url, **settings)
    return Catalog({provider: own}, None, {})


TOOL = ToolSchema("read", "Read a file", {"type": "object", "properties": {}})


def sent(asked: ModelRequest, *without: str) -> Any:
    """The body that goes out for *asked*, read back as its server reads it."""
    wire = wire_of(asked.model.provider, asked.model.api)
    return json.loads(encode_body(body_of(wire, asked, frozenset(without))))


def request(model: ModelInfo, *turns: Turn, **more: Any) -> ModelRequest:
    turns = turns or (UserTurn((TextContent("hello"),)),)
    return ModelRequest(**{"model": model, "system": ("Be brief.",), "turns": turns, **more})


def sse(*chunks: Any, done: bool = True) -> bytes:
    """Chunks as server-sent events; a dict is a delta of the first choice unless it has one."""
    lines: list[str] = []
    for given in chunks:
        delta = isinstance(given, dict) and not {"choices", "error", "usage"} & set(given)
        chunk = finish(None, **given) if delta else given
        lines.append(chunk if isinstance(chunk, str) else f"data: {json.dumps(chunk)}")
    if done:
        lines.append("data: [DONE]")
    return "".join(f"{line}\n\n" for line in lines).encode()


def finish(reason: str | None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def call(index: int | None = None, **entry: Any) -> dict[str, Any]:
    """A delta with one tool call: ``id``, and ``name`` and ``arguments`` of its function."""
    function = {key: entry.pop(key) for key in ("name", "arguments") if key in entry}
    if index is not None:
        entry["index"] = index
    return {"tool_calls": [{**entry, "function": function}]}
