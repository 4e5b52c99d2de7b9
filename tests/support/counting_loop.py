"""An event loop that counts its iterations and can do something after a chosen one (Q3)."""

import asyncio
from collections.abc import Callable, Coroutine


class CountingLoop(asyncio.SelectorEventLoop):
    """Calls *at_tick* after the iteration number *target*."""

    ticks = 0
    target = -1
    at_tick: Callable[[], object] = staticmethod(lambda: None)

    def _run_once(self) -> None:
        super()._run_once()  # type: ignore[misc]
        self.ticks += 1
        if self.ticks == self.target:
            self.at_tick()


def run(work: Coroutine[object, object, None]) -> None:
    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        runner.run(work)
