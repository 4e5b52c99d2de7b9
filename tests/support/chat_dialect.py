"""The writer of scripted responses as streams of chat completions."""

from collections.abc import Iterator

from tests.support.script import (
    Call,
    Done,
    Finish,
    Piece,
    Raw,
    Reason,
    StreamFailure,
    Text,
    Tokens,
)
from tests.support.wire import argument_pieces, event

_WORDS = {"end": "stop", "calls": "tool_calls", "limit": "length"}


class ChatWriter:
    """The writer of one response, piece by piece."""

    def __init__(self, model: str, number: int) -> None:
        self._head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": model}
        self._number = number
        self._calls = 0

    def write(self, piece: Piece) -> Iterator[bytes]:
        match piece:
            case Text():
                yield self._delta({"content": piece.text})
            case Reason():
                yield self._delta({"reasoning_content": piece.text})
            case Call():
                yield from self._call(piece)
            case Finish():
                reason = _WORDS.get(piece.reason or "", piece.reason)
                yield self._chunk([{"index": 0, "delta": {}, "finish_reason": reason}])
            case Tokens():
                yield self._chunk([], usage=_usage(piece))
            case Raw():
                yield piece.data
            case StreamFailure():
                yield event({"error": {"message": piece.message, "type": piece.kind}})
            case Done():
                yield b"data: [DONE]\n\n"
            case _:
                pass

    def _call(self, piece: Call) -> Iterator[bytes]:
        index = self._calls if piece.index is None else piece.index
        call_id = f"call_{self._number}_{self._calls}" if piece.id == "auto" else piece.id
        self._calls += 1
        start: dict[str, object] = {"index": index, "type": "function"}
        if call_id is not None:
            start["id"] = call_id
        yield self._delta(
            {"tool_calls": [{**start, "function": {"name": piece.name, "arguments": ""}}]}
        )
        for text in argument_pieces(piece):
            cut = {"index": index, "function": {"arguments": text}}
            yield self._delta({"tool_calls": [cut]})

    def _delta(self, delta: dict[str, object]) -> bytes:
        return self._chunk([{"index": 0, "delta": delta, "finish_reason": None}])

    def _chunk(self, choices: list[dict[str, object]], **more: object) -> bytes:
        return event({**self._head, "choices": choices, **more})


def _usage(tokens: Tokens) -> dict[str, object]:
    return {
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.completion,
        "total_tokens": tokens.prompt + tokens.completion,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }
