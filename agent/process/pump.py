"""Reads a command's pipe: into its capture while it runs, into nothing afterwards."""

import asyncio
import os
from collections.abc import Callable

from agent.process.capture import Capture

READ = 256 * 1024
"""Bytes of one read; the loop serves others between two reads."""

INTERVAL = 0.1
"""Seconds between two live tails (at most ten a second)."""

DISCARD_PAUSE = 0.05
"""Seconds between two reads for a background process without a listener."""


class Pump:
    """Moves what arrives at *fd* into *capture* and shows the tail of it. Owns *fd*."""

    def __init__(self, fd: int, capture: Capture, on_output: Callable[[str], None] | None) -> None:
        self._fd = fd
        self._capture = capture
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._readable = asyncio.Event()
        self._stopped = False
        self._timer: asyncio.TimerHandle | None = None
        self._next_show = 0.0
        self._unseen = False
        self.ended = False

    async def run(self) -> None:
        """Read until every writer has closed its end, or until ``stop``."""
        while not self._stopped:
            try:
                data = os.read(self._fd, READ)
            except BlockingIOError:
                await self._wait()
                continue
            if not data:
                self.ended = True
                break
            self._capture.feed(data)
            self._unseen = True
            self._show()
            if self._capture.due:
                await asyncio.to_thread(self._capture.flush)
            else:
                await asyncio.sleep(0)

    async def _wait(self) -> None:
        self._readable.clear()
        self._loop.add_reader(self._fd, self._readable.set)
        try:
            await self._readable.wait()
        finally:
            self._loop.remove_reader(self._fd)

    def listen(self, on_output: Callable[[str], None]) -> None:
        """Hand on the tail to another listener from now on."""
        self._on_output = on_output

    def stop(self) -> None:
        """Make ``run`` return soon; what it has read is in the capture by then."""
        self._stopped = True
        self._readable.set()

    def _show(self) -> None:
        """Hand on the tail now, or when its time has come."""
        now = self._loop.time()
        if now >= self._next_show:
            self.show_last()
        elif self._timer is None:
            self._timer = self._loop.call_at(self._next_show, self.show_last)

    def show_last(self) -> None:
        """Hand on the tail if there is news in it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._unseen and self._on_output is not None:
            self._unseen = False
            self._next_show = self._loop.time() + INTERVAL
            self._on_output(self._capture.tail())

    def close(self) -> None:
        """Close the pipe; processes that still write to it get an error."""
        if self._timer is not None:
            self._timer.cancel()
        os.close(self._fd)

    def discard_rest(self) -> None:
        """Keep the pipe open and empty for a process in the background, without hurry."""
        if self._timer is not None:
            self._timer.cancel()
        self._loop.add_reader(self._fd, self._discard)

    def _discard(self) -> None:
        try:
            data = os.read(self._fd, READ)
        except BlockingIOError:
            return
        self._loop.remove_reader(self._fd)
        if data:
            self._loop.call_later(DISCARD_PAUSE, self.discard_rest)
        else:
            os.close(self._fd)
