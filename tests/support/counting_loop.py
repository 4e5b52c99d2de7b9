"""An event loop that counts its iterations and can act after a chosen one."""

import asyncio
from collections.abc import Callable, Coroutine


class CountingLoop(asyncio.SelectorEventLoop):
    """An event loop that calls *at_tick* after iteration number *target*."""

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
