"""Google's Gemini API, and servers that are compatible with it.

A thought signature goes back with the same part that it came with; the results of a response's
calls follow it together. With a call or a text it is kept as ``{"thoughtSignature": …}``.
"""

import json
import re
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
from agent.provider.protocols.stream_decoder import (
    CompleteCalls,
    StreamDecoder,
    unreadable_error,
)
from agent.provider.protocols.wire_client import WireClient
from agent.provider.quirks.reasoning_effort import THINKING_CONFIG
from agent.provider.quirks.reasoning_replay import THOUGHT_SIGNATURE
from agent.provider.quirks.target import (
    DOCUMENT_NAMES,
    IMAGES,
    REASONING_REPLAY,
    REFUSAL_PATTERN,
    UNSIGNED_CALLS,
    first_named,
)
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.framing import BODY, SseEvent
from agent.provider.transport.wire_json import get_object, get_objects, get_text, has_part
from agent.provider.usage_parsing import token_count
from agent.records.json import Json, JsonObject
from agent.records.messages import Finish, Usage

CONTENT_FILTER_REASONS = frozenset({
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "LANGUAGE", "MODEL_ARMOR",
})  # fmt: skip
MALFORMED_REASONS = frozenset({
    "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE",
})  # fmt: skip


class GeminiDecoder(StreamDecoder):
    """The decoder of one response of the Gemini API. There is no end mark: after the event with a
    finish reason only usage can come, and then the body ends. Parts of an unknown kind (code that
    the provider ran itself, images) are skipped.
    """

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        super().__init__(provider, names)
        self._calls = CompleteCalls(self._part, self._names)
        self._finish_message = ""

    def _parse(self, text: str, event: SseEvent) -> list[JsonObject] | None:
        """A body that was not streamed is one object, or a list of them."""
        if event.event != BODY:
            return super()._parse(text, event)
        try:
            value: Json = json.loads(text)
        except (ValueError, RecursionError):
            return None
        items = value if isinstance(value, list) else [value]
        return [item for item in items if isinstance(item, dict)] or None

    def _decode_message(self, data: JsonObject, event: SseEvent) -> list[StreamEvent]:
        if data.get("error"):
            return self._fail(error_from_event(self._provider, data["error"]))
        if event.event == BODY and "candidates" not in data and "promptFeedback" not in data:
            return self._fail(unreadable_error(self._provider, event))
        events: list[StreamEvent] = []
        # Vertex and Code Assist wrap a response in a "response" object.
        data = get_object(data, "response") or data
        for candidate in get_objects(data, "candidates")[:1]:
            for part in get_objects(get_object(candidate, "content"), "parts"):
                self._decode_part(part, events)
            reason = get_text(candidate, "finishReason")
            if reason not in ("", "FINISH_REASON_UNSPECIFIED"):
                self._raw_finish = reason
                self._finish_message = get_text(candidate, "finishMessage")
        blocked = get_text(get_object(data, "promptFeedback"), "blockReason")
        if blocked and self._raw_finish is None:
            self._raw_finish = blocked
        self._usage = _usage(data.get("usageMetadata")) or self._usage
        return events

    def _decode_part(self, part: JsonObject, events: list[StreamEvent]) -> None:
        signature = get_text(part, THOUGHT_SIGNATURE)
        opaque: JsonObject | None = {THOUGHT_SIGNATURE: signature} if signature else None
        call = part.get("functionCall")
        if isinstance(call, dict):
            name = get_text(call, "name")
            call_id = get_text(call, "id") or None
            self._calls.add(name, call.get("args"), events, call_id=call_id, opaque=opaque)
        elif text := get_text(part, "text"):
            if part.get("thought") is True:
                self._part.reason(text, events)
            else:
                self._part.text(text, events)
        if opaque is not None and not isinstance(call, dict):
            self._part.end_text(events, opaque)

    def _finish(self) -> list[StreamEvent]:
        self.done = True
        events: list[StreamEvent] = []
        self._part.end(events)
        raw = self._raw_finish or ""
        if raw in MALFORMED_REASONS and not self._calls.count:
            error = error_from_event(self._provider, {"message": f"{raw}: {self._finish_message}"})
            return [*events, StreamError(error, self._usage)]
        events.append(StepFinish(self._finish_reason(raw), raw, self._usage))
        return events

    def _finish_reason(self, raw: str) -> Finish:
        if raw in MALFORMED_REASONS:
            return "error"
        if raw in CONTENT_FILTER_REASONS:
            return "content-filter"
        if raw == "MAX_TOKENS":
            return "length"
        if raw == "STOP":
            return "tool-calls" if self._calls.count else "stop"
        return "other"


