"""The writer of scripted responses as streams of Anthropic's Messages API."""

from collections.abc import Iterator

from tests.support.script import (
    Call,
    Done,
    Finish,
    Opaque,
    Piece,
    Raw,
    Reason,
    StreamFailure,
    Text,
    Tokens,
)
from tests.support.wire import argument_pieces, event, seal

_WORDS = {"end": "end_turn", "calls": "tool_use", "limit": "max_tokens"}


class AnthropicWriter:
    """The writer of one response, piece by piece.

    Tokens at the start go into ``message_start``, others with the finish reason; real streams
    have both.
    """

    def __init__(self, model: str, number: int) -> None:
        self._model = model
        self._number = number
        self._begun = False
        self._block = -1
        self._open = ""
        self._thinking = ""
        self._calls = 0
        self._reason: Finish | None = None
        self._tokens: Tokens | None = None

    def write(self, piece: Piece) -> Iterator[bytes]:
        if isinstance(piece, Raw):
            yield piece.data
            return
        if not self._begun:
            self._begun = True
            yield self._start(piece if isinstance(piece, Tokens) else Tokens())
            if isinstance(piece, Tokens):
                return
        match piece:
            case Text():
                yield from self._into("text", {"type": "text", "text": ""})
                yield self._delta({"type": "text_delta", "text": piece.text})
            case Reason():
                empty = {"type": "thinking", "thinking": "", "signature": ""}
                yield from self._into("thinking", empty)
                self._thinking += piece.text
                yield self._delta({"type": "thinking_delta", "thinking": piece.text})
            case Opaque():
                yield from self._close()
                yield from self._into("opaque", {"type": "redacted_thinking", "data": piece.data})
                yield from self._close()
            case Call():
                yield from self._call(piece)
            case Finish():
                self._reason = piece
                yield from self._end(whole=self._tokens is not None)
            case Tokens():
                self._tokens = piece
                yield from self._end(whole=self._reason is not None)
            case Done():
                yield from self._end(whole=bool(self._reason or self._tokens))
                yield _event("message_stop")
            case StreamFailure():
                yield _event("error", error={"type": piece.kind, "message": piece.message})
            case _:
                pass

    def _start(self, tokens: Tokens) -> bytes:
        message = {
            "id": f"msg_{self._number}",
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage(tokens) | {"output_tokens": 1},
        }
        return _event("message_start", message=message)

    def _into(self, kind: str, empty: dict[str, object]) -> Iterator[bytes]:
        """Open a block of this kind, unless one is open."""
        if self._open == kind:
            return
        yield from self._close()
        self._block += 1
        self._open = kind
        yield _event("content_block_start", index=self._block, content_block=empty)

    def _close(self) -> Iterator[bytes]:
        if not self._open:
            return
        if self._open == "thinking":
            yield self._delta({"type": "signature_delta", "signature": seal(self._thinking)})
            self._thinking = ""
        self._open = ""
        yield _event("content_block_stop", index=self._block)

    def _call(self, piece: Call) -> Iterator[bytes]:
        yield from self._close()
        made_up = f"toolu_{self._number}_{self._calls}"
        call_id = made_up if piece.id == "auto" else piece.id
        self._calls += 1
        block: dict[str, object] = {"type": "tool_use", "name": piece.name, "input": {}}
        if call_id is not None:
            block["id"] = call_id
        yield from self._into("call", block)
        for text in argument_pieces(piece):
            yield self._delta({"type": "input_json_delta", "partial_json": text})
        yield from self._close()

    def _delta(self, delta: dict[str, object]) -> bytes:
        return _event("content_block_delta", index=self._block, delta=delta)

    def _end(self, *, whole: bool) -> Iterator[bytes]:
        """Write finish reason and usage, which are one event, when both are known or at the end."""
        if not whole:
            return
        yield from self._close()
        reason = self._reason.reason if self._reason is not None else None
        delta = {"stop_reason": _WORDS.get(reason or "", reason), "stop_sequence": None}
        usage = _usage(self._tokens) if self._tokens is not None else {"output_tokens": 1}
        yield _event("message_delta", delta=delta, usage=usage)
        self._reason = self._tokens = None


def _event(kind: str, **more: object) -> bytes:
    return event({"type": kind, **more}, kind)


def _usage(tokens: Tokens) -> dict[str, object]:
    """Return the usage; ``input_tokens`` excludes cached tokens in this protocol."""
    return {
        "input_tokens": tokens.prompt - tokens.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": tokens.cached,
        "output_tokens": tokens.completion,
    }
