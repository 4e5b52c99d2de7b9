"""Run one command in a terminal of another program, with the same result as ``run``.

If the terminal reaches the relay, output arrives complete and at once, and the exit status is
exact. Otherwise the terminal's own text and status are used.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine
from typing import Any

from agent.process.capture import Capture
from agent.process.child import GRACE, end_tree, register, unregister
from agent.process.pump import Pump
from agent.process.relay import EnvironmentFilter, Relay
from agent.process.run import DRAIN_TIMEOUT, Command, FinishedCommand, shielded, signal_name
from agent.process.terminals import (
    Terminal,
    TerminalCommand,
    TerminalExit,
    TerminalLost,
    TerminalMissing,
    TerminalRefused,
    Terminals,
)
from agent.process.tree import ForeignProcessTree
from agent.records.frozen import frozen

KEPT = 1024 * 1024
"""Bytes of output that a terminal is asked to keep."""

SETTLING = 1.0
"""Seconds that a terminal gets to report an end that is known."""

CUT = (
    "The terminal of the user's editor kept only part of the output, and the rest is lost. Run it "
    "again with less output, or redirect the output to a file."
)
UNKNOWN_END = "The user's editor did not report how the command ended."


@frozen
class TerminalPlace:
    """The place where a command runs: a terminal of the user's editor."""

    terminals: Terminals
    session_id: str
    """The root session of the call."""
    on_open: Callable[[str], None]
    """Called with the terminal's id as soon as the terminal is open."""


async def run_in_terminal(
    place: TerminalPlace,
    command: Command,
    passing: EnvironmentFilter,
    capture: Capture,
    on_output: Callable[[str], None] | None = None,
) -> FinishedCommand:
    """Run *command*, a bash with the command line as its last word. Its ``env`` is only for
    shells that this program starts; here *passing* filters the variables of the terminal.

    Raises ``TerminalMissing`` if nothing was started, and ``TerminalRefused``; a cancel ends the
    command first.
    """
    began = time.monotonic()
    try:
        relay = await asyncio.to_thread(Relay, command.argv, command.directory, passing)
    except OSError as error:
        raise TerminalMissing(f"no relay can be started: {error}") from error
    terminal = await _opened(place, command, relay)
    call = _Call(terminal, relay, capture, on_output)
    try:
        place.on_open(terminal.id)
        left = None if command.timeout is None else began + command.timeout - time.monotonic()
        timed_out = not await call.ended(left)
        if timed_out:
            await shielded(call.end())
        return await call.finished(timed_out=timed_out, began=began)
    except BaseException:
        await shielded(call.abandon())
        raise
    finally:
        await shielded(call.close())


async def _opened(place: TerminalPlace, command: Command, relay: Relay) -> Terminal:
    wanted = TerminalCommand(
        argv=command.argv, directory=command.directory, env=relay.env, max_output=KEPT
    )
    try:
        async with asyncio.timeout(command.timeout):
            return await place.terminals.open(place.session_id, wanted)
    except TimeoutError as error:
        relay.revoke()
        raise TerminalRefused("It did not answer within the time limit.") from error
    except (TerminalMissing, TerminalRefused):
        relay.close()
        raise
    except BaseException:
        relay.revoke()
        raise