def _usage(raw: Json) -> Usage | None:
    """Return the token counts of *raw*.

    Thoughts are not included in ``candidatesTokenCount``; cached tokens are part of the prompt.
    """
    if not isinstance(raw, dict) or not raw:
        return None
    thoughts = token_count(raw.get("thoughtsTokenCount"))
    prompt = token_count(raw.get("promptTokenCount"))
    return Usage(
        input=prompt + token_count(raw.get("toolUsePromptTokenCount")),
        output=token_count(raw.get("candidatesTokenCount")) + thoughts,
        reasoning=thoughts,
        cache_read=token_count(raw.get("cachedContentTokenCount")),
    )


SIGNATURE_PATTERN = re.compile(r"thought.?signature")


class GeminiClient(WireClient):
    """The client of the Gemini API."""

    decoder_class = GeminiDecoder
    session_refusals = frozenset({REASONING_REPLAY})
    messages_field = "contents"

    @classmethod
    def path_for(cls, request: ModelRequest) -> str:
        name = request.model.wire_id or request.model.id
        return f"/models/{quote(name.removeprefix('models/'))}:streamGenerateContent?alt=sse"

    @staticmethod
    def build_body(request: ModelRequest) -> JsonObject:
        contents = alternating_messages(request.turns, _PARTS, assistant="model", key="parts")
        body: JsonObject = {"contents": list[Json](contents)}
        if request.system:
            body["systemInstruction"] = {"parts": [{"text": text} for text in request.system]}
        if request.tools:
            body["tools"] = [{"functionDeclarations": [_tool(tool) for tool in request.tools]}]
            if not request.calls_allowed:
                body["toolConfig"] = {"functionCallingConfig": {"mode": "NONE"}}
        generation: JsonObject = {}
        if request.max_output is not None:
            generation["maxOutputTokens"] = request.max_output
        if request.temperature is not None:
            generation["temperature"] = request.temperature
        return {**body, "generationConfig": generation} if generation else body

    @staticmethod
    def refused_part(body: JsonObject, message: str) -> str | None:
        text = message.lower()
        contents = body.get("contents")
        if SIGNATURE_PATTERN.search(text):
            if "missing" in text and has_part(contents, "functionCall"):
                return UNSIGNED_CALLS
            return REASONING_REPLAY if has_part(contents, THOUGHT_SIGNATURE) else None
        generation = get_object(body, "generationConfig")
        if THINKING_CONFIG in generation and "thinking" in text:
            return THINKING_CONFIG
        if not REFUSAL_PATTERN.search(text):
            return None
        media_named = "image" in text or first_named(text, DOCUMENT_NAMES)
        if media_named and has_part(contents, "inlineData"):
            return IMAGES
        return "temperature" if "temperature" in generation and "temperature" in text else None


def _tool(tool: ToolSchema) -> JsonObject:
    sent: JsonObject = {"name": tool.name, "description": tool.description}
    return {**sent, "parameters": tool.parameters} if "properties" in tool.parameters else sent


def _user_part(content: TextContent | MediaContent) -> JsonObject:
    if isinstance(content, TextContent):
        return {"text": content.text}
    return {"inlineData": {"mimeType": content.mime, "data": content.data}}


def _model_part(content: TextContent | ReasoningContent | ToolCallContent) -> JsonObject | None:
    match content:
        case TextContent():
            part: JsonObject = {"text": content.text}
        case ToolCallContent():
            part = {"functionCall": {"name": content.name, "args": content.input}}
        case ReasoningContent():
            return None
    signature = (content.opaque or {}).get(THOUGHT_SIGNATURE)
    return {**part, THOUGHT_SIGNATURE: signature} if signature else part


def _result_part(result: ToolResultContent) -> JsonObject:
    response: JsonObject = {"error" if result.is_error else "output": result.output}
    return {"functionResponse": {"name": result.name, "response": response}}


_PARTS = ContentBlocks(_user_part, _model_part, _result_part)
