"""The litellm worker: a process of its own, and the only code that imports litellm.

It reads ``{"id": 1, "call": {…}}`` (the arguments of a completion) and ``{"cancel": 1}``, one a
line, and writes ``{"ready": true}`` once litellm is loaded, or ``{"broken": "why"}``; then for
each call ``{"id": 1, "chunk": {…}}`` as often as it takes, and at its end ``{"id": 1, "end":
true}`` or ``{"id": 1, "error": {…}}``. It ends with its input. It runs by its path and imports
nothing of this program, so that no folder of the user's can replace a module.

litellm's common wrapper distorts responses: it drops refusals and reasoning under other names,
invents usage, and turns a response without finish reason into an error. So the output of its
code for the provider is passed on where it has a known form, and only else that of the wrapper.
"""

import asyncio
import contextlib
import importlib
import json
import logging
import os
import sys
import warnings
from collections.abc import AsyncIterator
from typing import Any, TextIO, cast

MAX_LINE = 1 << 28
IMPORT_ENVIRONMENT = {
    "LITELLM_OFFLINE_MODE": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",
    "HF_HUB_OFFLINE": "1",
    "PYTHON_DOTENV_DISABLED": "1",
}
"""Without these the import downloads files, loads a project's ``.env`` and looks for tokenizers."""

CALL_OPTIONS = {
    "stream": True,
    "stream_options": {"include_usage": True},
    "max_retries": 0,
    "num_retries": 0,
    "drop_params": True,
}
CHUNK_KEYS = ("choices", "usage", "error", "x_groq")
"""The fields of a chunk that are passed on."""

LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")


def load() -> Any:
    """Return litellm, silenced. Raises ``ImportError``, and whatever else its import raises."""
    os.environ.update(IMPORT_ENVIRONMENT)
    litellm: Any = importlib.import_module("litellm")
    litellm.suppress_debug_info = True
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
    warnings.simplefilter("ignore")
    return litellm


class Worker:
    """The server of concurrent calls. *out* takes its lines."""

    def __init__(self, litellm: Any, out: TextIO) -> None:
        self._litellm = litellm
        self._out = out
        self._calls: dict[int, asyncio.Task[None]] = {}

    async def serve(self, lines: asyncio.StreamReader) -> None:
        """Serve lines until the input ends, then cancel the calls that still run."""
        while line := await lines.readline():
            message = json.loads(line)
            if "cancel" in message:
                running = self._calls.get(message["cancel"])
                if running is not None:
                    running.cancel()
            else:
                number = message["id"]
                task = asyncio.create_task(self._run_call(number, message["call"]))
                self._calls[number] = task
                task.add_done_callback(lambda done, number=number: self._finish_call(number, done))
        for task in self._calls.values():
            task.cancel()

    async def _run_call(self, number: int, call: dict[str, Any]) -> None:
        answer = await self._litellm.acompletion(**CALL_OPTIONS, **call)
        chunks = _chunks(answer)
        try:
            async for chunk in chunks:
                self._write({"id": number, "chunk": chunk})
        finally:
            with contextlib.suppress(AttributeError, RuntimeError):
                await answer.aclose()

    def _finish_call(self, number: int, task: "asyncio.Task[None]") -> None:
        del self._calls[number]
        if task.cancelled():
            self._write({"id": number, "end": True})
            return
        error = task.exception()
        end = {"end": True} if error is None else {"error": error_report(error)}
        self._write({"id": number, **end})

    def _write(self, message: dict[str, Any]) -> None:
        self._out.write(json.dumps(message, default=str) + "\n")
        self._out.flush()


async def _chunks(answer: Any) -> AsyncIterator[dict[str, Any]]:
    """Yield the chunks of *answer* as chat completions, as early as possible."""
    if not hasattr(answer, "completion_stream"):
        yield answer.model_dump(mode="json", exclude_none=True)
        return
    await answer.fetch_stream()
    pieces = _iterate(answer.completion_stream)
    held: list[Any] = []
    async for piece in pieces:
        if piece is None:
            continue
        held.append(piece)
        break
    if held and _as_chunk(held[0]) is None:
        answer.completion_stream = _chain(held, pieces)
        async for chunk in answer:
            yield chunk.model_dump(mode="json", exclude_none=True)
        return
    async for piece in _chain(held, pieces):
        if chunk := _as_chunk(piece):
            yield chunk


def _iterate(stream: Any) -> AsyncIterator[Any]:
    return aiter(stream) if hasattr(stream, "__aiter__") else _in_thread(iter(stream))


