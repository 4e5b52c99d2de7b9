"""Calls that a provider sends whole, in one event."""

import json

from agent.provider.client import (
    StreamEvent,
    ToolCall,
    ToolInputDelta,
    ToolInputEnd,
    ToolInputStart,
)
from agent.provider.protocols.stream_decoder import OpenPart
from agent.provider.tool_names import ToolNames
from agent.records.json import Json, JsonObject


class WholeCalls:
    """Writes the events of whole calls, each under a key of its own."""

    def __init__(self, part: OpenPart, names: ToolNames) -> None:
        self._part = part
        self._names = names
        self.count = 0

    def add(
        self,
        name: str,
        arguments: Json,
        events: list[StreamEvent],
        *,
        call_id: str | None = None,
        opaque: JsonObject | None = None,
    ) -> None:
        """One call. *arguments* is an object, or its JSON text."""
        self._part.end(events)
        key = f"call-{self.count}"
        self.count += 1
        own = self._names.own(name)
        text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
        events.append(ToolInputStart(key, own, call_id))
        if text:
            events.append(ToolInputDelta(key, text))
        events.append(ToolInputEnd(key))
        events.append(ToolCall(key, own, text, call_id, opaque))
