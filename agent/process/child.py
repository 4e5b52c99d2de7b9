"""One shell as a child process: started, waited for, ended with all it started."""

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from agent.process.sandbox.launcher import (
    code_of_supervised,
    has_supervisor,
    is_launched,
    launch,
)
from agent.process.tree import LINUX, MARKER, ProcessTree, become_subreaper, reap_sandboxes
from agent.process.watchdog import forget, watch
from agent.records.ids import new_id

GRACE = 0.25
"""Seconds between the polite and the hard signal."""

PIPE_SIZE = 256 * 1024
ROUNDS = 100
"""Looks for survivors after the hard signal, 10 ms apart: what forks meanwhile is found too."""


class Child(Protocol):
    """A child process: ``subprocess.Popen``, or one from the launcher of sandboxes."""

    pid: int
    returncode: Any

    def poll(self) -> int | None: ...
    def wait(self) -> int | None: ...


_trees: dict[str, tuple[ProcessTree, Child | None]] = {}
"""The process trees of calls, with the shell where it is our child."""


class ShellProcess:
    """A running shell. ``output`` is the reading end of the pipe with everything it prints."""

    def __init__(self, argv: tuple[str, ...], directory: str, env: Mapping[str, str]) -> None:
        """Start *argv* now. Raises ``OSError`` if that fails."""
        become_subreaper()
        self._id = new_id("cal")
        self.output, writing = os.pipe()
        watch(self._id)
        try:
            os.set_blocking(self.output, False)
            _enlarge(writing)
            self._process = _start(argv, directory, {**env, MARKER: self._id}, writing)
        except BaseException:
            os.close(self.output)
            forget(self._id)
            raise
        finally:
            os.close(writing)
        watch(self._id, self._process.pid)
        self._supervised = has_supervisor(argv)
        self.tree = ProcessTree(self._id, self._process.pid, supervised=self._supervised)
        _trees[self._id] = (self.tree, self._process)
        self._exited = _exit_future(self._process)

    async def wait(self, timeout: float | None, or_until: asyncio.Event | None = None) -> bool:
        """Wait up to *timeout* seconds for the shell to end; return whether it did.

        *or_until* ends the wait early.
        """
        if or_until is None:
            done, _ = await asyncio.wait({self._exited}, timeout=timeout)
            return bool(done)
        waiting = asyncio.ensure_future(or_until.wait())
        try:
            await asyncio.wait(
                {self._exited, waiting}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            waiting.cancel()
        return self._exited.done()

    def reap(self) -> int | None:
        """The shell's return code (negative: a signal), None while it runs."""
        code = self._process.poll()
        if code is not None:
            self.tree.shell_reaped = True
            return code_of_supervised(code) if self._supervised else code
        return None

    async def end(self) -> None:
        """End the shell and everything it started: TERM, a grace, KILL."""
        await end_tree(self.tree, self._lives, lambda: self.reap() is not None)
        await asyncio.wait({self._exited}, timeout=GRACE)
        self.unregister()

    def _lives(self) -> bool:
        return bool(self.tree.scan())

    def unregister(self) -> None:
        """Nothing of the call is left: it needs no end at program exit."""
        unregister(self._id)


def _start(argv: tuple[str, ...], directory: str, env: Mapping[str, str], output: int) -> Child:
    """Start *argv* in a session of its own, with *output* for all it prints."""
    if is_launched(argv) and (launched := launch(argv, directory, env, output)) is not None:
        return launched
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=directory,
        env=env,
        start_new_session=True,
    )


def _enlarge(pipe: int) -> None:
    """Make the pipe larger where the system can: fewer turns of the loop for much output."""
    if LINUX:
        import fcntl  # exists on POSIX only

        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_SIZE)


def _exit_future(process: Child) -> asyncio.Future[None]:
    """A future that is done once *process* can be reaped. Needs no child watcher."""
    loop = asyncio.get_running_loop()
    exited: asyncio.Future[None] = loop.create_future()

    def resolve() -> None:
        if not exited.done():
            exited.set_result(None)

    if LINUX:
        try:
            pidfd = os.pidfd_open(process.pid)
        except OSError:
            pass  # An old kernel or a full table of descriptors: a thread waits instead.
        else:

            def on_exit() -> None:
                loop.remove_reader(pidfd)
                os.close(pidfd)
                resolve()

            loop.add_reader(pidfd, on_exit)
            return exited

    def wait() -> None:
        process.wait()
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(resolve)

    threading.Thread(target=wait, name="command exit", daemon=True).start()
    return exited


async def end_tree(
    tree: ProcessTree, lives: Callable[[], bool], reaped: Callable[[], bool]
) -> None:
    """End all of *tree*: TERM, a grace, KILL until nothing *lives* and the shell is *reaped*.
    *lives* looks at the process table."""
    # Seen before the signal, so that nothing is lost when its parent dies first.
    await asyncio.to_thread(tree.scan)
    alive = await asyncio.to_thread(tree.signal_all, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    pause = 0.005
    while alive and time.monotonic() < deadline:
        await asyncio.sleep(pause)
        pause = min(2 * pause, 0.05)
        alive = await asyncio.to_thread(lives)
    for _ in range(ROUNDS):
        alive = await asyncio.to_thread(tree.signal_all, signal.SIGKILL)
        if reaped() and not alive:
            break
        await asyncio.sleep(0.01)


def register(call_id: str, tree: ProcessTree) -> None:
    """End *tree* with the program, unless it is forgotten before."""
    _trees[call_id] = (tree, None)
    watch(call_id)


def unregister(call_id: str) -> None:
    _trees.pop(call_id, None)
    forget(call_id)


def reap_finished() -> None:
    """Reap what background processes of finished calls left; forget calls that ended whole."""
    reap_sandboxes()
    for call_id, (tree, process) in list(_trees.items()):
        ended = process is None or process.returncode is not None
        if ended and not tree.has_leftovers():
            unregister(call_id)


def kill_all() -> None:
    """End everything that any call left, now. For the end of the program."""
    for _ in range(ROUNDS):
        alive = False
        for tree, process in list(_trees.values()):
            running = process is not None and process.poll() is None
            alive = tree.signal_all(signal.SIGKILL) or running or alive
        if not alive:
            break
        time.sleep(0.01)
    for call_id in list(_trees):
        unregister(call_id)
