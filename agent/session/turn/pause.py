"""A short pause of a turn, while it is not certain yet whether the user stops it."""

import asyncio

LONGEST = 1.0
"""Seconds after which a pause ends by itself."""


class Pause:
    """While it lasts, nothing more of a response is taken, and no call and no step begins. What
    runs goes on. Used from one event loop."""

    def __init__(self) -> None:
        self._ended: asyncio.Event | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def lasts(self) -> bool:
        return self._ended is not None

    def begin(self) -> None:
        if self._ended is None:
            self._ended = asyncio.Event()
            self._timer = asyncio.get_running_loop().call_later(LONGEST, self.end)

    def end(self) -> None:
        """Let the turn go on."""
        if self._timer is not None:
            self._timer.cancel()
        if self._ended is not None:
            self._ended.set()
        self._ended = self._timer = None

    async def over(self) -> None:
        """Wait for the end of a pause that lasts."""
        while self._ended is not None:
            await self._ended.wait()