class _Call:
    """A command in a terminal, from its start on."""

    def __init__(
        self,
        terminal: Terminal,
        relay: Relay,
        capture: Capture,
        on_output: Callable[[str], None] | None,
    ) -> None:
        self._terminal = terminal
        self._relay = relay
        self._capture = capture
        self._on_output = on_output
        self._pump: Pump | None = None
        self._tree = ForeignProcessTree(relay.id)
        self._exiting = asyncio.create_task(terminal.exit(), name="end of a terminal's command")
        self._receiving = asyncio.create_task(
            self._receive_output(), name="output of a terminal's command"
        )
        register(relay.id, self._tree)

    async def _receive_output(self) -> None:
        self._pump = Pump(await self._relay.accept(), self._capture, self._on_output)
        await self._pump.run()

    async def ended(self, timeout: float | None) -> bool:
        """Wait up to *timeout* seconds for the end; return whether it came."""
        both = {self._exiting, self._receiving}
        done, _ = await asyncio.wait(both, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if self._exiting in done and self._receiving not in done:
            # The relay's last message is on its way, or there is no relay.
            await asyncio.wait({self._receiving}, timeout=DRAIN_TIMEOUT)
            if self._pump is not None and not self._receiving.done():
                if self._exiting.exception() is not None:
                    left = None if timeout is None else max(0.0, timeout)
                    received, _ = await asyncio.wait({self._receiving}, timeout=left)
                    return bool(received)
                await shielded(self.end())  # the terminal no longer controls what still runs
            elif self._pump is None and self._exiting.exception() is not None:
                await shielded(self.end())  # nothing watches it any more
        return bool(done)

    async def end(self) -> None:
        """End the command and all it started."""
        self._relay.hang_up()
        killing = asyncio.create_task(_bounded(self._terminal.kill()), name="kill a terminal")
        await asyncio.wait({killing, self._receiving}, timeout=2 * GRACE)
        await end_tree(self._tree, lambda: bool(self._tree.scan()), lambda: True)
        await killing
        await asyncio.wait({self._receiving}, timeout=DRAIN_TIMEOUT)

    async def finished(self, *, timed_out: bool, began: float) -> FinishedCommand:
        reported = await self._terminal_exit()
        remark = ""
        if self._pump is None:
            remark = await self._read_text()
        status = self._relay.status()
        if status is None and self._pump is not None and not timed_out:
            await shielded(self.end())  # the relay was killed, but its command was not
        if status is None:
            code, name = reported.exit_code, reported.signal
            if code is None and not name and not timed_out:
                remark = remark or UNKNOWN_END
        else:
            code, name = status.code, signal_name(status.signal) if status.signal else ""
        left = self._exiting.done() and await asyncio.to_thread(self._tree.has_leftovers)
        background = left or (status is not None and status.left)
        if not background:
            unregister(self._relay.id)
        output = await asyncio.to_thread(self._capture.finish)
        if self._pump is not None:
            self._pump.show_last()
        return FinishedCommand(
            exit_code=None if timed_out else code,
            signal=name,
            timed_out=timed_out,
            left_running=background,
            duration=time.monotonic() - began,
            output=output,
            remark=remark,
        )

    async def _terminal_exit(self) -> TerminalExit:
        """Return how the command ended, as far as the terminal reports it."""
        await asyncio.wait({self._exiting}, timeout=SETTLING)
        if self._exiting.done() and self._exiting.exception() is None:
            return self._exiting.result()
        return TerminalExit(None)

    async def _read_text(self) -> str:
        """Capture the terminal's own text; return a sentence if it is incomplete."""
        try:
            async with asyncio.timeout(SETTLING):
                shown = await self._terminal.text()
        except TimeoutError:
            return "The user's editor did not report the output of the command."
        except TerminalLost as lost:
            return f"The user's editor did not report the output of the command: {lost}"
        self._capture.feed(shown.text.encode("utf-8", "replace"))
        return CUT if shown.truncated else ""

    async def abandon(self) -> None:
        """After a cancel: end everything, show the output so far, keep nothing."""
        await self.end()
        if self._pump is None:
            await self._read_text()
            if self._on_output is not None:
                self._on_output(self._capture.tail())
        else:
            self._pump.stop()
            await asyncio.wait({self._receiving}, timeout=DRAIN_TIMEOUT)
            self._pump.show_last()
        unregister(self._relay.id)
        await asyncio.to_thread(self._capture.discard)

    async def close(self) -> None:
        """Give everything up, the terminal too."""
        for task in (self._receiving, self._exiting):
            task.cancel()
        await asyncio.gather(self._receiving, self._exiting, return_exceptions=True)
        await _bounded(self._terminal.release())
        if self._pump is not None:
            self._pump.close()
        self._relay.close()


async def _bounded(request: Coroutine[Any, Any, None]) -> None:
    """Wait for a reply of the editor, but not for long."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(SETTLING):
            await request
