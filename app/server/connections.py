"""Connections of the server: each is closed whose request does not arrive, and beyond a number."""

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 30.0
"""Seconds for the head of a request to arrive, also on a new connection."""

MAX_CONNECTIONS = 400
"""Open connections: each event stream is one, and a process has some 1,000 files."""


class PatientProtocol(H11Protocol):
    """A connection that waits *head_seconds* for the head of a request, not for ever."""

    head_seconds = HEAD_SECONDS
    most = MAX_CONNECTIONS
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.most:
            transport.abort()
        else:
            self._deadline = self.loop.call_later(self.head_seconds, transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if str(self.conn.their_state) != "IDLE":  # the head is there
            self._stop_waiting()
        elif self._deadline is None and self.conn.trailing_data[0]:
            self._deadline = self.loop.call_later(self.head_seconds, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
