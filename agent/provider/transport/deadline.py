"""A deadline for the waits of a stream."""

import asyncio
from types import TracebackType


class Deadline:
    """Limits the waits within ``with deadline:``, which raises ``TimeoutError`` once the time has
    come: *at* on the clock of the event loop, None for never.

    ``asyncio.timeout`` sets and cancels a timer in each wait, a twelfth of the cost of a stream at
    full speed. Here one timer follows the deadline, however often it moves.
    """

    def __init__(self, at: float | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._at = at
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: asyncio.Task[object] | None = None
        self._cancelling = 0
        """The requests to cancel the waiting task that are not from here."""
        self._expired = False

    def move(self, at: float | None) -> None:
        """Set another time."""
        self._at = at
        if self._timer is not None and at is not None and at < self._timer.when():
            self.close()

    def close(self) -> None:
        """End the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __enter__(self) -> None:
        self._waiting = asyncio.current_task()
        assert self._waiting is not None  # only tasks wait
        self._cancelling = self._waiting.cancelling()
        self._set_timer()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task, self._waiting = self._waiting, None
        if task is not None and self._expired:
            self._expired = False
            if task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
                raise TimeoutError from error

    def _set_timer(self) -> None:
        if self._timer is None and self._at is not None:
            self._timer = self._loop.call_at(self._at, self._check)

    def _check(self) -> None:
        self._timer = None
        if self._waiting is None or self._at is None:
            return
        if self._loop.time() < self._at:
            self._set_timer()
        else:
            self._expired = True
            self._waiting.cancel()
