"""The writer of scripted responses as streams of the Responses API."""

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
from tests.support.wire import argument_pieces, arguments, event, seal

_INCOMPLETE = {"limit": "max_output_tokens", "content_filter": "content_filter"}
_ENCRYPTED = "reasoning.encrypted_content"

Fields = dict[str, object]


class ResponsesWriter:
    """The writer of one response, piece by piece.

    The id of an item after reasoning ends with the id of that reasoning, so that a stateless
    strict server can recognize that the two belong together.
    """

    def __init__(self, body: dict, number: int) -> None:
        self._model = body.get("model", "")
        self._encrypts = _ENCRYPTED in (body.get("include") or [])
        self._number = number
        self._sequence = -1
        self._begun = False
        self._output: list[Fields] = []
        self._item: Fields | None = None
        self._text = ""
        self._after = ""
        self._reason = "end"
        self._tokens: Tokens | None = None

    def write(self, piece: Piece) -> Iterator[bytes]:
        if isinstance(piece, Raw):
            yield piece.data
            return
        if not self._begun:
            self._begun = True
            yield self._event("response.created", response=self._response("in_progress"))
            yield self._event("response.in_progress", response=self._response("in_progress"))
        match piece:
            case Text():
                yield from self._message(piece.text)
            case Reason():
                yield from self._reasoning(piece.text)
            case Opaque():
                yield from self._close()
                yield from self._open(self._new("rs", type="reasoning", summary=[]))
                yield from self._close(data=piece.data)
            case Call():
                yield from self._call(piece)
            case Finish():
                self._reason = piece.reason or "end"
            case Tokens():
                self._tokens = piece
            case StreamFailure():
                yield self._event("error", code=piece.kind, message=piece.message, param=None)
            case Done():
                yield from self._close()
                yield self._end()
            case _:
                pass

    def _message(self, text: str) -> Iterator[bytes]:
        if self._item is None or self._item["type"] != "message":
            yield from self._close()
            yield from self._open(
                self._new(
                    "msg",
                    type="message",
                    role="assistant",
                    status="in_progress",
                    phase="final_answer",
                    content=[],
                )
            )
            yield self._inner("response.content_part.added", content_index=0, part=_part(""))
        self._text += text
        yield self._inner("response.output_text.delta", content_index=0, delta=text)

    def _reasoning(self, text: str) -> Iterator[bytes]:
        if self._item is None or self._item["type"] != "reasoning":
            yield from self._close()
            yield from self._open(self._new("rs", type="reasoning", summary=[]))
            part = {"type": "summary_text", "text": ""}
            yield self._inner("response.reasoning_summary_part.added", summary_index=0, part=part)
        self._text += text
        yield self._inner("response.reasoning_summary_text.delta", summary_index=0, delta=text)

    def _call(self, piece: Call) -> Iterator[bytes]:
        yield from self._close()
        made_up = f"call_{self._number}_{len(self._output)}"
        item = self._new(
            "fc", type="function_call", status="in_progress", name=piece.name, arguments=""
        )
        if piece.id is not None:
            item["call_id"] = made_up if piece.id == "auto" else piece.id
        yield from self._open(item)
        for text in argument_pieces(piece):
            yield self._inner("response.function_call_arguments.delta", delta=text)
        self._text = arguments(piece)
        yield from self._close()

    def _new(self, prefix: str, **fields: object) -> Fields:
        after = f"_of_{self._after}" if self._after else ""
        return {"id": f"{prefix}_{self._number}_{len(self._output)}{after}", **fields}

    def _open(self, item: Fields) -> Iterator[bytes]:
        self._item = item
        self._text = ""
        yield self._event("response.output_item.added", output_index=self._index, item=item)

    def _close(self, data: str = "") -> Iterator[bytes]:
        """End the open item; *data* is the encrypted content of an item without a summary."""
        item = self._item
        if item is None:
            return
        match item["type"]:
            case "message":
                part = _part(self._text)
                yield self._inner("response.output_text.done", content_index=0, text=self._text)
                yield self._inner("response.content_part.done", content_index=0, part=part)
                item = {**item, "status": "completed", "content": [part]}
            case "reasoning":
                summary = [{"type": "summary_text", "text": self._text}] if self._text else []
                item = {**item, "summary": summary}
                if self._encrypts:
                    item["encrypted_content"] = data or seal(str(item["id"]) + self._text)
            case _:
                done = "response.function_call_arguments.done"
                yield self._inner(done, arguments=self._text)
                item = {**item, "status": "completed", "arguments": self._text}
        yield self._event("response.output_item.done", output_index=self._index, item=item)
        self._output.append(item)
        self._after = str(item["id"]) if item["type"] == "reasoning" else ""
        self._item = None

    @property
    def _index(self) -> int:
        return len(self._output)

    def _inner(self, kind: str, **more: object) -> bytes:
        assert self._item is not None
        return self._event(kind, item_id=self._item["id"], output_index=self._index, **more)

    def _event(self, kind: str, **more: object) -> bytes:
        self._sequence += 1
        return event({"type": kind, "sequence_number": self._sequence, **more}, kind)

    def _response(self, status: str, **more: object) -> Fields:
        return {
            "id": f"resp_{self._number}",
            "object": "response",
            "status": status,
            "model": self._model,
            "output": self._output,
            "error": None,
            "incomplete_details": None,
            "usage": _usage(self._tokens) if self._tokens is not None else None,
            **more,
        }

    def _end(self) -> bytes:
        if self._reason == "failed":
            error = {"code": "server_error", "message": "scripted failure"}
            return self._event("response.failed", response=self._response("failed", error=error))
        if self._reason in _INCOMPLETE:
            details = {"reason": _INCOMPLETE[self._reason]}
            whole = self._response("incomplete", incomplete_details=details)
            return self._event("response.incomplete", response=whole)
        return self._event("response.completed", response=self._response("completed"))


def _part(text: str) -> Fields:
    return {"type": "output_text", "text": text, "annotations": []}


def _usage(tokens: Tokens) -> Fields:
    return {
        "input_tokens": tokens.prompt,
        "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.completion,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.prompt + tokens.completion,
    }
