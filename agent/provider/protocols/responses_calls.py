"""The calls of a Responses stream, put together by their place in the answer."""

import json
from dataclasses import dataclass

from agent.provider.client import (
    StreamEvent,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from agent.provider.tool_names import ToolNames
from agent.provider.transport.wire_json import is_json_object
from agent.records.json import JsonObject


@dataclass(slots=True)
class _Call:
    """*plain* marks a custom tool, whose input is free text: it is told as a JSON string."""

    key: str
    name: str
    call_id: str | None
    plain: bool
    arguments: str = ""
    told: bool = False
    ended: bool = False
    called: bool = False

    @property
    def complete(self) -> bool:
        return self.plain or is_json_object(self.arguments)


class ResponsesCalls:
    """A call comes out as soon as its item is done, if its arguments are whole by then; else
    when ``finish`` tells whether the output limit cut it off."""

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._calls: dict[str, _Call] = {}

    @property
    def any(self) -> bool:
        return bool(self._calls)

    def start(self, place: str, item: JsonObject, events: list[StreamEvent]) -> None:
        """The call *item* begins at *place*."""
        name, call_id = item.get("name"), item.get("call_id")
        call = _Call(
            key=f"call-{len(self._calls)}",
            name=self._names.from_wire(name if isinstance(name, str) else ""),
            call_id=call_id if isinstance(call_id, str) and call_id else None,
            plain=item.get("type") == "custom_tool_call",
        )
        self._calls[place] = call
        events.append(ToolInputStart(call.key, call.name, call.call_id))

    def append(self, place: str, text: str, events: list[StreamEvent]) -> None:
        """A piece of the arguments."""
        call = self._calls.get(place)
        if call is None or call.ended or not text:
            return
        if call.plain:
            quote = "" if call.told else '"'
            text = f"{quote}{json.dumps(text)[1:-1]}"
        call.told = True
        self._tell(call, text, events)

    def complete(self, place: str, text: str, events: list[StreamEvent]) -> None:
        """All of the arguments, which count where no piece came before."""
        call = self._calls.get(place)
        if call is not None and not call.told:
            self.append(place, text, events)

    def end(self, place: str, item: JsonObject, events: list[StreamEvent]) -> None:
        """The call at *place* is done, as *item* has it."""
        if place not in self._calls:
            self.start(place, item, events)
        call = self._calls[place]
        given = item.get("arguments") or item.get("input")
        if isinstance(given, dict):
            given = json.dumps(given, ensure_ascii=False)
        if isinstance(given, str):
            self.complete(place, given, events)
        if call.ended:
            return
        self._close(call, events)
        if call.complete and item.get("status") != "incomplete":
            self._call(call, events)

    def finish(self, events: list[StreamEvent], *, cut: bool) -> None:
        """Give out what is left. *cut*: the output limit was hit, in the last call if its
        arguments are not whole."""
        last = next(reversed(self._calls.values()), None)
        for call in self._calls.values():
            self._close(call, events)
            self._call(call, events, cut=cut and call is last)

    def abandon(self, events: list[StreamEvent]) -> None:
        """Close the inputs of a stream that broke. No call comes out of it."""
        for call in self._calls.values():
            if not call.ended:
                call.ended = True
                events.append(ToolInputEnd(call.key))

    def _close(self, call: _Call, events: list[StreamEvent]) -> None:
        if call.ended:
            return
        if call.plain:
            self._tell(call, '"' if call.told else '""', events)
        call.ended = True
        events.append(ToolInputEnd(call.key))

    def _tell(self, call: _Call, text: str, events: list[StreamEvent]) -> None:
        call.arguments += text
        events.append(ToolInputDelta(call.key, text))

    def _call(self, call: _Call, events: list[StreamEvent], *, cut: bool = False) -> None:
        if not call.called:
            call.called = True
            events.append(
                ToolCall(call.key, call.name, call.arguments, call.call_id, truncated=cut)
            )
