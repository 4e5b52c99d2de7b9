"""Frames of AWS' binary event stream."""

import binascii
import json
import struct


def frame(name: str, payload: object, kind: str = ":event-type") -> bytes:
    """Return one frame with a JSON *payload*; *kind* is the header that carries *name*."""
    headers = b""
    for key, value in ((kind, name), (":message-type", "event")):
        headers += bytes([len(key)]) + key.encode() + b"\x07"
        headers += struct.pack(">H", len(value)) + value.encode()
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    whole = prelude + struct.pack(">I", binascii.crc32(prelude)) + headers + body
    return whole + struct.pack(">I", binascii.crc32(whole))
