"""Cohere's chat API, version 2."""

from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ModelRequest,
    StepFinish,
    StreamEvent,
    TextContent,
    ToolCallContent,
    ToolNames,
    ToolResultContent,
    UserTurn,
)
from agent.provider.protocols.messages import TurnMessages, function_tools
from agent.provider.protocols.stream_decoder import StreamDecoder, StreamedCall
from agent.provider.protocols.wire_client import WireClient
from agent.provider.quirks.target import IMAGES, REFUSAL_PATTERN, first_named
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.framing import JsonLines, SseEvent
from agent.provider.transport.wire_json import encode_arguments, get_object, get_text, has_part
from agent.provider.usage_parsing import token_count
from agent.records.json import Json, JsonObject
from agent.records.messages import Finish, Usage

FINISH_REASONS: dict[str, Finish] = {
    "COMPLETE": "stop",
    "STOP_SEQUENCE": "stop",
    "MAX_TOKENS": "length",
    "ERROR_LIMIT": "length",
    "TOOL_CALL": "tool-calls",
    "ERROR_TOXIC": "content-filter",
    "ERROR": "error",
    "TIMEOUT": "error",
}


class CohereDecoder(StreamDecoder):
    """The decoder of one response, from server-sent events or JSON lines. The plan that the model
    makes for its calls is no part of the response and is skipped, like citations.
    """

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        super().__init__(provider, names)
        self._open_calls: dict[str, StreamedCall] = {}
        self._calls = 0

    def _decode_message(self, data: JsonObject, event: SseEvent) -> list[StreamEvent]:
        kind = get_text(data, "type") or event.event
        message = get_object(get_object(data, "delta"), "message")
        call = get_object(message, "tool_calls")
        events: list[StreamEvent] = []
        match kind:
            case "content-start" | "content-delta":
                content = get_object(message, "content")
                self._part.reason(get_text(content, "thinking"), events)
                self._part.text(get_text(content, "text"), events)
            case "content-end":
                self._part.end(events)
            case "tool-call-start":
                self._start_call(_call_index(data), call, events)
            case "tool-call-delta":
                open_call = self._open_calls.get(_call_index(data))
                if open_call is not None:
                    arguments = get_text(get_object(call, "function"), "arguments")
                    open_call.append(arguments, events)
            case "tool-call-end":
                self._end_call(_call_index(data), events)
            case "message-end":
                self._end(get_object(data, "delta"), events)
            case "error":
                return self._fail(error_from_event(self._provider, data.get("error") or data))
            case _ if data.get("error") or ("message" in data and "delta" not in data):
                return self._fail(error_from_event(self._provider, data.get("error") or data))
            case _:
                pass  # message-start, tool-plan-delta, citations, and newer events
        return events

    def _start_call(self, index: str, call: JsonObject, events: list[StreamEvent]) -> None:
        self._part.end(events)
        function = get_object(call, "function")
        name = self._names.from_wire(get_text(function, "name"))
        started = StreamedCall(f"call-{self._calls}", name, get_text(call, "id") or None)
        self._calls += 1
        self._open_calls[index] = started
        started.start(events)
        started.append(get_text(function, "arguments"), events)

    def _end_call(self, index: str, events: list[StreamEvent], *, truncated: bool = False) -> None:
        call = self._open_calls.pop(index, None)
        if call is not None:
            call.end_input(events)
            call.emit(events, truncated=truncated)

    def _end(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        self.done = True
        self._part.end(events)
        raw = get_text(delta, "finish_reason")
        finish = FINISH_REASONS.get(raw, "other") if raw else None
        for index in list(self._open_calls):
            self._end_call(index, events, truncated=finish == "length")
        events.append(StepFinish(finish, raw or None, _usage(delta.get("usage"))))

    def _close_open(self, events: list[StreamEvent]) -> None:
        self._part.end(events)
        for call in self._open_calls.values():
            call.end_input(events)


def _call_index(data: JsonObject) -> str:
    return str(data.get("index", 0))


def _usage(raw: Json) -> Usage | None:
    """Return the token counts of *raw*. Its ``billed_units`` lack the tokens of the template."""
    if not isinstance(raw, dict) or not raw:
        return None
    counted = get_object(raw, "tokens") or get_object(raw, "billed_units")
    if not counted:
        return None
    return Usage(
        input=token_count(counted.get("input_tokens")),
        output=token_count(counted.get("output_tokens")),
        cache_read=token_count(raw.get("cached_tokens")),
    )


OPTIONAL_FIELDS = ("thinking", "temperature", "max_tokens", "tool_choice")


class CohereClient(WireClient):
    """The client of Cohere's chat API."""

    decoder_class = CohereDecoder
    framing_class = JsonLines
    path = "/v2/chat"

    @staticmethod
    def build_body(request: ModelRequest) -> JsonObject:
        body: JsonObject = {
            "model": request.model.wire_id or request.model.id,
            "messages": _MESSAGES.convert(request),
            "stream": True,
        }
        if request.tools:
            body["tools"] = function_tools(request.tools)
            if not request.calls_allowed:
                body["tool_choice"] = "NONE"
        if request.max_output is not None:
            body["max_tokens"] = request.max_output
        if request.temperature is not None:
            body["temperature"] = request.temperature
        return body

    @staticmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        text = message.lower()
        if "image" in text and has_part(body.get("messages"), "image_url"):
            return IMAGES
        if not REFUSAL_PATTERN.search(text):
            return None
        return first_named(text, (name for name in OPTIONAL_FIELDS if name in body))


def _user_message(turn: UserTurn) -> JsonObject:
    return {"content": [_content(content) for content in turn.content]}


def _content(content: TextContent | MediaContent) -> JsonObject:
    if isinstance(content, TextContent):
        return {"type": "text", "text": content.text}
    url = f"data:{content.mime};base64,{content.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _assistant_message(turn: AssistantTurn) -> JsonObject:
    texts = [c.text for c in turn.content if isinstance(c, TextContent)]
    calls: list[Json] = [
        {
            "id": call.call_id,
            "type": "function",
            "function": {"name": call.name, "arguments": encode_arguments(call.input)},
        }
        for call in turn.content
        if isinstance(call, ToolCallContent)
    ]
    if calls:
        # Beside calls the API takes text only as the plan for them.
        return {"tool_calls": calls, **({"tool_plan": "\n\n".join(texts)} if texts else {})}
    return {"content": "\n\n".join(texts)}


def _result_message(result: ToolResultContent) -> JsonObject:
    return {"tool_call_id": result.call_id, "content": result.output}


_MESSAGES = TurnMessages(_user_message, _assistant_message, _result_message)
