"""A shell that outlives the call which started it.

It is read all the time into its capture, so that it never stops at a full pipe, and ends by
itself, by ``kill``, or with the program.
"""

import asyncio
import time
from collections.abc import Callable

from agent.process.capture import CapturedOutput, NewOutput
from agent.process.run import DRAIN_TIMEOUT, RunningCommand, shielded, signal_name


class BackgroundShell:
    """A shell that continues in the background after its call has returned.

    ``exit_code`` and ``signal`` are those of ``FinishedCommand``, valid once ``running`` is
    false. ``captured`` is set once ``finished`` is true.
    """

    def __init__(
        self, started: RunningCommand, *, timeout: float | None, on_change: Callable[[], None]
    ) -> None:
        """Take over *started*. *timeout* is in seconds, None for no limit; *on_change* is called
        when the shell ends."""
        self._started = started
        self._timeout = timeout
        self._on_change = on_change
        self._has_output = asyncio.Event()
        self._exited = asyncio.Event()
        self.exit_code: int | None = None
        self.signal = ""
        self.timed_out = False
        self.killed = False
        self.captured: CapturedOutput | None = None
        self._took = 0.0
        self._listeners: list[Callable[[], None]] = []
        started.pump.listen(lambda _: self._printed())
        self._watching = asyncio.create_task(self._watch(), name="background shell")

    @property
    def running(self) -> bool:
        return not self._exited.is_set()

    @property
    def finished(self) -> bool:
        """True once the shell and all processes that it left have ended: no more output comes."""
        return self.captured is not None

    @property
    def duration(self) -> float:
        """Seconds that the shell has run."""
        return time.monotonic() - self._started.began if self.running else self._took

    @property
    def lines(self) -> int:
        return self._started.capture.lines

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call *listener* when something was printed, at most ten times a second, and at the
        end. Return a function that removes the listener."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _printed(self) -> None:
        self._has_output.set()
        for listener in tuple(self._listeners):
            listener()

    def tail(self) -> str:
        """The end of its output."""
        return self._started.capture.tail()

    def take_new(self) -> NewOutput:
        """Return the output since this was called last."""
        self._has_output.clear()
        return self._started.capture.take_new()

    @property
    def printed(self) -> int:
        """The place in the output up to which it has arrived."""
        return self._started.capture.place

    def printed_since(self, place: int) -> tuple[str, int]:
        """Return the output from *place* on as far as it is kept, and the place after it."""
        return self._started.capture.since(place)

    async def wait_for_exit(self, timeout: float | None) -> bool:
        """Wait up to *timeout* seconds for the end; return whether it came."""
        if self.running:
            waiting = asyncio.ensure_future(self._exited.wait())
            try:
                await asyncio.wait({waiting}, timeout=timeout)
            finally:
                waiting.cancel()
        return not self.running

    async def wait_for_output(self, timeout: float) -> None:
        """Wait up to *timeout* seconds for output that has not been taken yet, or for the end."""
        events = (self._has_output, self._exited) if self.running else (self._has_output,)
        waiting = {asyncio.ensure_future(event.wait()) for event in events}
        try:
            await asyncio.wait(waiting, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for future in waiting:
                future.cancel()

    async def kill(self) -> None:
        """End the shell and everything it started."""
        self.killed = self.killed or self.running
        await shielded(self._end())

    async def _end(self) -> None:
        await self._started.child.end()
        await asyncio.wait({self._started.pumping}, timeout=DRAIN_TIMEOUT)
        self._started.pump.stop()
        await asyncio.wait({self._watching})

    async def _watch(self) -> None:
        child, pump, pumping = self._started.child, self._started.pump, self._started.pumping
        if not await child.wait(self._timeout):
            self.timed_out = True
            await child.end()
        code = child.reap()
        await asyncio.wait({pumping}, timeout=DRAIN_TIMEOUT)
        if code is not None:
            self.exit_code = code if code >= 0 else None
            self.signal = signal_name(-code) if code < 0 else ""
        self._took = time.monotonic() - self._started.began
        self._exited.set()
        self._on_change()
        self._printed()
        await pumping  # what the shell left running can continue printing
        pump.close()
        self.captured = await asyncio.to_thread(self._started.capture.finish)
        self._printed()
        if not await asyncio.to_thread(child.tree.has_leftovers):
            child.unregister()
