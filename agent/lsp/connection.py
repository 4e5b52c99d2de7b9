"""A language server's process, and JSON-RPC over its pipes: messages, requests, notifications (LSP
3.17)."""

import asyncio
import contextlib
import json
import logging
import re
import signal
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from agent.process.tree import MARKER, ProcessTree, become_subreaper
from agent.process.watchdog import forget, watch
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.json import Json, JsonObject

GRACE = 0.25
"""Seconds between SIGTERM and SIGKILL, as for shell commands."""

KILL_ROUNDS = 50
"""Checks for survivors after SIGKILL, 10 ms apart."""

EXIT_WAIT = 1.0
"""Seconds between the end of a server's output and its exit."""

_ERROR = re.compile(r"\b\w*(?:Error|Exception|[Pp]anic|[Ff]atal|panicked at)\b")
_TRACE = re.compile(
    r"at |Node\.js v|note: |stack backtrace:|goroutine |\d+: |\^+$|npm (?:ERR|error)"
)
"""Lines of a stack trace, and those around it that give no reason."""

LAST_LINES = 20
"""Lines of the error stream that are kept, to report why the server ended."""

READ_LIMIT = 1024 * 1024
"""Bytes of output that are buffered before the server has to wait."""

PAGE_SIZE = 4096
"""Bytes of a memory page, the unit that Linux counts in."""


