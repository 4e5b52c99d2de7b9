"""Deduplication of notices that many failing operations raise at once, such as writes to a full
disk."""

import time
from collections.abc import Callable


class Dedupe:
    """Lets each notice through once within *seconds*."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._shown: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._shown)

    def is_new(self, notice: str) -> bool:
        """Return whether *notice* was not shown within the last seconds, and remember it."""
        now = self._clock()
        self._shown = {shown: at for shown, at in self._shown.items() if now - at < self._seconds}
        if notice in self._shown:
            return False
        self._shown[notice] = now
        return True
