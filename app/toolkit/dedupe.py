"""Sentences that may come many times at once: a full disk fails every write."""

import time
from collections.abc import Callable


class Dedupe:
    """Lets a sentence through once in *seconds*, and forgets it then."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._shown: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._shown)

    def is_new(self, sentence: str) -> bool:
        """Whether *sentence* is to be told now."""
        now = self._clock()
        self._shown = {told: at for told, at in self._shown.items() if now - at < self._seconds}
        if sentence in self._shown:
            return False
        self._shown[sentence] = now
        return True