async def _in_thread(stream: Any) -> AsyncIterator[Any]:
    end = object()
    while (piece := await asyncio.to_thread(next, stream, end)) is not end:
        yield piece


async def _chain(first: list[Any], rest: AsyncIterator[Any]) -> AsyncIterator[Any]:
    for piece in first:
        yield piece
    async for piece in rest:
        yield piece


def _as_chunk(piece: Any) -> dict[str, Any] | None:
    """Return *piece* as a chunk of chat completions, None where it has another form."""
    if hasattr(piece, "choices") and hasattr(piece, "model_dump"):
        whole = piece.model_dump(mode="json", exclude_none=True, warnings=False)
        return {name: whole[name] for name in CHUNK_KEYS if whole.get(name)}
    if isinstance(piece, dict):
        generic = cast("dict[str, Any]", piece)
        if {"text", "is_finished", "finish_reason"} <= generic.keys():
            return _from_generic(generic)
    return None


def _from_generic(piece: dict[str, Any]) -> dict[str, Any]:
    delta: dict[str, Any] = {"content": piece["text"]} if piece["text"] else {}
    if tool := piece.get("tool_use"):
        delta["tool_calls"] = [tool if isinstance(tool, dict) else tool.model_dump()]
    reason = piece["finish_reason"] if piece["is_finished"] else None
    delta |= piece.get("provider_specific_fields") or {}
    usage = piece.get("usage")
    if not (delta or reason or usage):
        return {}
    return {
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason or None}],
        "usage": usage if isinstance(usage, dict) or usage is None else usage.model_dump(),
    }


CONNECTION_ERRORS = (
    "APIConnectionError",
    "APITimeoutError",
    "Timeout",
    "ConnectError",
    "ReadError",
    "RemoteProtocolError",
    "ClientConnectionError",
    "ClientPayloadError",
)
"""Names of errors that mean a failed connection."""


def error_report(error: BaseException) -> dict[str, Any]:
    """Return what is known of *error*.

    That is the ``status``, ``headers`` and ``body`` (text) of the server's response if it still
    exists, the ``data`` of an error inside the stream, the message (``words``), the class
    (``kind``), and ``broken`` if the connection failed.
    """
    chain = _causes(error)
    own = {"words": _message(chain[0]), "kind": type(chain[0]).__name__}
    for one in chain:
        answer: Any = getattr(one, "response", None)
        status, body = getattr(answer, "status_code", None), _text(answer)
        if isinstance(status, int) and status >= 400 and body:
            headers = {str(k).lower(): str(v) for k, v in answer.headers.items()}
            return {**own, "status": status, "headers": headers, "body": body}
    bodies: list[Any] = [getattr(one, "body", None) for one in chain]
    data = next((cast("Any", body) for body in bodies if isinstance(body, dict)), None)
    status = next((s for one in chain if isinstance(s := _status(one), int)), None)
    names = {base.__name__ for one in chain for base in type(one).__mro__}
    nothing: dict[str, str] = {}
    headers = next((found for one in chain if (found := _headers(one))), nothing)
    broken = data is None and bool(names & set(CONNECTION_ERRORS))
    return {**own, "status": status, "headers": headers, "data": data, "broken": broken}


def _causes(error: BaseException) -> list[BaseException]:
    """Return *error* and its causes, the original one first."""
    chain: list[BaseException] = []
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if isinstance(one, BaseException) and one not in chain:
            chain.append(one)
            left += [one.__context__, one.__cause__, getattr(one, "original_exception", None)]
    return chain[::-1]


def _status(error: BaseException) -> Any:
    return getattr(error, "status_code", None) or getattr(error, "code", None)


def _headers(error: BaseException) -> dict[str, str]:
    found: Any = getattr(error, "litellm_response_headers", None)
    found = found or getattr(error, "headers", None)
    items = found.items() if hasattr(found, "items") else ()
    return {str(name).lower(): str(value) for name, value in items}


def _text(answer: Any) -> str:
    """Return the body of *answer* as far as it was read; those that litellm invents are empty."""
    with contextlib.suppress(AttributeError, RuntimeError, UnicodeError):
        return str(answer.text)
    return ""


def _message(error: BaseException) -> str:
    return str(getattr(error, "message", "") or error)


async def main(out: TextIO) -> None:
    adapter = Worker(load(), out)
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader(limit=MAX_LINE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    out.write(json.dumps({"ready": True}) + "\n")
    out.flush()
    await adapter.serve(lines)


if __name__ == "__main__":
    # litellm prints to stdout: send that to stderr, and keep a descriptor for our lines.
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    asyncio.run(main(own))
