"""The event streams: ``/event`` of one folder, and ``/global/event`` of all that are open."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import StreamingResponse

from app.server.event_feed import Encoded, Reader
from app.server.folders import Folders

HEARTBEAT = 10.0
"""Seconds of silence after which a stream shows that it is alive."""

FRAME = 0.05
"""Seconds between two writes of a stream: what comes in between is sent together."""

FEW = 20
"""Streams that are written that often; more share as many writes, as each costs time."""

HEADERS = {
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
    "x-content-type-options": "nosniff",
}

ALIVE = b'data: {"type":"server.heartbeat","properties":{}}\n\n'
ALIVE_EVERYWHERE = b'data: {"payload":{"type":"server.heartbeat","properties":{}}}\n\n'
CONNECTED_EVERYWHERE = b'data: {"payload":{"type":"server.connected","properties":{}}}\n\n'


@dataclass(slots=True)
class EventStreams:
    """Streams of server-sent events."""

    folders: Folders
    heartbeat: float = HEARTBEAT
    _open: int = 0

    async def folder(self, request: Request) -> StreamingResponse:
        """The events of the folder that the request names."""
        feed = (await self.folders.of(request)).feed
        reader = await feed.connect(request.headers.get("last-event-id", ""))

        # Editor plugins that read the stream with curl take every line for data: opencode sends no
        # ids. They ask for JSON too, which readers of server-sent events do not.
        plain = any("json" in accepted for accepted in request.headers.getlist("accept"))

        def line(event: Encoded) -> bytes:
            if plain:
                return b"data: %b\n\n" % event.data
            return b"id: %b\ndata: %b\n\n" % (feed.event_id(event).encode(), event.data)

        async def chunks() -> AsyncGenerator[bytes]:
            try:
                async for chunk in self._lines(reader, line, ALIVE):
                    yield chunk
            finally:
                feed.disconnect(reader)

        return _stream(chunks())

    async def everywhere(self, request: Request) -> StreamingResponse:
        """The events of all folders, each with its directory around it."""
        await self.folders.of(request)

        async def chunks() -> AsyncGenerator[bytes]:
            with self.folders.reader_of_all() as reader:
                yield CONNECTED_EVERYWHERE
                for folder in self.folders.all():
                    await folder.feed.put_recovered(reader)
                async for chunk in self._lines(reader, _with_directory, ALIVE_EVERYWHERE):
                    yield chunk

        return _stream(chunks())

    async def _lines(
        self, reader: Reader, line: Callable[[Encoded], bytes], alive: bytes
    ) -> AsyncGenerator[bytes]:
        """Yield the lines of the events as they come, and *alive* when none came for a while."""
        self._open += 1
        try:
            while not reader.closed:
                taken = await reader.take(self.heartbeat)
                if taken:
                    yield b"".join(map(line, taken))
                    await asyncio.sleep(FRAME * max(1, self._open / FEW))
                elif not reader.closed:
                    yield alive
        finally:
            self._open -= 1


def _stream(chunks: AsyncGenerator[bytes]) -> StreamingResponse:
    return StreamingResponse(chunks, media_type="text/event-stream", headers=HEADERS)


def _with_directory(event: Encoded) -> bytes:
    return b'data: {"directory":%b,"payload":%b}\n\n' % (
        json.dumps(event.directory).encode(),
        event.data,
    )
