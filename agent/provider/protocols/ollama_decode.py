"""Ollama's own chat API: the decoder of its stream of JSON lines."""

from agent.provider.client import StepFinish, StreamEvent
from agent.provider.protocols.stream_decoder import CompleteCalls, StreamDecoder
from agent.provider.tool_names import ToolNames
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.sse import SseEvent
from agent.provider.transport.wire_json import get_object, get_objects, get_text
from agent.provider.usage import token_count
from agent.records.json import JsonObject
from agent.records.messages import Finish, Usage

FINISH_REASONS: dict[str, Finish] = {"stop": "stop", "length": "length"}


class OllamaDecoder(StreamDecoder):
    """The decoder of one response of Ollama's chat API."""

    skips_blank_messages = False

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        super().__init__(provider, names)
        self._calls = CompleteCalls(self._part, self._names)

    def _decode_message(self, data: JsonObject, event: SseEvent) -> list[StreamEvent]:
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

    def _end(self, data: JsonObject, events: list[StreamEvent]) -> None:
        self.done = True
        self._part.end(events)
        raw = get_text(data, "done_reason") or "stop"
        finish = FINISH_REASONS.get(raw, "other")
        if finish == "stop" and self._calls.count:
            finish = "tool-calls"
        events.append(StepFinish(finish, raw, _usage(data)))


def _usage(data: JsonObject) -> Usage | None:
    """Return the token counts of the last line, None where it has none.

    The server omits the prompt's count if the whole prompt was cached.
    """
    if "eval_count" not in data and "prompt_eval_count" not in data:
        return None
    prompt, output = data.get("prompt_eval_count"), data.get("eval_count")
    return Usage(input=token_count(prompt), output=token_count(output))
