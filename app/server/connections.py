"""Connections of the server: those whose request does not arrive are closed, at once if there are
too many."""

import asyncio
from typing import Any, cast

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
            given_up = self._longest_waiting()
            given_up._stop_waiting()  # it is not chosen again before it is closed
            given_up.transport.abort()
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

    def _longest_waiting(self) -> "PatientProtocol":
        """Return the connection whose request is due first, this one if no other waits."""
        every = cast("set[PatientProtocol]", self.connections)
        waiting = {one._deadline.when(): one for one in every if one._deadline is not None}
        return waiting[min(waiting)] if waiting else self

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
