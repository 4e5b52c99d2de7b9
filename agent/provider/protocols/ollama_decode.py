"""Ollama's own stream (JSON lines) decoded to our events (spec 5, R9)."""

from agent.provider.client import StepFinish, StreamError, StreamEvent
from agent.provider.protocols.stream_decoder import OpenPart, WholeCalls, incomplete, unreadable
from agent.provider.tool_names import ToolNames
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.sse import SseEvent
from agent.provider.transport.wire_json import get_object, get_objects, get_text, parse_object
from agent.provider.usage import token_count
from agent.records.errors import ProviderError
from agent.records.json import JsonObject
from agent.records.messages import Finish, Usage

FINISHES: dict[str, Finish] = {"stop": "stop", "length": "length"}


class OllamaDecoder:
    """The state of one answer. After ``done`` nothing more is to be fed."""

    finishing = False
    """The line that tells of the end is the end."""

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        self.done = False
        self._provider = provider
        self._part = OpenPart()
        self._calls = WholeCalls(self._part, names or ToolNames())

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        """The events that one line stands for; the last of an answer ends it."""
        data = parse_object(event.data)
        if data is None:
            return self._fail(unreadable(self._provider, event))
        if data.get("error"):
            return self._fail(error_from_event(self._provider, data["error"]))
        events: list[StreamEvent] = []
        message = get_object(data, "message")
        self._part.reason(get_text(message, "thinking"), events, "thinking")
        self._part.text(get_text(message, "content"), events)
        for call in get_objects(message, "tool_calls"):
            function = get_object(call, "function")
            name, call_id = get_text(function, "name"), get_text(call, "id") or None
            self._calls.add(name, function.get("arguments"), events, call_id=call_id)
        if data.get("done") is True:
            self._end(data, events)
        return events

    def close(self, error: ProviderError | None = None) -> list[StreamEvent]:
        """The end of the body, or *error* that broke it: without its last line an answer is
        never complete."""
        return [] if self.done else self._fail(error or incomplete(self._provider))

    def _end(self, data: JsonObject, events: list[StreamEvent]) -> None:
        self.done = True
        self._part.end(events)
        raw = get_text(data, "done_reason") or "stop"
        finish = FINISHES.get(raw, "other")
        if finish == "stop" and self._calls.count:
            finish = "tool-calls"
        events.append(StepFinish(finish, raw, _usage(data)))

    def _fail(self, error: ProviderError) -> list[StreamEvent]:
        self.done = True
        events: list[StreamEvent] = []
        self._part.end(events)
        events.append(StreamError(error))
        return events


def _usage(data: JsonObject) -> Usage | None:
    """None where nothing is counted; a prompt that was wholly cached is left out by the server."""
    if "eval_count" not in data and "prompt_eval_count" not in data:
        return None
    return Usage(
        input=token_count(data.get("prompt_eval_count")), output=token_count(data.get("eval_count"))
    )
