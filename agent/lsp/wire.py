"""JSON-RPC as language servers speak it: headers, a blank line, a body (LSP 3.17)."""

import asyncio
import json

from agent.records.json import Json, JsonObject

MAX_MESSAGE = 64 * 1024 * 1024
"""Bytes of one message. A server that announces more is broken, and is not read on."""


class ProtocolError(Exception):
    """What came is no message of the protocol. Nothing after it can be read."""


def encode(message: JsonObject) -> bytes:
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


async def read_message(reader: asyncio.StreamReader) -> JsonObject | None:
    """The next message; None at the end of the stream. Raises ``WireError``."""
    length: int | None = None
    while True:
        try:
            line = await reader.readline()
        except ValueError as error:  # longer than the reader takes
            raise ProtocolError("a header line without an end") from error
        if not line:
            return None
        line = line.strip()
        if not line:
            if length is not None:
                break
            continue
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = _length(value)
    try:
        body = await reader.readexactly(length)
        value = _parsed(body)
    except asyncio.IncompleteReadError:
        return None
    if not isinstance(value, dict):
        raise ProtocolError("a message that is no object")
    return value


def _length(value: bytes) -> int:
    text = value.strip()
    if not text.isdigit() or int(text) > MAX_MESSAGE:
        raise ProtocolError(f"a message of {text[:40].decode('ascii', 'replace')} bytes")
    return int(text)


def _parsed(body: bytes) -> Json:
    try:
        return json.loads(body.decode("utf-8", "replace"))
    except ValueError as error:
        raise ProtocolError("a message that is no JSON") from error
