"""How servers are reached: a program's pipes, streamable HTTP, or SSE (spec 10, X1)."""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO, cast

import httpx2
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

from agent.mcp.elicitation import ElicitationResult
from agent.mcp.oauth import missing_scope
from agent.mcp.records import Server, Transport
from agent.mcp.sampling import SampleRequest, SampleResult
from agent.mcp.schemas import BadSchema, repaired
from agent.records.json import Json, JsonObject
from agent.tools.core.clean_text import without_invisible

KEPT = 8_000
"""Bytes that are kept."""

_READ = 65_536


class ErrorLog:
    """A pipe for the program to write to; the newest of it is kept in memory."""

    def __init__(self) -> None:
        self._reading, writing = os.pipe()
        os.set_blocking(self._reading, False)
        self.file: TextIO = os.fdopen(writing, "w", encoding="utf-8")
        self._kept = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._reading, self._read)

    def started(self) -> None:
        """The program has its copy of the pipe: ours is closed, so that its end is seen."""
        self.file.close()

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace").strip()

    def _read(self) -> None:
        try:
            read = os.read(self._reading, _READ)
        except BlockingIOError:
            return
        self._kept = (self._kept + read)[-KEPT:]
        if not read:
            self._loop.remove_reader(self._reading)

    def close(self) -> None:
        """Read what is left, and let go."""
        self.file.close()
        self._read()
        self._loop.remove_reader(self._reading)
        os.close(self._reading)


MAX_QUOTED = 80
"""Characters of a name that are quoted."""

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


def repaired_result(result: object, problems: list[str]) -> object:
    """The *result* of a request as the SDK can read it; sentences on what was wrong are added
    to *problems*."""
    if not isinstance(result, dict):
        return result
    made = cast("JsonObject", result)
    tools = made.get("tools")
    if isinstance(tools, list):
        kept = [_tool(one, problems) for one in tools]
        made = {**made, "tools": [one for one in kept if one is not None]}
    for key, needed in (("resources", "uri"), ("prompts", "name")):
        entries = made.get(key)
        if isinstance(entries, list):
            made = {**made, key: _named(entries, needed, key, problems)}
    if made.get("nextCursor") == "":
        made = {key: value for key, value in made.items() if key != "nextCursor"}
    if "structuredContent" in made or "isError" in made:
        made = {"content": [], **made}
    if "content" in made:  # the answer to a call: servers before 2026 do not say that it is whole
        made = {"resultType": "complete", **made}
    return made


def _tool(entry: Json, problems: list[str]) -> JsonObject | None:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(name, str) or not name:
        problems.append("A tool without a name is left out.")
        return None
    try:
        schema = repaired(entry.get("inputSchema"))
    except BadSchema as error:
        problems.append(
            f"The tool {name[:MAX_QUOTED]} is left out: its schema cannot be used, {error}."
        )
        return None
    execution = entry.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        problems.append(
            f"The tool {name[:MAX_QUOTED]} is left out: it runs as a task of the server's."
        )
        return None
    # Its results are read as they come: a schema for them could only make one unreadable.
    made: JsonObject = {"name": name, "inputSchema": schema}
    for key in ("title", "description"):
        if isinstance(text := entry.get(key), str):
            made[key] = text
    hints = entry.get("annotations")
    if isinstance(hints, dict):
        given: JsonObject = {k: v for k, v in hints.items() if k in _HINTS and isinstance(v, bool)}
        if isinstance(title := hints.get("title"), str):
            given["title"] = title
        made["annotations"] = given
    return made


def _named(entries: Sequence[Json], needed: str, kind: str, problems: list[str]) -> list[Json]:
    kept: list[Json] = []
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get(needed), str):
            problems.append(f"One of its {kind} is left out: it has no {needed}.")
            continue
        made: JsonObject = {
            key: value
            for key, value in entry.items()
            if key not in {"title", "description", "mimeType"} or isinstance(value, str)
        }
        if kind == "resources" and not isinstance(made.get("name"), str):
            made["name"] = entry[needed]
        kept.append(made)
    return kept


Streams = tuple["RepairedStream", WriteStream[SessionMessage]]

HTTP_TIMEOUT = 30.0
"""Seconds for a connection of HTTP and for sending."""

STREAM_TIMEOUT = 3_600.0
"""Seconds that a stream of events may be silent: it may have nothing to tell."""


MAX_SCOPE = 200
"""Characters of the names of rights that are shown."""

