"""The preparation of a prompt: the commands that it runs can take long, and can be stopped."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from agent.records.errors import NothingToDo

Prepared = TypeVar("Prepared")

STOPPED = "Stopped. Nothing was sent."


class PromptPreparation:
    """Runs one preparation at a time. *changed* is called when one starts and ends."""

    def __init__(
        self,
        changed: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._changed = changed
        self._clock = clock
        self._task: asyncio.Task[Any] | None = None
        self.started = 0.0

    async def run(self, work: Coroutine[object, object, Prepared]) -> Prepared:
        """Return what *work* produces. Raises ``NothingToDo`` once it was stopped."""
        task = asyncio.create_task(work, name="preparing a prompt")
        self._task, self.started = task, self._clock()
        self._changed()
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])  # everything that it started has ended by now
            raise
        finally:
            self._task, self.started = None, 0.0
            self._changed()
        if task.cancelled():
            raise NothingToDo(STOPPED)
        return task.result()

    def stop(self) -> bool:
        """Stop the preparation with everything that it started; return False if there is none."""
        return self._task is not None and self._task.cancel()
