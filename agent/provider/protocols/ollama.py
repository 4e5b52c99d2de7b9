"""Ollama's own chat API, for a provider whose ``api`` is ``ollama``.

The built-in provider ``ollama`` uses chat completions, which Ollama serves too.
"""

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ModelRequest,
    ReasoningContent,
    StepFinish,
    StreamEvent,
    TextContent,
    ToolCallContent,
    ToolNames,
    ToolResultContent,
    UserTurn,
)
from agent.provider.protocols.messages import TurnMessages, function_tools
from agent.provider.protocols.stream_decoder import CompleteCalls, StreamDecoder
from agent.provider.protocols.wire_client import WireClient
from agent.provider.quirks.target import IMAGES, REFUSAL_PATTERN, first_named
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.framing import JsonLines, SseEvent
from agent.provider.transport.wire_json import get_object, get_objects, get_text, has_part
from agent.provider.usage_parsing import token_count
from agent.records.json import Json, JsonObject
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


OPTIONAL_FIELDS = ("think", "tools", "options")


class OllamaClient(WireClient):
    """The client of Ollama's own chat API."""

    decoder_class = OllamaDecoder
    framing_class = JsonLines
    path = "/api/chat"

    @staticmethod
    def build_body(request: ModelRequest) -> JsonObject:
        model = request.model
        body: JsonObject = {
            "model": model.wire_id or model.id,
            "messages": _MESSAGES.convert(request),
            "stream": True,
        }
        if request.tools and request.calls_allowed:
            body["tools"] = function_tools(request.tools)
        options: JsonObject = {}
        if request.max_output is not None:
            options["num_predict"] = request.max_output
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if model.context_limit is not None:
            options["num_ctx"] = model.context_limit
        return {**body, "options": options} if options else body

    @staticmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        text = message.lower()
        if "image" in text and has_part(body.get("messages"), "images"):
            return IMAGES
        if not REFUSAL_PATTERN.search(text):
            return None
        if "think" in body and "thinking" in text:
            return "think"
        return first_named(text, (name for name in OPTIONAL_FIELDS if name in body))


def _user_message(turn: UserTurn) -> JsonObject:
    texts = [c.text for c in turn.content if isinstance(c, TextContent)]
    images: list[Json] = [c.data for c in turn.content if isinstance(c, MediaContent)]
    message: JsonObject = {"content": "\n\n".join(texts)}
    return {**message, "images": images} if images else message


def _assistant_message(turn: AssistantTurn) -> JsonObject:
    texts = [c.text for c in turn.content if isinstance(c, TextContent)]
    thoughts = [c.text for c in turn.content if isinstance(c, ReasoningContent) and c.text]
    calls: list[Json] = [
        {"function": {"name": call.name, "arguments": call.input}}
        for call in turn.content
        if isinstance(call, ToolCallContent)
    ]
    message: JsonObject = {"content": "\n\n".join(texts)}
    if thoughts:
        message["thinking"] = "\n\n".join(thoughts)
    return {**message, "tool_calls": calls} if calls else message


def _result_message(result: ToolResultContent) -> JsonObject:
    return {"tool_name": result.name, "content": result.output}


_MESSAGES = TurnMessages(_user_message, _assistant_message, _result_message)
