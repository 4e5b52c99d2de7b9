"""What signals do to a run: they stop what it is at, and it ends in order (spec 11, F2)."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine

from app.session.prompt_preparation import PromptPreparation

TERMINATED = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
"""Exit codes after a signal, as shells give them."""


class RunSignals:
    """Takes the signals of the running loop from when it is made: the first stops what is made
    ready, or else the turn, the second ends the program at once. What was ignored stays so."""

    def __init__(self) -> None:
        self.preparation = PromptPreparation()
        self.code: int | None = None
        self._loop = asyncio.get_running_loop()
        self._turn: Callable[[], Coroutine[object, object, None]] | None = None
        self._cancelling: asyncio.Task[None] | None = None
        for number in TERMINATED:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._loop.add_signal_handler(number, self._stop, number)

    def set_cancel(self, turn: Callable[[], Coroutine[object, object, None]]) -> None:
        """From here on *turn* is what stops the run."""
        self._turn = turn

    def _stop(self, number: signal.Signals) -> None:
        if self.code is not None:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.code = TERMINATED[number]
        if not self.preparation.stop() and self._turn is not None:
            self._cancelling = self._loop.create_task(self._turn())
