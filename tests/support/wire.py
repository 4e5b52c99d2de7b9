"""Parts shared by the dialects: server-sent events, pieces of arguments, sealed reasoning."""

import base64
import hashlib
import json
from collections.abc import Iterator

from tests.support.script import Call


def event(data: dict[str, object], name: str = "") -> bytes:
    """Return one server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def arguments(call: Call) -> str:
    """Return the arguments of *call* as the text to send."""
    return json.dumps(call.args) if isinstance(call.args, dict) else call.args or ""


def argument_pieces(call: Call) -> Iterator[str]:
    """Return that text in the requested pieces."""
    text = arguments(call)
    size = max(1, -(-len(text) // call.pieces))
    for at in range(0, len(text), size):
        yield text[at : at + size]


def seal(text: str) -> str:
    """Return a signature or encryption of *text*: any change of the text shows."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
