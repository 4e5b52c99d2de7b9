"""The part of an answer that is open: text, refusal or reasoning, one at a time."""

from agent.provider.client import (
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
)
from agent.records.json import JsonObject


class OpenPart:
    """Writes the events of parts that never overlap. A part starts with its first text."""

    def __init__(self) -> None:
        self.kind: str | None = None

    def text(self, text: str, events: list[StreamEvent], *, refusal: bool = False) -> None:
        """Append *text* to the open text or refusal, or start one."""
        if not text:
            return
        kind = "refusal" if refusal else "text"
        if self.kind != kind:
            self.end(events)
            events.append(TextStart(refusal=refusal))
            self.kind = kind
        events.append(TextDelta(text))

    def reason(self, text: str, events: list[StreamEvent], field_name: str | None = None) -> None:
        """Append *text* to the open reasoning, or start one that came in *field_name*."""
        if not text:
            return
        if self.kind != "reasoning":
            self.end(events)
            events.append(ReasoningStart(field_name))
            self.kind = "reasoning"
        events.append(ReasoningDelta(text))

    def end(self, events: list[StreamEvent], opaque: JsonObject | None = None) -> None:
        """End what is open. *opaque* belongs to the reasoning: it makes one where none is."""
        if opaque and self.kind != "reasoning":
            self.end(events)
            events.append(ReasoningStart())
            self.kind = "reasoning"
        if self.kind == "reasoning":
            events.append(ReasoningEnd(opaque or None))
        elif self.kind is not None:
            events.append(TextEnd())
        self.kind = None

    def end_text(self, events: list[StreamEvent], opaque: JsonObject | None) -> None:
        """End the text that is open, if one is, with the *opaque* that belongs to it."""
        if self.kind in ("text", "refusal"):
            events.append(TextEnd(opaque))
            self.kind = None
