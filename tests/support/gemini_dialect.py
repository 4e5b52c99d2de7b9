"""The writer of scripted responses as Gemini streams: whole parts, no end mark."""

import json
from collections.abc import Iterator

from tests.support.script import (
    Call,
    Finish,
    Opaque,
    Piece,
    Raw,
    Reason,
    StreamFailure,
    Text,
    Tokens,
)
from tests.support.wire import arguments, event, seal

_WORDS = {"end": "STOP", "calls": "STOP", "limit": "MAX_TOKENS"}


class GeminiWriter:
    """The writer of one response, piece by piece. A call has a signature for the next request."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._calls = 0

    def write(self, piece: Piece) -> Iterator[bytes]:
        match piece:
            case Text():
                yield self._part({"text": piece.text})
            case Reason():
                yield self._part({"text": piece.text, "thought": True})
            case Opaque():
                yield self._part({"text": "", "thoughtSignature": piece.data})
            case Call():
                yield self._call(piece)
            case Finish():
                reason = _WORDS.get(piece.reason or "", piece.reason or "STOP")
                yield event({"candidates": [{"content": {}, "finishReason": reason, "index": 0}]})
            case Tokens():
                yield event({"candidates": [], "usageMetadata": _usage(piece)})
            case Raw():
                yield piece.data
            case StreamFailure():
                yield _failure(piece)
            case _:
                pass

    def _call(self, piece: Call) -> bytes:
        """Write a call. Its arguments are an object; of invalid ones only the start is written."""
        text = arguments(piece)
        try:
            call = {"name": piece.name, "args": json.loads(text or "{}")}
        except ValueError:
            return b'data: {"candidates": [{"content": {"parts": [{"functionCall": {"args": '
        part: dict[str, object] = {"functionCall": call}
        if not self._calls:
            part["thoughtSignature"] = seal(f"{self._number} {text}")
        self._calls += 1
        return self._part(part)

    def _part(self, part: dict[str, object]) -> bytes:
        content = {"parts": [part], "role": "model"}
        return event({"candidates": [{"content": content, "index": 0}]})


def _failure(piece: StreamFailure) -> bytes:
    refused = piece.kind.startswith("invalid")
    code, status = (400, "INVALID_ARGUMENT") if refused else (500, "INTERNAL")
    return event({"error": {"code": code, "message": piece.message, "status": status}})


def _usage(tokens: Tokens) -> dict[str, int]:
    return {
        "promptTokenCount": tokens.prompt,
        "candidatesTokenCount": tokens.completion - tokens.reasoning,
        "thoughtsTokenCount": tokens.reasoning,
        "cachedContentTokenCount": tokens.cached,
        "totalTokenCount": tokens.prompt + tokens.completion,
    }
