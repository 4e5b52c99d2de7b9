"""The Responses API's stream decoded to our events, without any input or output of its own.

An answer is a list of items (reasoning, messages, calls), told apart by their place in it: the
ids of one item may change from event to event. Items of a type that is not known here, which
the provider ran itself, are passed over. Nothing in the shape of an event is relied on.
"""

from agent.provider.client import StepFinish, StreamError, StreamEvent
from agent.provider.protocols.responses_calls import ResponsesCalls
from agent.provider.protocols.stream_decoder import FINISHES, OpenPart, incomplete, unreadable
from agent.provider.tool_names import ToolNames
from agent.provider.transport.errors import connection_error, error_from_event
from agent.provider.transport.sse import BODY, SseEvent
from agent.provider.transport.wire_json import get_object, get_text, parse_object
from agent.provider.usage import chat_usage
from agent.records.errors import ProviderError
from agent.records.json import Json, JsonObject
from agent.records.messages import Finish, Usage

ENDS = frozenset({"response.completed", "response.incomplete", "response.done"})
# Events with text, by the kind of part that it belongs to.
TEXTS = {
    "response.output_text": "text",
    "response.refusal": "refusal",
    "response.reasoning_summary_text": "reasoning",
    "response.reasoning_text": "reasoning",
}
# The name of the text in the event that ends a piece of it.
WHOLE = ("text", "refusal")
CUSTOM = "custom_tool_call"
CALLS = frozenset({"function_call", CUSTOM})
RUN_THERE = frozenset({"xai"})
"""Providers whose own tools come as calls of custom tools, which they have run themselves."""

CALL_INPUTS = ("response.function_call_arguments", "response.custom_tool_call_input")


