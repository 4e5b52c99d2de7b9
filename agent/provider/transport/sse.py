"""The decoder of server-sent events, for bytes that arrive in any pieces.

The format is that of the HTML standard (chapter "Server-sent events"): lines end with CR LF,
LF or CR; a blank line ends an event; ``:`` starts a comment; several ``data`` lines of one
event are joined by LF; a byte order mark at the start is dropped. An event without data is none.
"""

import re
from dataclasses import dataclass

LINE_END = re.compile(rb"\r\n|\n|\r")
BOM = b"\xef\xbb\xbf"
MAX_EVENT_BYTES = 32 * 1024 * 1024

BODY = "body"
"""The name of the event that carries a whole body which is no event stream."""


class EventTooLong(ValueError):
    """An event or body of more than ``MAX_EVENT_BYTES``, which no provider sends on purpose."""


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One server-sent event."""

    data: str
    event: str = "message"
    """The event's name, "message" where the server gave none."""


class SseDecoder:
    """A decoder of bytes to events; ``close`` returns the event without its blank line."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[str] = []
        self._event = ""
        self._size = 0
        self._skip_lf = False
        self._at_start = True

    def feed(self, piece: bytes) -> list[SseEvent]:
        """The events that *piece* completes. Raises ``EventTooLong``."""
        events: list[SseEvent] = []
        if self._skip_lf and piece:
            self._skip_lf = False
            if piece.startswith(b"\n"):
                piece = piece[1:]
        position = 0
        for end in LINE_END.finditer(piece):
            self._line += piece[position : end.start()]
            position = end.end()
            self._take_line(events)
        self._line += piece[position:]
        # A CR ends its line at once; an LF after it in the next piece belongs to it.
        self._skip_lf = piece.endswith(b"\r") or (self._skip_lf and not piece)
        if self._size + len(self._line) > MAX_EVENT_BYTES:
            raise EventTooLong
        return events

    def close(self) -> list[SseEvent]:
        """Return the last event if the body ended without its blank line (some servers do so)."""
        events: list[SseEvent] = []
        if self._line:
            self._take_line(events)
        self._dispatch(events)
        return events

    def _take_line(self, events: list[SseEvent]) -> None:
        raw = bytes(self._line)
        self._line.clear()
        if self._at_start:
            self._at_start = False
            raw = raw.removeprefix(BOM)
        if not raw:
            self._dispatch(events)
            return
        name, _, value = raw.decode("utf-8", "replace").partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
            self._size += len(raw)
        elif name == "event":
            self._event = value

    def _dispatch(self, events: list[SseEvent]) -> None:
        if self._data:
            events.append(SseEvent("\n".join(self._data), self._event or "message"))
        self._data.clear()
        self._event = ""
        self._size = 0


class BodyDecoder:
    """A decoder of a response's body: its events, or one named ``BODY`` if it has none.

    The first significant byte decides, since content types can be wrong: an event stream begins
    with a field name or a colon, JSON and web pages begin with a bracket.
    """

    def __init__(self) -> None:
        self._sse: SseDecoder | None = None
        self._head = bytearray()

    def feed(self, piece: bytes) -> list[SseEvent]:
        """The events that *piece* completes. Raises ``EventTooLong``."""
        if self._sse is not None:
            return self._sse.feed(piece)
        self._head += piece
        start = bytes(self._head[:64]).removeprefix(BOM).lstrip()
        undecided = not start or BOM.startswith(start)
        if undecided or start[:1] in b"{[<":
            if len(self._head) > MAX_EVENT_BYTES:
                raise EventTooLong
            return []
        self._sse = SseDecoder()
        return self._sse.feed(bytes(self._head))

    def close(self) -> list[SseEvent]:
        """Return the events that the end of a complete body completes."""
        if self._sse is not None:
            return self._sse.close()
        text = bytes(self._head).removeprefix(BOM).decode("utf-8", "replace").strip()
        return [SseEvent(text, BODY)] if text else []
