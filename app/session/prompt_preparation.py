"""A prompt that is being made of a command: what the command runs may take long, and can be
stopped (spec 10, K8; spec 8, U6)."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from agent.records.errors import NothingToDo

Made = TypeVar("Made")

STOPPED = "Stopped. Nothing was sent."


class PromptPreparation:
    """Holds at most one at a time. *changed* is called when one begins and when it is over."""

    def __init__(
        self,
        changed: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._changed = changed
        self._clock = clock
        self._task: asyncio.Task[Any] | None = None
        self.started = 0.0

    async def run(self, work: Coroutine[object, object, Made]) -> Made:
        """What *work* makes. Raises ``NothingToDo`` once it was stopped."""
        task = asyncio.create_task(work, name="preparing a prompt")
        self._task, self.started = task, self._clock()
        self._changed()
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])  # what it started is ended by now
            raise
        finally:
            self._task, self.started = None, 0.0
            self._changed()
        if task.cancelled():
            raise NothingToDo(STOPPED)
        return task.result()

    def stop(self) -> bool:
        """Stop what is being made, with all that it started; false if there is nothing."""
        return self._task is not None and self._task.cancel()
