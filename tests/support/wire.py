"""What the dialects share: server-sent events, pieces of arguments, seals of reasoning."""

import base64
import hashlib
import json
from collections.abc import Iterator

from tests.support.script import Call


def event(data: dict[str, object], name: str = "") -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def arguments(call: Call) -> str:
    """The arguments of *call* as the text that is sent."""
    return json.dumps(call.args) if isinstance(call.args, dict) else call.args or ""


def argument_pieces(call: Call) -> Iterator[str]:
    """That text, in the pieces that were asked for."""
    text = arguments(call)
    size = max(1, -(-len(text) // call.pieces))
    for at in range(0, len(text), size):
        yield text[at : at + size]


def seal(text: str) -> str:
    """What a provider signs or encrypts reasoning with: a change of *text* shows."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
