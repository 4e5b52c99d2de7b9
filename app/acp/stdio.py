"""The protocol's messages on two file descriptors: one JSON object per line.

One thread reads and one writes. So a client that does not read blocks only the sender, any kind
of file works, and the descriptors keep the flags that a terminal shares with others. Both are
daemon threads.
"""

import asyncio
import json
import os
import queue
import threading
from typing import Any, cast

from app.terminal.input_lines import InputLines

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
"""Codes of JSON-RPC 2.0."""


class StdioTransport:
    """A transport for the protocol's SDK. Used from one event loop."""

    def __init__(self, source: int, sink: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines = InputLines(source, "acp-input")
        self._writing: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = (
            queue.SimpleQueue()
        )
        self._closed = False
        self._prompts: dict[str, str] = {}
        threading.Thread(target=self._write, args=(sink,), name="acp-output", daemon=True).start()

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message. Raises ``ConnectionError`` when the client no longer reads."""
        if self._closed:
            raise ConnectionError("the client has disconnected")
        if "method" not in message:
            self._prompts.pop(_key(message.get("id")), None)
        # Only details of errors contain values that are not JSON: an exception, a path.
        data = json.dumps(message, default=str, separators=(",", ":")).encode() + b"\n"
        written: asyncio.Future[None] = self._loop.create_future()
        self._writing.put((data, written))
        await written

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message, None at the end. Other lines are answered with an error."""
        while (line := await self._lines.next()) is not None:
            try:
                message: object = json.loads(line)
            except ValueError:
                await self._send_error(PARSE_ERROR, "Parse error: a line must be one JSON object.")
                continue
            if isinstance(message, dict):
                return self._as_known(cast("dict[str, Any]", message))
            await self._send_error(INVALID_REQUEST, "Invalid request: a message is a JSON object.")
        return None

    def _as_known(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return *message* in the words of the SDK: it does not know that requests are canceled by
        their number, and models are an option of the session."""
        given = message.get("params")
        params = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
        match message.get("method"):
            case "session/prompt":
                self._prompts[_key(message.get("id"))] = str(params.get("sessionId"))
            case "$/cancel_request" if _key(params.get("requestId")) in self._prompts:
                session_id = self._prompts[_key(params.get("requestId"))]
                return {**message, "method": "session/cancel", "params": {"sessionId": session_id}}
            case "session/set_model":
                option = {"configId": "model", "value": params.get("modelId")}
                changed = {"sessionId": params.get("sessionId"), **option}
                return {**message, "method": "session/set_config_option", "params": changed}
            case _:
                pass
        return message

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._writing.put(None)

    async def _send_error(self, code: int, why: str) -> None:
        error = {"code": code, "message": why}
        await self.send({"jsonrpc": "2.0", "id": None, "error": error})

    def _write(self, sink: int) -> None:
        while (entry := self._writing.get()) is not None:
            data, written = entry
            fault: OSError | None = None
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(sink, left) :]
            except OSError as error:
                fault = error
                # A client that reads no more gets no request, so none can be answered: the end.
                self._lines.end()
            self._call(_settle, written, fault)

    def _call(self, function: Any, *arguments: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(function, *arguments)


def _key(request_id: object) -> str:
    """Return the id of a request as a key that tells a number from a text."""
    return json.dumps(request_id)


def _settle(written: "asyncio.Future[None]", fault: OSError | None) -> None:
    if written.done():
        return
    if fault is None:
        written.set_result(None)
    else:
        written.set_exception(ConnectionError(f"the client has disconnected: {fault.strerror}"))
