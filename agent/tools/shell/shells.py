"""The shells in the background.

They belong to the program and not to a turn: they outlive the step that started them and end
with ``close``. A tool can only use those of its own session tree.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from agent.bus import Bus
from agent.process import BackgroundShell, NewOutput, RunningCommand
from agent.records.background import ShellInfo
from agent.records.errors import ToolError
from agent.records.events import ShellChanged
from agent.tools.core.tool import ToolContext

MAX_RUNNING = 16
"""The maximum number of running shells."""

MAX_ENDED = 50
"""The maximum number of ended shells whose output can still be read."""


Explain = Callable[[str, int | None], tuple[str, ...]]
"""Return notes for the model on the end of a command, from the end of its output and its code."""


class ShellReporter(Protocol):
    """Tells the model of a session about its shells."""

    def report(self, info: ShellInfo, output: str, *, watched: bool = False) -> None:
        """Report the end of a shell, or *output* in it that was *watched* for."""
        ...

    async def withdraw(self, info: ShellInfo) -> None:
        """Take back what was reported of a shell and not sent yet."""
        ...


@dataclass(slots=True)
class _Shell:
    info: ShellInfo
    background: BackgroundShell
    explain: Explain
    readers: int = 0
    """The calls that read the shell at the moment: they see its end themselves."""
    known: bool = False
    """The model knows of its end, or has to be told nothing of it."""
    watch: tuple[str, ...] = ()
    """The texts that are watched for in its output."""
    watched: int = 0
    """The place in the output up to which it was searched for them."""


class Shells:
    """All background shells of the program, at most *most* of them running. Used from one loop."""

    def __init__(
        self, bus: Bus, *, max_running: int = MAX_RUNNING, clock: Callable[[], float] = time.time
    ) -> None:
        self._bus = bus
        self._most = max_running
        self._clock = clock
        self._shells: dict[str, _Shell] = {}
        self._detachable: list[tuple[ToolContext, asyncio.Event]] = []
        self.reporter: ShellReporter | None = None

    def snapshot(self) -> tuple[ShellInfo, ...]:
        """Return every shell, oldest first, including the kept ended ones."""
        return tuple(shell.info for shell in self._shells.values())

    def check_limit(self) -> None:
        """Raise ``ToolError`` if the maximum number of shells is running."""
        running = [s.info for s in self._shells.values() if s.background.running]
        if len(running) >= self._most:
            raise ToolError(
                f"{len(running)} commands are already running in the background, the maximum. End "
                f"one with bash_output and kill first: {', '.join(info.id for info in running)}."
            )

    def adopt(
        self,
        started: RunningCommand,
        ctx: ToolContext,
        *,
        command: str,
        description: str,
        directory: str,
        timeout: float | None,
        on_end: Callable[[], None] | None = None,
        explain: Explain = lambda _output, _exit_code: (),
    ) -> ShellInfo:
        """Add a shell that was *started* for *ctx*; it is ended after *timeout* seconds. *on_end*
        is called once it has ended; *explain* says why it can have failed."""
        shell_id = self._new_id()
        info = ShellInfo(
            id=shell_id,
            session_id=ctx.session_id,
            root_id=ctx.root_id,
            command=command,
            description=description,
            directory=directory,
            started=self._clock() - (time.monotonic() - started.began),
        )
        background = BackgroundShell(
            started, timeout=timeout, on_change=lambda: self._changed(shell_id, on_end)
        )
        self._shells[shell_id] = _Shell(info, background, explain)
        self._bus.publish(ShellChanged(info.session_id, info))
        return info

    def _new_id(self) -> str:
        while True:
            # Random: a resumed session can still mention the shells of an earlier run.
            shell_id = f"shell_{secrets.token_hex(2)}"
            if shell_id not in self._shells:
                return shell_id

    def _changed(self, shell_id: str, on_end: Callable[[], None] | None) -> None:
        if on_end is not None:
            on_end()
        shell = self._shells[shell_id]
        background = shell.background
        state = "killed" if background.killed else "exited"
        shell.info = replace(
            shell.info,
            state="timed out" if background.timed_out else state,
            ended=self._clock(),
            exit_code=background.exit_code,
            signal=background.signal,
        )
        self._bus.publish(ShellChanged(shell.info.session_id, shell.info))
        self._report_end(shell)
        ended = [key for key, held in self._shells.items() if held.background.finished]
        for key in ended[:-MAX_ENDED]:
            del self._shells[key]

    def _report_end(self, shell: _Shell) -> None:
        """Report the end of a shell unless the model knows of it or is about to."""
        if self.reporter is None or shell.info.state == "running" or shell.readers or shell.known:
            return
        shell.known = True
        self.reporter.report(shell.info, shell.background.tail())

    @contextmanager
    def reading(self, shell_id: str) -> Generator[None]:
        """Report nothing of a shell during the block, which reads it; its end is reported after
        that if ``read`` has not returned it."""
        shell = self._shells[shell_id]
        shell.readers += 1
        try:
            yield
        finally:
            shell.readers -= 1
            self._report_end(shell)

    def watch(self, shell_id: str, text: str) -> None:
        """Report the next output of a shell with *text* in it, in any case; ``|`` separates
        alternatives."""
        shell = self._shells[shell_id]
        shell.watch = tuple(filter(None, (part.strip().casefold() for part in text.split("|"))))
        shell.watched = shell.background.printed
        stop = shell.background.listen(lambda: self._look(shell, stop))

    def _look(self, shell: _Shell, stop: Callable[[], None]) -> None:
        """Report the new lines of a watched shell in which its text is."""
        text, shell.watched = shell.background.printed_since(shell.watched)
        lines = [
            line for line in text.splitlines() if any(one in line.casefold() for one in shell.watch)
        ]
        if lines:
            stop()
            if self.reporter is not None and not shell.readers and not shell.known:
                self.reporter.report(shell.info, "\n".join(lines), watched=True)

    def get(self, shell_id: str, root_id: str) -> tuple[ShellInfo, BackgroundShell]:
        """Return a shell of the session tree *root_id*. Raises ``ToolError``, which lists them."""
        own = {key: s for key, s in self._shells.items() if s.info.root_id == root_id}
        shell = own.get(shell_id.strip())
        if shell is None:
            known = ", ".join(
                f"{key} ({s.info.state}): {s.info.command[:60]}" for key, s in own.items()
            )
            there = f"There are: {known}" if known else "There is none in this session"
            raise ToolError(f"There is no background command {shell_id[:40]!r}. {there}.")
        return shell.info, shell.background

    async def wait_for_exit(self, shell_id: str, timeout: float) -> bool:
        """Wait up to *timeout* seconds for the end of a shell, which must exist."""
        return await self._shells[shell_id].background.wait_for_exit(timeout)

    def info(self, shell_id: str) -> ShellInfo:
        """Return the current state of a shell, which must exist."""
        return self._shells[shell_id].info

    def end_notes(self, shell_id: str) -> tuple[str, ...]:
        """Return notes on the end of a shell, which must exist; none while it runs, and if it was
        ended by a call."""
        shell = self._shells[shell_id]
        if shell.info.state in {"running", "killed"}:
            return ()
        return shell.explain(shell.background.tail(), shell.info.exit_code)

    def find(self, shell_id: str) -> ShellInfo | None:
        """Return the current state of a shell, None if it is unknown."""
        shell = self._shells.get(shell_id)
        return shell.info if shell is not None else None

    def tail(self, shell_id: str) -> str:
        """Return the end of the output of a shell for display, "" for an unknown one."""
        shell = self._shells.get(shell_id)
        return shell.background.tail() if shell is not None else ""

    def has_leftovers(self, shell_id: str) -> bool:
        """Return whether a shell has ended, but a process of it still has its output open."""
        background = self._shells[shell_id].background
        return not background.running and not background.finished

    def listen(self, shell_id: str, listener: Callable[[], None]) -> Callable[[], None]:
        """Call *listener* on new output and at the end of a shell; return a function to stop it."""
        shell = self._shells.get(shell_id)
        return shell.background.listen(listener) if shell is not None else lambda: None

    async def read(self, shell_id: str, root_id: str, wait: float) -> tuple[ShellInfo, NewOutput]:
        """Return the new output of a shell, after waiting up to *wait* seconds for any."""
        info, background = self.get(shell_id, root_id)
        shell = self._shells[info.id]
        with self.reading(info.id):
            taken = background.take_new()
            if not taken.text and not background.finished and wait > 0:
                await background.wait_for_output(wait)
                taken = background.take_new()
            shell.known = shell.known or shell.info.state != "running"
        if self.reporter is not None:
            await self.reporter.withdraw(shell.info)
        return shell.info, taken

    async def kill(self, shell_id: str, *, known: bool = False) -> bool:
        """End a shell and its remaining processes; it is not reported if the model knows that.
        Return False if it does not run."""
        shell = self._shells.get(shell_id)
        if shell is None or shell.background.finished:
            return False
        shell.known = shell.known or known
        await shell.background.kill()
        return True

    @contextmanager
    def detachable(self, ctx: ToolContext) -> Generator[asyncio.Event]:
        """Provide the event that ``detach`` sets for a call while it runs a command."""
        entry = (ctx, asyncio.Event())
        self._detachable.append(entry)
        try:
            yield entry[1]
        finally:
            self._detachable.remove(entry)

    def can_detach(self, session_id: str) -> bool:
        """Return whether ``detach`` would move a command of a session or its sub-agents."""
        return bool(self._foreground_events(session_id))

    def detach(self, session_id: str) -> int:
        """Move the running commands of a session and its sub-agents to the background. Return their
        number."""
        found = self._foreground_events(session_id)
        for event in found:
            event.set()
        return len(found)

    def _foreground_events(self, session_id: str) -> list[asyncio.Event]:
        return [
            event
            for ctx, event in self._detachable
            if session_id in (ctx.session_id, ctx.root_id) and not event.is_set()
        ]

    async def end_session(self, session_id: str) -> None:
        """End and remove the shells of a deleted session."""
        own = [
            s for s in self._shells.values() if session_id in (s.info.session_id, s.info.root_id)
        ]
        for shell in own:
            shell.known = True
        await asyncio.gather(*(shell.background.kill() for shell in own))
        for shell in own:
            self._shells.pop(shell.info.id, None)

    async def close(self) -> None:
        """End all shells, without reports."""
        self.reporter = None
        await asyncio.gather(*(shell.background.kill() for shell in self._shells.values()))
        self._shells.clear()


def has_running_shell(shells: Shells, root_id: str) -> bool:
    """Return whether a shell of a session tree is running."""
    return any(info.root_id == root_id and info.state == "running" for info in shells.snapshot())
