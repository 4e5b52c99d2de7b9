"""The child process that runs the litellm worker: started when needed, ended when idle.

litellm takes seconds and some 190 MB to load, and blocks every thread of its interpreter; so it
runs in a process of its own (``agent.provider.litellm.worker``), which exchanges JSON lines.
"""

import asyncio
import contextlib
import itertools
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path

from agent.provider.transport.errors import connection_error
from agent.provider.transport.wire_json import get_object, parse_object
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.json import Json, JsonObject

IDLE_SECONDS = 300.0
LOADING_SECONDS = 180.0
CANCEL_SECONDS = 2.0
"""The time for a canceled call to end before the process is killed, if it has no other call."""

SILENT_SECONDS = 20.0
"""The time without a word from a process after which it is killed with its other calls, too."""

EXIT_SECONDS = 1.0
MAX_LINE = 1 << 28
MAX_STDERR = 4_000
"""The bytes of stderr that are kept for the message about a crash."""

WORKER_SCRIPT = Path(__file__).with_name("worker.py")


class CallFailed(Exception):
    """litellm's error for one call, as the worker reports it."""

    def __init__(self, report: JsonObject) -> None:
        super().__init__(str(report.get("words")))
        self.report = report


class LitellmProcess:
    """One worker process for all calls.

    *env* is its environment; *argv* its command, None for the real worker. It ends after *idle*
    seconds without a call, and is started again for the next one. A canceled call has *patience*
    seconds to end.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        argv: Sequence[str] | None = None,
        idle: float = IDLE_SECONDS,
        patience: float = CANCEL_SECONDS,
    ) -> None:
        self._patience = patience
        self._env = dict(env)
        # -P: the folder of the script has modules with names of the standard library.
        self._argv = tuple(argv or (sys.executable, "-P", str(WORKER_SCRIPT)))
        self._idle = idle
        self._numbers = itertools.count(1)
        self._starting = asyncio.Lock()
        self._child: _WorkerProcess | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """The id of the running process, None without one."""
        child = self._child
        return None if child is None or child.exited else child.pid

    async def ensure_loaded(self) -> None:
        """Start the process unless it runs, and wait until litellm is loaded.

        Raises ``ProviderError``.
        """
        self._cancel_idle_timer()
        async with self._starting:
            if self._child is None or self._child.exited:
                self._child = await _WorkerProcess.start(self._argv, self._env, self._patience)
            child = self._child
        try:
            async with asyncio.timeout(LOADING_SECONDS):
                await child.loaded.wait()
        except TimeoutError:
            child.kill()
        finally:
            self._start_idle_timer()
        if child.exited or not child.loaded.is_set():
            reason = child.last_error_line() or "it does not start"
            raise ProviderError(
                ProviderErrorKind.INVALID_REQUEST,
                f"litellm cannot be loaded: {reason}. Reinstall "
                "opencode-py, or choose a provider that does not need it.",
            )

    async def call(
        self, arguments: bytes, is_complete: Callable[[], bool] = lambda: False
    ) -> AsyncGenerator[JsonObject, None]:
        """Yield the chunks of one completion with *arguments*, a JSON object. Closing the generator
        cancels the call, unless *is_complete*: then its end is about to come.

        Raises ``CallFailed`` for litellm's errors, ``ProviderError`` where the process ended.
        """
        await self.ensure_loaded()
        child, number = self._child, next(self._numbers)
        assert child is not None  # ensure_loaded has created it
        self._cancel_idle_timer()
        messages = child.begin(number, arguments)
        try:
            while (message := await messages.get()) is not None:
                if "chunk" in message:
                    yield get_object(message, "chunk")
                elif "error" in message:
                    raise CallFailed(get_object(message, "error"))
                else:
                    return
            words = child.last_error_line()
            raise connection_error("litellm", f"its process ended{f' ({words})' if words else ''}")
        finally:
            child.end(number, complete=is_complete())
            self._start_idle_timer()

    async def aclose(self) -> None:
        """End the process, and the calls that still run."""
        self._cancel_idle_timer()
        child, self._child = self._child, None
        if child is not None:
            await child.close()

    def _cancel_idle_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_idle_timer(self) -> None:
        self._cancel_idle_timer()
        child = self._child
        if child is not None and not child.busy and not child.exited:
            self._timer = asyncio.get_running_loop().call_later(self._idle, child.close_input)


class _WorkerProcess:
    """A running process, and the calls that wait for its lines."""

    def __init__(self, process: asyncio.subprocess.Process, patience: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._patience = patience
        self._active_at = self._loop.time()
        """When it was last heard, or got a call."""
        self.loaded = asyncio.Event()
        self.exited = False
        self.pid = process.pid
        self._process = process
        self._calls: dict[int, asyncio.Queue[JsonObject | None]] = {}
        self._ending: dict[int, asyncio.TimerHandle] = {}
        """The calls that are to end, each with the timer for what is done if it does not."""
        self._stderr = bytearray()
        self._reader = asyncio.gather(self._read_messages(), self._read_stderr())

    @classmethod
    async def start(
        cls, argv: Sequence[str], env: Mapping[str, str], patience: float
    ) -> "_WorkerProcess":
        pipe = asyncio.subprocess.PIPE
        try:
            # A session of its own, since ctrl+c is for the program, which then cancels the call.
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd="/",
                limit=MAX_LINE, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            reason = error.strerror or str(error)
            raise connection_error(
                "litellm", f"its process cannot be started ({reason})"
            ) from error
        return cls(process, patience)

    @property
    def busy(self) -> bool:
        return bool(self._calls)

    def begin(self, number: int, arguments: bytes) -> asyncio.Queue[JsonObject | None]:
        """Send the call; return the queue of its messages, with None when no more can come."""
        messages: asyncio.Queue[JsonObject | None] = asyncio.Queue()
        self._calls[number] = messages
        self._active_at = self._loop.time()
        self._write(b'{"id": %d, "call": %b}' % (number, arguments))
        if self.exited:
            messages.put_nowait(None)
        return messages

    def end(self, number: int, *, complete: bool) -> None:
        """Cancel the call unless it has ended; a *complete* one only if it does not end itself."""
        if self._calls.pop(number, None) is None or self.exited:
            return
        if complete:
            timer = self._loop.call_later(self._patience, self._cancel, number)
            self._ending[number] = timer
        else:
            self._cancel(number)

    def _cancel(self, number: int) -> None:
        self._write(b'{"cancel": %d}' % number)
        self._ending[number] = self._loop.call_later(self._patience, self._give_up, number)

    def _give_up(self, number: int) -> None:
        """Kill the process, whose canceled call does not end, but not under its other calls: on a
        busy machine it can be slow."""
        if not self._calls or self._loop.time() - self._active_at > SILENT_SECONDS:
            self.kill()
        else:
            self._ending[number] = self._loop.call_later(self._patience, self._give_up, number)

    def close_input(self) -> None:
        """End the process gently, by closing its input."""
        self.exited = True
        if self._process.stdin is not None:
            self._process.stdin.close()

    def kill(self) -> None:
        self.exited = True
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def close(self) -> None:
        self.close_input()
        try:
            async with asyncio.timeout(EXIT_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        await asyncio.wait({self._reader})

    def last_error_line(self) -> str:
        """Return the last line on stderr, such as the end of a traceback."""
        lines = bytes(self._stderr).decode("utf-8", "replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")

    def _write(self, message: bytes) -> None:
        if self._process.stdin is not None and not self.exited:
            self._process.stdin.write(message + b"\n")

    async def _read_messages(self) -> None:
        output = self._process.stdout
        assert output is not None  # it is a pipe
        while line := await output.readline():
            message = parse_object(line.decode("utf-8", "replace"))
            if message is not None:
                self._dispatch(message)
        await self._process.wait()
        self.exited = True
        self.loaded.set()
        for timer in self._ending.values():
            timer.cancel()
        for messages in self._calls.values():
            messages.put_nowait(None)

    def _dispatch(self, message: JsonObject) -> None:
        self._active_at = self._loop.time()
        if "ready" in message:
            self.loaded.set()
            return
        number: Json = message.get("id")
        if not isinstance(number, int):
            return
        ended = "chunk" not in message
        messages = self._calls.pop(number, None) if ended else self._calls.get(number)
        if messages is not None:
            messages.put_nowait(message)
        elif ended and (timer := self._ending.pop(number, None)):
            timer.cancel()

    async def _read_stderr(self) -> None:
        errors = self._process.stderr
        assert errors is not None  # it is a pipe
        while piece := await errors.read(MAX_STDERR):
            self._stderr += piece
            del self._stderr[:-MAX_STDERR]