class ServerProcess:
    """A running server, made by ``start``."""

    def __init__(self, process: asyncio.subprocess.Process, mark: str) -> None:
        assert process.stdin is not None  # pipes were requested
        assert process.stdout is not None  # pipes were requested
        self.stdin = process.stdin
        self.stdout = process.stdout
        self._process = process
        self._mark = mark
        self._tree = ProcessTree(mark, process.pid)
        self._last: deque[str] = deque(maxlen=LAST_LINES)
        self._errors = asyncio.create_task(self._read_errors(), name="errors of a language server")

    @classmethod
    async def start(
        cls, command: tuple[str, ...], root: str, env: Mapping[str, str]
    ) -> "ServerProcess":
        """Start a server. Raises ``OSError`` if that fails. Leaves no process when canceled."""
        making = asyncio.create_task(cls._create(command, root, env), name="starting a program")
        try:
            return await asyncio.shield(making)
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):
                await (await making).end()
            raise

    @classmethod
    async def _create(
        cls, command: tuple[str, ...], root: str, env: Mapping[str, str]
    ) -> "ServerProcess":
        become_subreaper()
        mark = new_id("cal")
        watch(mark)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=root,
                env={**env, MARKER: mark},
                start_new_session=True,
                limit=READ_LIMIT,
            )
        except BaseException:
            forget(mark)
            raise
        watch(mark, process.pid)
        return cls(process, mark)

    @property
    def crash_reason(self) -> str:
        """The reason why the server ended: the signal; else the last line of its error stream that
        names an error, or the last one that is neither blank nor a part of a stack trace; else its
        exit code. "" while it runs and says nothing."""
        code = self.code or 0
        if code < 0:
            names = {each.value: each.name for each in signal.Signals}
            return f"it was ended by {names.get(-code, f'signal {-code}')}"
        lines = [line.strip() for line in self._last if line.strip()]
        named = [line for line in lines if _ERROR.search(line)]
        others = [line for line in lines if not _TRACE.match(line)]
        coded = [f"it ended with code {code}"] if code else []
        return (named or others or coded or [""])[-1]

    async def settle(self) -> None:
        """Wait for the exit that follows the end of the output, and for the last errors."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXIT_WAIT):
                await self._process.wait()
                await asyncio.wait({self._errors})

    @property
    def code(self) -> int | None:
        """The exit code (negative: a signal), None while it runs."""
        return self._process.returncode

    def memory(self) -> int:
        """Return the bytes of memory of the process and its descendants; 0 if unknown.

        Walks the process table, so it has to be called in a thread.
        """
        return sum(_resident(info.pid) for info in self._tree.scan())

    async def end(self) -> None:
        """End the server and all its descendants."""
        await asyncio.to_thread(self._tree.scan)
        await asyncio.to_thread(self._tree.signal_all, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await self._process.wait()
        for _ in range(KILL_ROUNDS):
            self._tree.shell_reaped = self._process.returncode is not None
            alive = await asyncio.to_thread(self._tree.signal_all, signal.SIGKILL)
            if not alive and self._process.returncode is not None:
                break
            await asyncio.sleep(0.01)
        await self._process.wait()
        forget(self._mark)
        self._errors.cancel()
        await asyncio.gather(self._errors, return_exceptions=True)
        # asyncio has no call for it: pipes that are not read to the end stay open otherwise.
        self._process._transport.close()  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue, reportUnknownMemberType] - see above

    async def _read_errors(self) -> None:
        stream = self._process.stderr
        while stream is not None:
            try:
                line = await stream.readline()
            except ValueError:  # a line without an end, which is dropped
                continue
            if not line:
                return
            self._last.append(line.decode("utf-8", "replace")[:400])


def _resident(pid: int) -> int:
    try:
        fields = Path(f"/proc/{pid}/statm").read_bytes().split()
        return int(fields[1]) * PAGE_SIZE
    except (OSError, IndexError, ValueError):
        return 0


MAX_MESSAGE = 64 * 1024 * 1024
"""Bytes of one message. A server that announces more is broken, and is not read further."""


class ProtocolError(Exception):
    """The received data is no message of the protocol. Nothing after it can be read."""


def encode(message: JsonObject) -> bytes:
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


async def read_message(reader: asyncio.StreamReader) -> JsonObject | None:
    """Return the next message, None at the end of the stream. Raises ``ProtocolError``."""
    length: int | None = None
    while True:
        try:
            line = await reader.readline()
        except ValueError as error:  # longer than the reader's limit
            raise ProtocolError("a header line without an end") from error
        if not line:
            return None
        line = line.strip()
        if not line:
            if length is not None:
                break
            continue
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            length = _length(value)
    try:
        body = await reader.readexactly(length)
        value = _parse_body(body)
    except asyncio.IncompleteReadError:
        return None
    if not isinstance(value, dict):
        raise ProtocolError("a message that is not an object")
    return value


def _length(value: bytes) -> int:
    text = value.strip()
    if not text.isdigit() or int(text) > MAX_MESSAGE:
        raise ProtocolError(f"a message of {text[:40].decode('ascii', 'replace')} bytes")
    return int(text)


def _parse_body(body: bytes) -> Json:
    try:
        return json.loads(body.decode("utf-8", "replace"))
    except ValueError as error:
        raise ProtocolError("a message that is not JSON") from error


log = logging.getLogger(__name__)

NotificationHandler = Callable[[str, JsonObject], None]

METHOD_NOT_FOUND = -32601
"""JSON-RPC: there is no such method."""


class ServerGone(Exception):
    """The server has ended, or what it sends cannot be read."""


class RequestRefused(Exception):
    """The server answered a request with an error."""


class Connection:
    """The connection to a running server."""

    def __init__(
        self,
        program: ServerProcess,
        settings: JsonObject,
        notified: NotificationHandler,
        lost: Callable[[str], None],
    ) -> None:
        """*settings* answer the server's ``workspace/configuration``; *notified* gets its
        notifications; *lost* is called once, when no message can come any more."""
        self._program = program
        self._settings = settings
        self._notified = notified
        self._lost = lost
        self._number = 0
        self._pending: dict[int, asyncio.Future[Json]] = {}
        self._reader = asyncio.create_task(self._read(), name="reading a language server")

    async def request(self, method: str, params: JsonObject, timeout: float) -> Json:
        """Return the result of a request, which is canceled after *timeout* seconds.

        Raises ``ServerGone``, ``RequestRefused`` and ``TimeoutError``.
        """
        if self._reader.done():
            raise ServerGone("it has ended")
        self._number += 1
        number = self._number
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._pending[number] = answer
        try:
            await self._send({"id": number, "method": method, "params": params})
            async with asyncio.timeout(timeout):
                return await answer
        except (TimeoutError, asyncio.CancelledError):
            with contextlib.suppress(ServerGone):
                self._write({"method": "$/cancelRequest", "params": {"id": number}})
            raise
        finally:
            self._pending.pop(number, None)

    async def notify(self, method: str, params: JsonObject) -> None:
        """Send a notification. Raises ``ServerGone``."""
        await self._send({"method": method, "params": params})

    async def close(self) -> None:
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _send(self, message: JsonObject) -> None:
        try:
            self._write(message)
            await self._program.stdin.drain()
        except (ServerGone, ConnectionError, OSError) as error:
            await self._program.settle()  # only then is it known why
            raise ServerGone("it has ended") from error

    def _write(self, message: JsonObject) -> None:
        if self._program.stdin.is_closing():
            raise ServerGone("it has ended")
        self._program.stdin.write(encode({"jsonrpc": "2.0", **message}))

    async def _read(self) -> None:
        reason = ""
        try:
            while (message := await read_message(self._program.stdout)) is not None:
                self._handle(message)
            await self._program.settle()
        except ProtocolError as error:
            reason = f"it sent {error}"
        except (ConnectionError, OSError) as error:
            reason = str(error)
        finally:
            for answer in self._pending.values():
                if not answer.done():
                    answer.set_exception(ServerGone(reason or "it has ended"))
        self._lost(reason)

    def _handle(self, message: JsonObject) -> None:
        number, method = message.get("id"), message.get("method")
        if isinstance(method, str):
            params = message.get("params")
            given = params if isinstance(params, dict) else {}
            if number is None:
                self._notified(method, given)
            else:
                self._respond(number, method, given)
            return
        answer = self._pending.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        error = message.get("error")
        if isinstance(error, dict):
            answer.set_exception(RequestRefused(str(error.get("message", "no reason given"))))
        else:
            answer.set_result(message.get("result"))

    def _respond(self, number: Json, method: str, params: JsonObject) -> None:
        """Answer a request of the server: it gets its settings and no changes of files."""
        reply: JsonObject = {"id": number}
        match method:
            case "workspace/configuration":
                items = params.get("items")
                wanted = items if isinstance(items, list) else []
                reply["result"] = [self._section(item) for item in wanted]
            case "workspace/applyEdit":
                reply["result"] = {"applied": False}
            case "client/registerCapability" | "client/unregisterCapability":
                reply["result"] = None
            case "window/workDoneProgress/create" | "window/showMessageRequest":
                reply["result"] = None
            case "workspace/workspaceFolders":
                reply["result"] = None
            case _:
                error: JsonObject = {"code": METHOD_NOT_FOUND, "message": f"no {method} here"}
                reply["error"] = error
        with contextlib.suppress(ServerGone):
            self._write(reply)

    def _section(self, item: Json) -> Json:
        name = item.get("section") if isinstance(item, dict) else None
        value: Json = self._settings
        for step in name.split(".") if isinstance(name, str) and name else ():
            value = value.get(step) if isinstance(value, Mapping) else None
        return value


# Records of language servers and of their results.

Severity = Literal["error", "warning", "information", "hint"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "information", "hint")

LspState = Literal["starting", "ready", "failed", "ended"]


@frozen(kw_only=True)
class ServerSpec:
    """A known or configured language server."""

    id: str
    command: tuple[str, ...]
    extensions: tuple[str, ...]
    """Ends of the names of its files."""
    markers: tuple[str, ...] = ()
    """Files that mark the root of a project."""
    runs_project: bool = False
    """True if it runs code of the project that it looks at, such as a compiler in ``node_modules``
    or build scripts. Such a server starts only where a setting asks for it."""
    env: dict[str, str] = field(default_factory=dict[str, str])
    initialization: JsonObject = field(default_factory=dict)

    def handles(self, path: str) -> bool:
        return path.endswith(self.extensions)


@frozen
class Diagnostic:
    """One diagnostic of a file; *line* and *column* count from 1."""

    severity: Severity
    line: int
    column: int
    message: str
    source: str = ""
    code: str = ""


@frozen
class Location:
    """A position in a file: *line* and *column* count from 1."""

    path: str
    line: int
    column: int
    name: str = ""
    """The symbol at this position, if known."""


@frozen(kw_only=True)
class LspStatus:
    """The status of one server."""

    id: str
    root: str
    state: LspState
    reason: str = ""
    """The reason why it failed or ended."""
    files: int = 0
    """The number of files that it has open."""
    errors: int = 0
    """The number of errors that it has found in them."""
