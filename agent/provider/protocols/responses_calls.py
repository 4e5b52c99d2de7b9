"""The tool calls of a Responses stream, assembled by their position in the response."""

import json
from dataclasses import dataclass

from agent.provider.client import StreamEvent
from agent.provider.protocols.stream_decoder import StreamedCall
from agent.provider.tool_names import ToolNames
from agent.provider.transport.wire_json import is_json_object
from agent.records.json import JsonObject


@dataclass(slots=True)
class _Call(StreamedCall):
    custom: bool = False
    """A custom tool, whose input is free text: its arguments are written as a JSON string."""

    has_input: bool = False
    ended: bool = False
    emitted: bool = False

    @property
    def complete(self) -> bool:
        return self.custom or is_json_object(self.arguments)


class ResponsesCalls:
    """Assembler of the calls.

    A call is emitted as soon as its item is done, if its arguments are complete; else by
    ``finish``, when it is known whether the output limit truncated it.
    """

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._calls: dict[str, _Call] = {}

    @property
    def any(self) -> bool:
        return bool(self._calls)

    def start(self, position: str, item: JsonObject, events: list[StreamEvent]) -> None:
        """Start the call *item* at *position*."""
        name, call_id = item.get("name"), item.get("call_id")
        call = _Call(
            key=f"call-{len(self._calls)}",
            name=self._names.from_wire(name if isinstance(name, str) else ""),
            call_id=call_id if isinstance(call_id, str) and call_id else None,
            custom=item.get("type") == "custom_tool_call",
        )
        self._calls[position] = call
        call.start(events)

    def append(self, position: str, text: str, events: list[StreamEvent]) -> None:
        """Append a piece of the arguments."""
        call = self._calls.get(position)
        if call is None or call.ended or not text:
            return
        if call.custom:
            quote = "" if call.has_input else '"'
            text = f"{quote}{json.dumps(text)[1:-1]}"
        call.has_input = True
        call.append(text, events)

    def complete(self, position: str, text: str, events: list[StreamEvent]) -> None:
        """Set the whole arguments, unless pieces of them came before."""
        call = self._calls.get(position)
        if call is not None and not call.has_input:
            self.append(position, text, events)

    def end(self, position: str, item: JsonObject, events: list[StreamEvent]) -> None:
        """End the call at *position* as the done *item* has it."""
        if position not in self._calls:
            self.start(position, item, events)
        call = self._calls[position]
        given = item.get("arguments") or item.get("input")
        if isinstance(given, dict):
            given = json.dumps(given, ensure_ascii=False)
        if isinstance(given, str):
            self.complete(position, given, events)
        if call.ended:
            return
        self._end_input(call, events)
        if call.complete and item.get("status") != "incomplete":
            self._emit(call, events)

    def finish(self, events: list[StreamEvent], *, truncated: bool) -> None:
        """Emit the calls that are left.

        *truncated* says that the output limit was hit: in the last call, if it is left.
        """
        last = next(reversed(self._calls.values()), None)
        for call in self._calls.values():
            self._end_input(call, events)
            self._emit(call, events, truncated=truncated and call is last)

    def abandon(self, events: list[StreamEvent]) -> None:
        """Close the inputs of a stream that broke, without emitting their calls."""
        for call in self._calls.values():
            if not call.ended:
                call.ended = True
                call.end_input(events)

    def _end_input(self, call: _Call, events: list[StreamEvent]) -> None:
        if call.ended:
            return
        if call.custom:
            call.append('"' if call.has_input else '""', events)
        call.ended = True
        call.end_input(events)

    def _emit(self, call: _Call, events: list[StreamEvent], *, truncated: bool = False) -> None:
        if not call.emitted:
            call.emitted = True
            call.emit(events, truncated=truncated)
