"""The end of what a server's program prints on its error stream: why it does not work."""

import asyncio
import os
from typing import TextIO

KEPT = 8_000
"""Bytes that are kept."""

_READ = 65_536


class ErrorLog:
    """A pipe for the program to write to; the newest of it is kept in memory."""

    def __init__(self) -> None:
        self._reading, writing = os.pipe()
        os.set_blocking(self._reading, False)
        self.file: TextIO = os.fdopen(writing, "w", encoding="utf-8")
        self._kept = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._reading, self._read)

    def started(self) -> None:
        """The program has its copy of the pipe: ours is closed, so that its end is seen."""
        self.file.close()

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace").strip()

    def _read(self) -> None:
        try:
            read = os.read(self._reading, _READ)
        except BlockingIOError:
            return
        self._kept = (self._kept + read)[-KEPT:]
        if not read:
            self._loop.remove_reader(self._reading)

    def close(self) -> None:
        """Read what is left, and let go."""
        self.file.close()
        self._read()
        self._loop.remove_reader(self._reading)
        os.close(self._reading)
