"""The tool calls of a chat-completions stream, assembled from their deltas.

Servers disagree on how a call is distinguished from the next. The rules, from recorded streams:

- a new index starts a call; a delta without index belongs to the last call with its id, else to
  the last call;
- under one index, another id together with a name starts a new call, and so does a repeated name
  if the call before it is complete (its arguments are a JSON object);
- ids that change without a name are ignored (some servers make one for each delta);
- a whole call that is sent again is dropped.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.provider.client import (
    StreamEvent,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from agent.provider.tool_names import ToolNames
from agent.provider.transport.wire_json import is_json_object
from agent.records.json import Json, JsonObject


@dataclass(slots=True)
class _Call:
    key: str
    name: str = ""
    call_id: str | None = None
    arguments: str = ""
    opaque: JsonObject | None = None
    started: bool = False
    ended: bool = False
    chunk: int = 0

    @property
    def complete(self) -> bool:
        """True if the arguments are a complete JSON object, so that nothing can follow."""
        return self.ended or is_json_object(self.arguments)


@dataclass(frozen=True, slots=True)
class _Delta:
    """One entry of ``tool_calls``, with values of the right types."""

    index: int | None
    call_id: str | None
    name: str
    arguments: str
    opaque: JsonObject | None


@dataclass(slots=True)
class CallAssembler:
    """Assembler of calls: feed it the ``tool_calls`` of each chunk.

    A ``ToolCall`` is emitted when the next call starts, if its arguments are complete by then,
    else by ``finish``.
    """

    _names: ToolNames = field(default_factory=ToolNames)
    _calls: list[_Call] = field(default_factory=list[_Call])
    _by_index: dict[int, _Call] = field(default_factory=dict[int, _Call])
    _chunk: int = 0

    @property
    def any(self) -> bool:
        return bool(self._calls)

    def feed(self, entries: Sequence[Json]) -> list[StreamEvent]:
        """Return the events of one chunk's deltas."""
        self._chunk += 1
        events: list[StreamEvent] = []
        for entry in entries:
            if isinstance(entry, dict):
                self._take(_delta(entry), events)
        return events

    def finish(self, *, truncated: bool) -> list[StreamEvent]:
        """End all open calls.

        *truncated* says that the output limit was hit: it truncated the last call, if the
        arguments of that are incomplete.
        """
        events: list[StreamEvent] = []
        last = self._calls[-1] if self._calls else None
        for call in self._calls:
            self._end(call, events, truncated=truncated and call is last and not call.complete)
        return events

    def finish_complete(self) -> list[StreamEvent]:
        """End the calls whose arguments are complete (the finish reason has come)."""
        events: list[StreamEvent] = []
        for call in self._calls:
            if call.complete and call.name:
                self._end(call, events)
        return events

    def abandon(self) -> list[StreamEvent]:
        """Close the inputs of a stream that broke, without emitting their calls."""
        events: list[StreamEvent] = []
        for call in self._calls:
            if call.started and not call.ended:
                events.append(ToolInputEnd(call.key))
            call.ended = True
        return events

    def open_ids(self) -> frozenset[str]:
        """Return the ids of calls that have not ended."""
        return frozenset(c.call_id for c in self._calls if c.call_id and not c.ended)

    def attach(self, call_id: str, opaque: JsonObject) -> None:
        """Add *opaque* to the open call *call_id*; the lists of both are joined."""
        for call in self._calls:
            if call.call_id == call_id and not call.ended:
                call.opaque = merge_objects(call.opaque, opaque)

    def _take(self, delta: _Delta, events: list[StreamEvent]) -> None:
        current = self._current(delta)
        if current is None or self._starts_new(current, delta):
            if current is not None and _repeats(current, delta):
                return
            current = self._new(delta, events)
        elif current.ended:
            return
        current.chunk = self._chunk
        current.name = current.name or delta.name
        current.call_id = current.call_id or delta.call_id
        current.opaque = merge_objects(current.opaque, delta.opaque)
        known = len(current.arguments) if current.started else 0
        current.arguments += delta.arguments
        if current.name and not current.started:
            current.started = True
            own = self._names.from_wire(current.name)
            events.append(ToolInputStart(current.key, own, current.call_id))
        if current.started and len(current.arguments) > known:
            events.append(ToolInputDelta(current.key, current.arguments[known:]))

    def _current(self, delta: _Delta) -> _Call | None:
        if delta.index is not None:
            found = self._by_index.get(delta.index)
            if found is not None or delta.name or delta.call_id is None:
                return found
        if delta.call_id is not None:
            for call in reversed(self._calls):
                if call.call_id == delta.call_id:
                    return call
            if delta.name:
                return None
        return self._calls[-1] if self._calls else None

    def _starts_new(self, current: _Call, delta: _Delta) -> bool:
        other_id = bool(
            delta.call_id and current.call_id is not None and delta.call_id != current.call_id
        )
        if other_id:
            return bool(delta.name) or current.complete
        if not delta.name or not current.name:
            return False
        if delta.index is None and delta.call_id is None and current.chunk == self._chunk:
            return True  # two whole calls in one list, with nothing but their names
        return current.complete or (delta.name != current.name)

    def _new(self, delta: _Delta, events: list[StreamEvent]) -> _Call:
        for call in self._calls:
            if call.name and call.complete:
                self._end(call, events)
        call = _Call(key=f"call-{len(self._calls)}")
        self._calls.append(call)
        if delta.index is not None:
            self._by_index[delta.index] = call
        return call

    def _end(self, call: _Call, events: list[StreamEvent], *, truncated: bool = False) -> None:
        if call.ended:
            return
        call.ended = True
        name = self._names.from_wire(call.name)
        if not call.started:
            events.append(ToolInputStart(call.key, name, call.call_id))
            if call.arguments:
                events.append(ToolInputDelta(call.key, call.arguments))
        events.append(ToolInputEnd(call.key))
        events.append(
            ToolCall(call.key, name, call.arguments, call.call_id, call.opaque, truncated)
        )


def merge_objects(first: JsonObject | None, second: JsonObject | None) -> JsonObject | None:
    """Return both objects in one; where both hold a list, the lists are joined."""
    if not first or not second:
        return first or second
    result = dict(first)
    for name, value in second.items():
        before = result.get(name)
        if isinstance(before, list) and isinstance(value, list):
            result[name] = [*before, *value]
        else:
            result[name] = value
    return result


def _delta(entry: JsonObject) -> _Delta:
    function = entry.get("function")
    if not isinstance(function, dict):
        function = entry
    index = entry.get("index")
    call_id = entry.get("id")
    name = function.get("name")
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    extra = entry.get("extra_content")
    return _Delta(
        index=index if isinstance(index, int) and not isinstance(index, bool) else None,
        call_id=call_id if isinstance(call_id, str) and call_id else None,
        name=name if isinstance(name, str) else "",
        arguments=arguments if isinstance(arguments, str) else "",
        opaque={"extra_content": extra} if extra else None,
    )


def _repeats(call: _Call, delta: _Delta) -> bool:
    same_id = delta.call_id is not None and delta.call_id == call.call_id
    return same_id and delta.name == call.name and delta.arguments in ("", call.arguments)
