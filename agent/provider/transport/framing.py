"""Splitting of a response body into messages: JSON lines, and AWS' binary event stream.

Both produce ``SseEvent``, like ``BodyDecoder`` for server-sent events, so that a decoder need not
know the framing.
"""

import binascii
import json
import re
import struct
from typing import Protocol

from agent.records.frozen import frozen

LINE_END = re.compile(rb"\r\n|\n|\r")
BOM = b"\xef\xbb\xbf"
MAX_EVENT_BYTES = 32 * 1024 * 1024

BODY = "body"
"""The name of the event that carries a whole body which is no event stream."""


class EventTooLong(ValueError):
    """An event or body of more than ``MAX_EVENT_BYTES``, which no provider sends on purpose."""


@frozen
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
        *lines, rest = piece.split(b"\n") if b"\r" not in piece else LINE_END.split(piece)
        for line in lines:
            self._take_line(bytes(self._line) + line if self._line else line, events)
        self._line += rest
        # A CR ends its line at once; an LF after it in the next piece belongs to it.
        self._skip_lf = piece.endswith(b"\r") or (self._skip_lf and not piece)
        if self._size + len(self._line) > MAX_EVENT_BYTES:
            raise EventTooLong
        return events

    def close(self) -> list[SseEvent]:
        """Return the last event if the body ended without its blank line (some servers do so)."""
        events: list[SseEvent] = []
        if self._line:
            self._take_line(bytes(self._line), events)
        self._dispatch(events)
        return events

    def _take_line(self, raw: bytes, events: list[SseEvent]) -> None:
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


class Framing(Protocol):
    """A splitter of bytes into events; ``close`` returns those that the end completes."""

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Return the events that *piece* completes. Raises ``EventTooLong``, ``BrokenFrame``."""
        ...

    def close(self) -> list[SseEvent]: ...


class BrokenFrame(ValueError):
    """An invalid frame: its lengths or checksums are wrong."""


class JsonLines:
    """One event per line. A body of server-sent events is decoded as such."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._sse: BodyDecoder | None = None
        self._decided = False

    def feed(self, piece: bytes) -> list[SseEvent]:
        if self._sse is not None:
            return self._sse.feed(piece)
        self._line += piece
        if not self._decided:
            start = bytes(self._line[:64]).removeprefix(BOM).lstrip()
            if not start or BOM.startswith(start):
                return []
            self._decided = True
            if start[:1] not in b"{[<":
                self._sse = BodyDecoder()
                return self._sse.feed(bytes(self._line))
        if len(self._line) > MAX_EVENT_BYTES:
            raise EventTooLong
        *whole, rest = self._line.split(b"\n")
        self._line = bytearray(rest)
        return [_line(bytes(line)) for line in whole if line.strip()]

    def close(self) -> list[SseEvent]:
        if self._sse is not None:
            return self._sse.close()
        line, self._line = bytes(self._line), bytearray()
        return [_line(line)] if line.strip() else []


def _line(line: bytes) -> SseEvent:
    return SseEvent(line.removeprefix(BOM).decode("utf-8", "replace").strip())


PRELUDE = struct.Struct(">III")
"""The length of the frame, that of its headers, and the checksum of these two."""
TEXT_HEADER = 7
ERROR = "error"
"""The name of the event for an error in the headers of a frame."""

MIN_FRAME = PRELUDE.size + 4


class AwsFrames:
    """Frames of ``application/vnd.amazon.eventstream``: prelude, headers, payload, checksum.

    The event's name is ``:event-type``, or ``:exception-type`` for an error. A body that begins
    with a bracket is no event stream and becomes one event.
    """

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._whole: BodyDecoder | None = None

    def feed(self, piece: bytes) -> list[SseEvent]:
        if self._whole is not None:
            return self._whole.feed(piece)
        self._bytes += piece
        if bytes(self._bytes[:1]) in (b"{", b"<", b"["):
            self._whole = BodyDecoder()
            return self._whole.feed(bytes(self._bytes))
        events: list[SseEvent] = []
        while len(self._bytes) >= PRELUDE.size:
            length, headers, checksum = PRELUDE.unpack_from(self._bytes)
            if binascii.crc32(self._bytes[:8]) != checksum or length < MIN_FRAME + headers:
                raise BrokenFrame
            if length > MAX_EVENT_BYTES:
                raise EventTooLong
            if len(self._bytes) < length:
                break
            frame = bytes(self._bytes[:length])
            del self._bytes[:length]
            events.append(_message(frame, headers))
        return events

    def close(self) -> list[SseEvent]:
        return self._whole.close() if self._whole is not None else []


def _message(frame: bytes, headers: int) -> SseEvent:
    if binascii.crc32(frame[:-4]) != struct.unpack(">I", frame[-4:])[0]:
        raise BrokenFrame
    end = PRELUDE.size + headers
    named = _headers(frame[PRELUDE.size : end])
    payload = frame[end:-4].decode("utf-8", "replace")
    if code := named.get(":error-code"):
        return SseEvent(json.dumps({"type": code, "message": named.get(":error-message")}), ERROR)
    return SseEvent(payload, named.get(":event-type") or named.get(":exception-type") or "message")


def _headers(data: bytes) -> dict[str, str]:
    """Return the text headers up to the first of another type, which AWS does not send here."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        size = data[at]
        name = data[at + 1 : at + 1 + size].decode("utf-8", "replace")
        at += 1 + size
        if data[at : at + 1] != bytes([TEXT_HEADER]) or at + 3 > len(data):
            break
        (length,) = struct.unpack_from(">H", data, at + 1)
        found[name] = data[at + 3 : at + 3 + length].decode("utf-8", "replace")
        at += 3 + length
    return found
