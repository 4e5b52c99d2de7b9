"""Chat-completions events decoded to ours, without any input or output of its own.

``feed`` takes each server-sent event, ``close`` the end of the body. Nothing in the shape of a
chunk is relied on: any field may be missing, null or of another type.
"""

import json

from agent.provider.client import StepFinish, StreamError, StreamEvent
from agent.provider.protocols.openai_chat_calls import CallAssembler, merged
from agent.provider.protocols.stream_decoder import FINISHES, OpenPart, incomplete, unreadable
from agent.provider.tool_names import ToolNames
from agent.provider.transport.errors import error_from_event
from agent.provider.transport.sse import BODY, SseEvent
from agent.provider.usage import chat_usage
from agent.records.errors import ProviderError
from agent.records.json import Json, JsonObject
from agent.records.messages import Usage

# Words in the place of a finish reason that stand for a failure of the provider.
FAILED = {
    "insufficient_system_resource": "server_error: it ran out of resources",
    "malformed_function_call": "malformed_function_call",
}


def parse(data: str) -> list[JsonObject] | None:
    """The JSON objects in *data*; None for what is none. Some servers leave out the blank line
    between events, so that several arrive as the lines of one."""
    try:
        value: Json = json.loads(data)
    except (ValueError, RecursionError):
        lines = [line for line in data.split("\n") if line.strip() not in ("", "[DONE]")]
        if len(lines) < 2:
            return None
        parsed = [parse(line) for line in lines]
        return None if None in parsed else [chunk for group in parsed if group for chunk in group]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, dict)]
    return [value] if isinstance(value, dict) else None


def first_choice(chunk: JsonObject) -> JsonObject:
    """The first choice (we ask for one), {} where there is none."""
    choices = chunk.get("choices")
    for choice in choices if isinstance(choices, list) else []:
        if isinstance(choice, dict) and choice.get("index") in (0, None):
            return choice
    return {}


def failed_status(chunk: JsonObject) -> Json:
    """MiniMax' own form of an error, which comes with status 200; None where all is well."""
    status = chunk.get("base_resp")
    return status if isinstance(status, dict) and status.get("status_code") else None


