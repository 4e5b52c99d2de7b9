"""Signals during a run: they stop what it does, and it exits in order."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine

from app.session.prompt_preparation import PromptPreparation

TERMINATED = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
"""Exit codes after a signal, as shells return them."""


class RunSignals:
    """Handles the signals of the running loop from its creation on.

    The first one stops the preparation, or else the turn; the second exits the program at once.
    Ignored signals stay ignored.
    """

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
        """Stop the run with *turn* from now on."""
        self._turn = turn

    def _stop(self, number: signal.Signals) -> None:
        if self.code is not None:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self.code = TERMINATED[number]
        if not self.preparation.stop() and self._turn is not None:
            self._cancelling = self._loop.create_task(self._turn())
