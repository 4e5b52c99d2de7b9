"""The lines of a file descriptor, read in a daemon thread for one event loop."""

import asyncio
import os
import threading

READ_SIZE = 65_536
"""Bytes that are read at once."""


class InputLines:
    """Reads the lines of *descriptor*, which can be any kind of file: a thread neither changes its
    flags, which a terminal shares with others, nor holds up the end of the program."""

    def __init__(self, descriptor: int, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        threading.Thread(target=self._read, args=(descriptor,), name=name, daemon=True).start()

    async def next(self) -> bytes | None:
        """Return the next line that is not blank, None at the end."""
        while (line := await self._lines.get()) is not None:
            if line.strip():
                return line
        return None

    def end(self) -> None:
        """Add the end after the lines that were read. Can be called in any thread."""
        self._put(None)

    def _read(self, descriptor: int) -> None:
        rest = b""
        while data := _chunk(descriptor):
            *lines, rest = (rest + data).split(b"\n") if b"\n" in data else (rest + data,)
            for line in lines:
                self._put(line)
        if rest:
            self._put(rest)
        self.end()

    def _put(self, line: bytes | None) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)


def _chunk(descriptor: int) -> bytes:
    """Return some bytes, none at the end or when the input failed, which is the same here."""
    try:
        return os.read(descriptor, READ_SIZE)
    except OSError:
        return b""