def text_of(value: Json) -> str:
    """The text in a string, a text part or a list of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(text_of(item) for item in value)
    return text_of(value.get("text")) if isinstance(value, dict) else ""


REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
CONTENT_FIELD = "content"
THOUGHTS = ("thinking", "reasoning")
"""Kinds of content parts that are reasoning: Mistral's and Databricks'."""


class ChatDecoder:
    """The state of one answer. After ``done`` nothing more is to be fed."""

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        self.done = False
        self._provider = provider
        self._calls = CallAssembler(names or ToolNames())
        self._part = OpenPart()
        self._field: str | None = None
        self._details: list[Json] = []
        self._opaque: JsonObject = {}
        self._raw_finish: str | None = None
        self._usage: Usage | None = None
        self._any = False

    @property
    def finishing(self) -> bool:
        """Whether the model has finished, and only usage or the end mark can still come."""
        return self._raw_finish is not None

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        """The events that *event* stands for; the last of an answer ends it."""
        data = event.data.strip()
        if not data:
            return []
        if data == "[DONE]":
            return self._finish()
        chunks = parse(data)
        if chunks is None:
            return self._fail(unreadable(self._provider, event))
        events: list[StreamEvent] = []
        for chunk in chunks:
            if not self.done:
                events.extend(self._chunk(chunk, named_error=event.event == "error"))
        if event.event == BODY and not self.done:
            unread = unreadable(self._provider, event)
            events.extend(self._finish() if self._any else self._fail(unread))
        return events

    def close(self, error: ProviderError | None = None) -> list[StreamEvent]:
        """The end of the body, or *error* that broke it. A finish reason makes it complete."""
        if self.done:
            return []
        if self.finishing:
            return self._finish()
        return self._fail(error or incomplete(self._provider))

    def _chunk(self, chunk: JsonObject, *, named_error: bool) -> list[StreamEvent]:
        self._take_usage(chunk)
        choice = first_choice(chunk)
        error = chunk.get("error") or choice.get("error") or failed_status(chunk)
        if not error and (named_error or "error" in (chunk.get("type"), chunk.get("object"))):
            error = chunk
        if error:
            return self._fail(error_from_event(self._provider, error))
        if isinstance(chunk.get("choices"), list):
            self._any = True
        events: list[StreamEvent] = []
        delta = self._delta_of(choice)
        self._take_opaque(delta)
        self._take_reasoning(delta, events)
        self._take_content(delta, events)
        self._take_calls(delta, events)
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            events.extend(self._take_finish(reason))
        return events

    def _delta_of(self, choice: JsonObject) -> JsonObject:
        """The delta; in an answer that was not streamed, the message (once)."""
        delta = choice.get("delta")
        if isinstance(delta, dict) and delta:
            return delta
        message = choice.get("message")
        untouched = self._part.kind is None and self._field is None and not self._calls.any
        return message if isinstance(message, dict) and untouched else {}

    def _take_usage(self, chunk: JsonObject) -> None:
        """Keep the last usage that counts anything, wherever it stands."""
        nested = chunk.get("x_groq")
        places = (chunk, first_choice(chunk), nested if isinstance(nested, dict) else {})
        for place in places:
            usage = chat_usage(place.get("usage"))
            if usage is not None and (self._usage is None or usage != Usage()):
                self._usage = usage

    def _take_opaque(self, delta: JsonObject) -> None:
        details = delta.get("reasoning_details")
        if isinstance(details, list):
            self._details.extend(details)
        if opaque := delta.get("reasoning_opaque"):
            self._opaque["reasoning_opaque"] = opaque

    def _take_reasoning(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        order = (self._field, *REASONING_FIELDS) if self._field else REASONING_FIELDS
        for name in order:
            text = delta.get(name)
            if isinstance(text, str) and text and name != CONTENT_FIELD:
                self._reason(name, text, events)
                return

    def _take_content(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        content = delta.get("content")
        for part in content if isinstance(content, list) else [content]:
            if isinstance(part, str):
                self._text(part, events)
            elif isinstance(part, dict) and part.get("type") in THOUGHTS:
                thought = part.get("thinking") or part.get("summary") or part.get("text")
                self._reason(CONTENT_FIELD, text_of(thought), events)
            elif isinstance(part, dict) and part.get("type") == "refusal":
                self._text(text_of(part.get("refusal")), events, refusal=True)
            elif isinstance(part, dict):
                self._text(text_of(part.get("text")), events)
        self._text(text_of(delta.get("refusal")), events, refusal=True)

    def _take_calls(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        entries = delta.get("tool_calls")
        if not entries or not isinstance(entries, list):
            legacy = entries or delta.get("function_call")
            entries = [legacy] if isinstance(legacy, dict) and legacy else list[Json]()
        if not entries:
            return
        self._end_part(events)
        events.extend(self._calls.feed(entries))
        self._attach_details()

    def _attach_details(self) -> None:
        """Encrypted reasoning that names a call goes with that call."""
        ids = self._calls.open_ids()
        left: list[Json] = []
        for detail in self._details:
            owner = detail.get("id") if isinstance(detail, dict) else None
            if isinstance(owner, str) and owner in ids:
                self._calls.attach(owner, {"reasoning_details": [detail]})
            else:
                left.append(detail)
        self._details = left

    def _take_finish(self, reason: str) -> list[StreamEvent]:
        word = reason.lower()
        for failure, meaning in FAILED.items():
            if failure in word:
                return self._fail(error_from_event(self._provider, meaning))
        self._raw_finish = reason
        return self._calls.finish_complete()

    def _reason(self, name: str, text: str, events: list[StreamEvent]) -> None:
        if not text:
            return
        if self._part.kind != "reasoning":
            self._end_part(events)
            self._field = name
        self._part.reason(text, events, name)

    def _text(self, text: str, events: list[StreamEvent], *, refusal: bool = False) -> None:
        if not text:
            return
        if self._part.kind == "reasoning":
            self._end_part(events)
        self._part.text(text, events, refusal=refusal)

    def _end_part(self, events: list[StreamEvent]) -> None:
        opaque = self._take_all_opaque() if self._part.kind == "reasoning" else None
        self._part.end(events, opaque)

    def _take_all_opaque(self) -> JsonObject | None:
        opaque = merged(self._opaque, {"reasoning_details": self._details} if self._details else {})
        self._opaque, self._details = {}, []
        return opaque or None

    def _finish(self) -> list[StreamEvent]:
        """The complete end: by the end mark, or by the end of the body after a finish reason."""
        self.done = True
        events: list[StreamEvent] = []
        self._end_part(events)
        finish = FINISHES.get(self._raw_finish.lower(), "other") if self._raw_finish else None
        events.extend(self._calls.finish(cut=finish == "length"))
        # What came without any reasoning text must still go back: an empty reasoning part.
        self._part.end(events, self._take_all_opaque())
        events.append(StepFinish(finish, self._raw_finish, self._usage))
        return events

    def _fail(self, error: ProviderError) -> list[StreamEvent]:
        self.done = True
        events: list[StreamEvent] = []
        self._end_part(events)
        events.extend(self._calls.abandon())
        events.append(StreamError(error, self._usage))
        return events