LOGIN_REQUIRED = "It wants to know who you are."


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What a connection is given. *root* is the folder that servers may know of; *environment*
    is that of programs, *log* takes what they print on the error stream. *changed* is called
    when a list of the server's changed, *gone* is set when the connection is over; *refused*
    is called with the status and the reason when the server wants a login, or another one.
    *elicit* asks the user what the server wants to know (a message, and a form or an address),
    *sample* has a model answer a prompt of the server's."""

    root: Path
    environment: Mapping[str, str]
    gone: asyncio.Event
    changed: Callable[[], None]
    refused: Callable[[int, str], None]
    elicit: Callable[[str, JsonObject | str], Awaitable[ElicitationResult]]
    sample: Callable[[SampleRequest], Awaitable[SampleResult]]
    log: ErrorLog | None = None
    auth: httpx2.Auth | None = None


@dataclass(slots=True)
class TransportState:
    """What was seen on the wire. *fault* is the last error of HTTP, as a sentence."""

    gone: asyncio.Event
    problems: list[str] = field(default_factory=list[str])
    fault: str = ""


class RepairedStream:
    """A transport's messages: mended where that is harmless, and their end is noticed."""

    def __init__(
        self, inner: ReadStream[SessionMessage | Exception], wired: TransportState
    ) -> None:
        self._inner = inner
        self._wired = wired

    @property
    def last_context(self) -> object:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return self._tidied(await self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return self._tidied(await anext(self._inner))
        except StopAsyncIteration:
            self._wired.gone.set()
            raise

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        self._wired.gone.set()
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)

    def _tidied(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            item.message.result = repaired_result(item.message.result, self._wired.problems)  # pyright: ignore[reportAttributeAccessIssue] - the kind stays
        return item


@contextlib.asynccontextmanager
async def open_transport(
    server: Server, wire: Transport, hooks: Hooks, wired: TransportState
) -> AsyncGenerator[Streams, None]:
    """The streams of a connection to *server*."""
    async with contextlib.AsyncExitStack() as stack:
        if wire == "stdio":
            log = hooks.log or ErrorLog()
            transport = stdio_client(_program(server, hooks), errlog=log.file)
            read, write = await stack.enter_async_context(transport)
            log.started()
        elif wire == "http":
            client = await stack.enter_async_context(_Client(server, hooks, wired))
            transport = streamable_http_client(server.url, http_client=client)
            read, write = await stack.enter_async_context(transport)
        else:

            def made(
                headers: dict[str, str] | None = None,
                timeout: httpx2.Timeout | None = None,
                auth: httpx2.Auth | None = None,
            ) -> httpx2.AsyncClient:
                _ = headers, timeout, auth
                return _Client(server, hooks, wired)

            transport = sse_client(
                server.url,
                timeout=HTTP_TIMEOUT,
                sse_read_timeout=STREAM_TIMEOUT,
                httpx_client_factory=made,
            )
            read, write = await stack.enter_async_context(transport)
        yield RepairedStream(read, wired), write


def _program(server: Server, hooks: Hooks) -> StdioServerParameters:
    program, *arguments = server.command
    return StdioServerParameters(
        command=program,
        args=arguments,
        env={**hooks.environment, **server.environment},
        cwd=server.folder,
        encoding_error_handler="replace",
    )


def _unknown(server: Server, hooks: Hooks) -> tuple[str, str]:
    """What a server that does not know who asks wants, for its standing and for a call."""
    if not server.logs_in:
        why = "It does not take what its settings say of who you are"
        return f"{why}.", f"{why}: HTTP 401."
    why = LOGIN_REQUIRED if hooks.auth is None else "It does not take the login any more."
    return why, "The server wants a login for this. The user can log in, with ctrl+l in /mcp."


class _Client(httpx2.AsyncClient):
    """Looks at each answer that a request comes to in the end: what its signing asked and was
    answered on the way, the renewal of a token, is nobody's fault."""

    def __init__(self, server: Server, hooks: Hooks, wired: TransportState) -> None:
        super().__init__(
            headers=dict(server.headers),
            timeout=httpx2.Timeout(HTTP_TIMEOUT, read=STREAM_TIMEOUT),
            auth=hooks.auth,
        )
        self._server = server
        self._hooks = hooks
        self._wired = wired

    async def send(self, request: httpx2.Request, **how: Any) -> httpx2.Response:
        answer = await super().send(request, **how)
        self._look_at(answer)
        return answer

    def _look_at(self, answer: httpx2.Response) -> None:
        lacked = missing_scope(answer)
        if lacked is not None:
            rights = f" ({without_invisible(lacked)[:MAX_SCOPE]})" if lacked else ""
            self._hooks.refused(403, f"It wants more rights than the login gave{rights}.")
            self._wired.fault = (
                f"The server wants more rights for this than the login gave{rights}. The user can "
                "log in again, with ctrl+l in /mcp."
            )
        elif answer.status_code == 401:
            why, self._wired.fault = _unknown(self._server, self._hooks)
            self._hooks.refused(401, why)
        elif answer.status_code >= 400 and answer.request.method == "POST":
            self._wired.fault = f"The server answered with HTTP {answer.status_code}."
