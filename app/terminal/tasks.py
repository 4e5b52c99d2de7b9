"""The front end's own asyncio tasks: referenced while they run, and never fatal.

Actions run as tasks of the app, not inside message handlers, so that one that waits for a dialog or
fails does not affect the others.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from textual.app import App
from textual.screen import Screen

from agent.records.errors import OpencodePyError
from app.terminal.app_of import app_of

log = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")


class Tasks:
    """Runs coroutines as tasks.

    *on_expected_error* gets the message of an ``OpencodePyError``; *on_crash* gets any other
    exception after it was logged.
    """

    def __init__(
        self, on_expected_error: Callable[[str], None], on_crash: Callable[[BaseException], None]
    ) -> None:
        self._on_expected_error = on_expected_error
        self._on_crash = on_crash
        self._tasks: set[asyncio.Task[object]] = set()

    def spawn(self, work: Coroutine[object, object, object], name: str) -> asyncio.Task[object]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def close(self) -> None:
        """Cancel all running tasks and wait for them."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _done(self, task: "asyncio.Task[object]") -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, OpencodePyError):
            self._on_expected_error(error.message)
        else:
            log.error("%s failed", task.get_name(), exc_info=error)
            self._on_crash(error)


def is_open(screen: Screen[Any]) -> bool:
    """Return whether *screen* is shown or covered by another one. Once it closes, its widgets are
    removed one by one, while it is still attached."""
    return screen.is_attached and screen in app_of(screen).screen_stack


async def show_dialog(app: App[Any], screen: Screen[ResultT]) -> ResultT | None:
    """Show a screen and return its result once it closes. Call it in a task only."""
    answer: asyncio.Future[ResultT | None] = asyncio.get_running_loop().create_future()

    def answered(result: ResultT | None) -> None:
        if not answer.done():
            answer.set_result(result)

    app.push_screen(screen, answered)
    return await answer
