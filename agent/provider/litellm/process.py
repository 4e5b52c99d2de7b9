"""The child process that holds litellm: started when first needed, ended when idle.

litellm takes seconds and some 190 MB to load, and stalls whatever thread shares its interpreter;
so it lives in a process of its own (``agent.provider.litellm.worker``), which speaks JSON lines.
"""

import asyncio
import contextlib
import itertools
import json
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path

from agent.provider.transport.errors import connection_error
from agent.provider.transport.wire_json import get_object, parse_object
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.json import Json, JsonObject

IDLE_SECONDS = 300.0
LOADING_SECONDS = 180.0
CANCEL_SECONDS = 2.0
"""How long a cancelled call may take to end before the process is killed."""

EXIT_SECONDS = 1.0
MAX_LINE = 1 << 28
MAX_STDERR = 4_000
"""Bytes of what it prints on stderr that are kept, for the sentence about a crash."""

WORKER_SCRIPT = Path(__file__).with_name("worker.py")


class CallFailed(Exception):
    """litellm's error for one call, as the adapter tells it."""

    def __init__(self, told: JsonObject) -> None:
        super().__init__(str(told.get("words")))
        self.report = told


class LitellmProcess:
    """One child for all calls. *env* is its environment; *argv* runs it, None for the real one;
    it ends after *idle* seconds without a call, and is started again for the next."""

    def __init__(
        self,
        env: Mapping[str, str],
        argv: Sequence[str] | None = None,
        idle: float = IDLE_SECONDS,
    ) -> None:
        self._env = dict(env)
        # -P: the folder of the script holds modules called as those of the standard library.
        self._argv = tuple(argv or (sys.executable, "-P", str(WORKER_SCRIPT)))
        self._idle = idle
        self._numbers = itertools.count(1)
        self._starting = asyncio.Lock()
        self._child: _Child | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """The id of the process that runs, None where none does."""
        child = self._child
        return None if child is None or child.gone else child.pid

    async def ensure_loaded(self) -> None:
        """Start it unless it runs, and wait until litellm is loaded. Raises ``ProviderError``."""
        self._stay()
        async with self._starting:
            if self._child is None or self._child.gone:
                self._child = await _Child.start(self._argv, self._env)
            child = self._child
        try:
            async with asyncio.timeout(LOADING_SECONDS):
                await child.loaded.wait()
        except TimeoutError:
            child.kill()
        finally:
            self._rest()
        if child.gone or not child.loaded.is_set():
            raise ProviderError(
                ProviderErrorKind.INVALID_REQUEST,
                f"litellm cannot be loaded: {child.last_words() or 'it does not start'}. Install "
                "opencode-py anew, or choose a provider that is asked without it.",
            )

    async def call(self, arguments: JsonObject) -> AsyncGenerator[JsonObject, None]:
        """The chunks of one completion. Closing the generator cancels the call.

        Raises ``CallFailed`` for litellm's errors, ``ProviderError`` where the process ended.
        """
        await self.ensure_loaded()
        child, number = self._child, next(self._numbers)
        assert child is not None  # ready has made it
        self._stay()
        messages = child.begin(number, arguments)
        try:
            while (message := await messages.get()) is not None:
                if "chunk" in message:
                    yield get_object(message, "chunk")
                elif "error" in message:
                    raise CallFailed(get_object(message, "error"))
                else:
                    return
            words = child.last_words()
            raise connection_error("litellm", f"its process ended{f' ({words})' if words else ''}")
        finally:
            child.end(number)
            self._rest()

    async def aclose(self) -> None:
        """End the process; calls that still run end with it."""
        self._stay()
        child, self._child = self._child, None
        if child is not None:
            await child.close()

    def _stay(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rest(self) -> None:
        self._stay()
        child = self._child
        if child is not None and not child.busy and not child.gone:
            self._timer = asyncio.get_running_loop().call_later(self._idle, child.leave)


class _Child:
    """A process that runs, and the calls that wait for its lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.loaded = asyncio.Event()
        self.gone = False
        self.pid = process.pid
        self._process = process
        self._calls: dict[int, asyncio.Queue[JsonObject | None]] = {}
        self._undoing: dict[int, asyncio.TimerHandle] = {}
        self._words = bytearray()
        self._reading = asyncio.gather(self._read(), self._listen())

    @classmethod
    async def start(cls, argv: Sequence[str], env: Mapping[str, str]) -> "_Child":
        pipe = asyncio.subprocess.PIPE
        try:
            # In a session of its own: ctrl+c is for the program, which then cancels the call.
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd="/",
                limit=MAX_LINE, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            reason = error.strerror or str(error)
            raise connection_error(
                "litellm", f"its process cannot be started ({reason})"
            ) from error
        return cls(process)

    @property
    def busy(self) -> bool:
        return bool(self._calls)

    def begin(self, number: int, arguments: JsonObject) -> asyncio.Queue[JsonObject | None]:
        """Send the call; its messages come through the queue, None once nothing can come."""
        messages: asyncio.Queue[JsonObject | None] = asyncio.Queue()
        self._calls[number] = messages
        self._write({"id": number, "call": arguments})
        if self.gone:
            messages.put_nowait(None)
        return messages

    def end(self, number: int) -> None:
        """No more is wanted of the call; it is cancelled if it has not ended."""
        if self._calls.pop(number, None) is None or self.gone:
            return
        self._write({"cancel": number})
        loop = asyncio.get_running_loop()
        self._undoing[number] = loop.call_later(CANCEL_SECONDS, self.kill)

    def leave(self) -> None:
        """End it gently: no more input."""
        self.gone = True
        if self._process.stdin is not None:
            self._process.stdin.close()

    def kill(self) -> None:
        self.gone = True
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def close(self) -> None:
        self.leave()
        try:
            async with asyncio.timeout(EXIT_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        await asyncio.wait({self._reading})

    def last_words(self) -> str:
        """The last line that it printed on stderr, such as the end of a traceback."""
        lines = bytes(self._words).decode("utf-8", "replace").split("\n")
        return next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")

    def _write(self, message: JsonObject) -> None:
        if self._process.stdin is not None and not self.gone:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self) -> None:
        output = self._process.stdout
        assert output is not None  # it was asked for
        while line := await output.readline():
            message = parse_object(line.decode("utf-8", "replace"))
            if message is not None:
                self._take(message)
        await self._process.wait()
        self.gone = True
        self.loaded.set()
        for timer in self._undoing.values():
            timer.cancel()
        for messages in self._calls.values():
            messages.put_nowait(None)

    def _take(self, message: JsonObject) -> None:
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
        elif ended and (timer := self._undoing.pop(number, None)):
            timer.cancel()

    async def _listen(self) -> None:
        errors = self._process.stderr
        assert errors is not None  # it was asked for
        while piece := await errors.read(MAX_STDERR):
            self._words += piece
            del self._words[:-MAX_STDERR]