class ResponsesDecoder:
    """The state of one answer. After ``done`` nothing more is to be fed."""

    def __init__(self, provider: str, names: ToolNames | None = None) -> None:
        self.done = False
        self._provider = provider
        self._part = OpenPart()
        self._calls = ResponsesCalls(names or ToolNames())
        self._told: set[tuple[str, str]] = set()
        self._place: tuple[str, str, str] | None = None
        self._items = 0
        self._kinds = CALLS - {CUSTOM} if provider in RUN_THERE else CALLS

    @property
    def finishing(self) -> bool:
        """Always false: the event that tells of the end is the end."""
        return False

    def feed(self, event: SseEvent) -> list[StreamEvent]:
        """The events that *event* stands for; the last of an answer ends it."""
        text = event.data.strip()
        if not text or text == "[DONE]":
            return []
        data = parse_object(text)
        if data is None:
            return self._fail(unreadable(self._provider, event))
        kind = data.get("type")
        if not isinstance(kind, str):
            kind = event.event
        if event.event == BODY and data.get("object") == "response":
            return self._end(data)
        if kind == "error" or (data.get("error") and not kind.startswith("response.")):
            return self._fail(error_from_event(self._provider, data.get("error") or data))
        if event.event == BODY:
            return self._fail(unreadable(self._provider, event))
        if kind in ENDS or kind in ("response.failed", "response.cancelled"):
            return self._end(get_object(data, "response"))
        return self._inner(kind, data)

    def close(self, error: ProviderError | None = None) -> list[StreamEvent]:
        """The end of the body, or *error* that broke it: without its last event an answer is
        never complete."""
        return [] if self.done else self._fail(error or incomplete(self._provider))

    def _inner(self, kind: str, data: JsonObject) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        place = _place(data)
        name, _, step = kind.rpartition(".")
        if kind == "response.output_item.added":
            self._added(place, get_object(data, "item"), events)
        elif kind == "response.output_item.done":
            self._item_done(place, get_object(data, "item"), events)
        elif name in TEXTS and step in ("delta", "done"):
            self._piece(place, name, step, data, events)
        elif name in CALL_INPUTS and step == "delta":
            self._calls.append(place, get_text(data, "delta"), events)
        elif name in CALL_INPUTS and step == "done":
            given = get_text(data, "arguments") or get_text(data, "input")
            self._calls.complete(place, given, events)
        return events

    def _added(self, place: str, item: JsonObject, events: list[StreamEvent]) -> None:
        self._items += 1
        self._end_part(events)
        if item.get("type") in self._kinds:
            self._calls.start(place, item, events)

    def _piece(
        self, place: str, name: str, step: str, data: JsonObject, events: list[StreamEvent]
    ) -> None:
        """A delta of text; or all of it, which counts where no delta came before."""
        number = str(data.get("summary_index", data.get("content_index", 0)))
        key = (place, f"{name} {number}")
        if step == "delta":
            text = get_text(data, "delta")
        else:
            text = next((get_text(data, word) for word in WHOLE if get_text(data, word)), "")
            if key in self._told:
                return
        if text:
            self._told.add(key)
            self._write((place, name, number), text, events)

    def _write(self, where: tuple[str, str, str], text: str, events: list[StreamEvent]) -> None:
        """Write *text* into the part *where*; a summary has several parts, each one of ours."""
        if where != self._place:
            self._end_part(events)
            self._place = where
        kind = TEXTS[where[1]]
        if kind == "reasoning":
            self._part.reason(text, events)
        else:
            self._part.text(text, events, refusal=kind == "refusal")

    def _end_part(self, events: list[StreamEvent], opaque: JsonObject | None = None) -> None:
        self._place = None
        self._part.end(events, opaque)

    def _item_done(self, place: str, item: JsonObject, events: list[StreamEvent]) -> None:
        kind = item.get("type")
        if kind in self._kinds:
            self._end_part(events)
            self._calls.end(place, item, events)
        elif kind in ("reasoning", "message"):
            if not any(told == place for told, _ in self._told):
                self._untold(place, item, events)
            if kind == "message":
                self._part.end_text(events, _phase(item))
            self._end_part(events, _kept(item) if kind == "reasoning" else None)

    def _untold(self, place: str, item: JsonObject, events: list[StreamEvent]) -> None:
        """The texts of an item of which no delta came."""
        names = {
            "summary_text": "response.reasoning_summary_text",
            "reasoning_text": "response.reasoning_text",
            "output_text": "response.output_text",
            "refusal": "response.refusal",
        }
        for field in ("summary", "content"):
            parts = item.get(field)
            for number, part in enumerate(parts if isinstance(parts, list) else []):
                name = names.get(str(part.get("type"))) if isinstance(part, dict) else None
                if name is not None and isinstance(part, dict):
                    text = get_text(part, "text") or get_text(part, "refusal")
                    if text:
                        self._write((place, name, f"{field} {number}"), text, events)

    def _end(self, response: JsonObject) -> list[StreamEvent]:
        """The last event, which holds the whole response."""
        usage = chat_usage(response.get("usage"))
        status = get_text(response, "status")
        error = response.get("error")
        if error or status in ("failed", "cancelled"):
            what = f"the answer ended as {status or 'failed'}"
            failure = (
                error_from_event(self._provider, error)
                if error
                else connection_error(self._provider, what)
            )
            return self._fail(failure, usage)
        events: list[StreamEvent] = []
        output = response.get("output")
        if not self._items and isinstance(output, list):
            for number, item in enumerate(output):
                if isinstance(item, dict):
                    self._item_done(str(number), item, events)
        self.done = True
        self._end_part(events)
        reason = get_text(get_object(response, "incomplete_details"), "reason")
        raw = f"incomplete:{reason}" if reason else status or "completed"
        finish: Finish = "tool-calls" if self._calls.any else "stop"
        if reason or status == "incomplete":
            finish = FINISHES.get(reason, "other")
        self._calls.finish(events, cut=finish == "length")
        events.append(StepFinish(finish, raw, usage))
        return events

    def _fail(self, error: ProviderError, usage: Usage | None = None) -> list[StreamEvent]:
        """Close what is open; no call is given out after the break (spec 1, L12)."""
        self.done = True
        events: list[StreamEvent] = []
        self._end_part(events)
        self._calls.abandon(events)
        events.append(StreamError(error, usage))
        return events


def _phase(item: JsonObject) -> JsonObject | None:
    """Whether a message comments on the work or ends it; the model wants to read it again."""
    phase = get_text(item, "phase")
    return {"phase": phase} if phase else None


def _kept(item: JsonObject) -> JsonObject | None:
    """What has to go back of a reasoning item: sealed, or in full where a server shows it (open
    models do). None where nothing can, since nothing is stored."""
    name, sealed = get_text(item, "id"), get_text(item, "encrypted_content")
    summary, content = item.get("summary"), item.get("content")
    kept: JsonObject = {"id": name, "summary": summary if isinstance(summary, list) else []}
    if name and sealed:
        return {**kept, "encrypted_content": sealed}
    return {**kept, "content": content} if name and content and isinstance(content, list) else None


def _place(data: JsonObject) -> str:
    index = data.get("output_index")
    return str(index) if isinstance(index, int) else str(data.get("item_id") or _item_id(data))


def _item_id(data: JsonObject) -> Json:
    return get_object(data, "item").get("id")
