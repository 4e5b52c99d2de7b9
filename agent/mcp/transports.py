"""Transports to servers: a program's pipes, streamable HTTP, or SSE for older servers."""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, TextIO, cast

import httpx2
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._stream_protocols import ReadStream, WriteStream
from mcp.shared.message import SessionMessage
from mcp_types import ContentBlock, JSONRPCResponse
from pydantic import TypeAdapter

from agent.mcp.forms import ElicitationResult
from agent.mcp.oauth import missing_scope
from agent.mcp.records import Server, Transport
from agent.mcp.sampling import SampleRequest, SampleResult
from agent.mcp.schemas import BadSchema, repaired
from agent.records.json import Json, JsonObject
from agent.tools.core.truncate import without_invisible

HTTP_TIMEOUT = 30.0
"""Seconds for an HTTP connection and for sending."""

STREAM_TIMEOUT = 3_600.0
"""Seconds that a stream of events can be silent: a server can have nothing to report."""

MAX_QUOTED = 80
"""Characters of a name that are quoted."""

MAX_SCOPE = 200
"""Characters of the names of scopes that are shown."""

MAX_LOG = 8_000
"""Bytes of a program's error stream that are kept."""

LOGIN_REQUIRED = "It requires a login."

_READ_SIZE = 65_536
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")

_BLOCKS: TypeAdapter[ContentBlock] = TypeAdapter(ContentBlock)

Streams = tuple["RepairedStream", WriteStream[SessionMessage]]


class ErrorLog:
    """A pipe for a program's error stream; the end of what was written is kept in memory."""

    def __init__(self) -> None:
        self._reading, writing = os.pipe()
        os.set_blocking(self._reading, False)
        self.file: TextIO = os.fdopen(writing, "w", encoding="utf-8")
        self._kept = b""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._reading, self._read)

    def started(self) -> None:
        """Close our copy of the pipe once the program has its own, so that its end is seen."""
        self.file.close()

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace").strip()

    def _read(self) -> None:
        try:
            read = os.read(self._reading, _READ_SIZE)
        except BlockingIOError:
            return
        self._kept = (self._kept + read)[-MAX_LOG:]
        if not read:
            self._loop.remove_reader(self._reading)

    def close(self) -> None:
        """Read what is left, and close the pipe."""
        self.file.close()
        self._read()
        self._loop.remove_reader(self._reading)
        os.close(self._reading)


class HostSettings(Protocol):
    """Settings of a folder's connections (``agent.mcp.connection.ConnectionSettings``)."""

    @property
    def root(self) -> Path: ...


class RequestHandler(Protocol):
    """Answers the requests of a server (``agent.mcp.connection.ConnectionOwner``)."""

    async def elicit(self, message: str, request: JsonObject | str) -> ElicitationResult: ...
    async def sample(self, request: SampleRequest) -> SampleResult: ...


class ConnectionHost(Protocol):
    """The connection that a client is opened for (``agent.mcp.connection.Connection``).

    A protocol, since that module loads this one, and with it the SDK, only to connect.
    """

    transport: Transport
    gone: asyncio.Event
    """Set when the connection is over."""
    log: ErrorLog | None
    auth: httpx2.Auth | None

    command: tuple[str, ...]

    @property
    def server(self) -> Server: ...
    @property
    def settings(self) -> HostSettings: ...
    @property
    def owner(self) -> RequestHandler: ...
    @property
    def environment(self) -> Mapping[str, str]: ...
    def lists_changed(self) -> None: ...
    def refused(self, status: int, reason: str) -> None: ...


@dataclass(slots=True)
class TransportState:
    """Faults that a transport has seen."""

    gone: asyncio.Event
    problems: list[str] = field(default_factory=list[str])
    """Sentences on the faults that were repaired, and on entries that are not used."""
    http_error: str = ""
    """The last HTTP error, as a sentence."""


class RepairedStream:
    """A transport's messages with harmless faults repaired; notes their end in *state*."""

    def __init__(
        self, inner: ReadStream[SessionMessage | Exception], state: TransportState
    ) -> None:
        self._inner = inner
        self._state = state

    @property
    def last_context(self) -> object:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return self._repaired(await self._inner.receive())

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return self._repaired(await anext(self._inner))
        except StopAsyncIteration:
            self._state.gone.set()
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
        self._state.gone.set()
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)

    def _repaired(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
            result = repaired_result(item.message.result, self._state.problems)
            item.message.result = cast("dict[str, Any]", result)
        return item


@contextlib.asynccontextmanager
async def open_transport(
    host: ConnectionHost, state: TransportState
) -> AsyncGenerator[Streams, None]:
    """Open the streams of a connection."""
    server = host.server
    async with contextlib.AsyncExitStack() as stack:
        if host.transport == "stdio":
            log = host.log or ErrorLog()
            transport = stdio_client(_program(host), errlog=log.file)
            read, write = await stack.enter_async_context(transport)
            log.started()
        elif host.transport == "http":
            client = await stack.enter_async_context(_HttpClient(host, state))
            transport = streamable_http_client(server.url, http_client=client)
            read, write = await stack.enter_async_context(transport)
        else:

            def create_client(
                headers: dict[str, str] | None = None,
                timeout: httpx2.Timeout | None = None,
                auth: httpx2.Auth | None = None,
            ) -> httpx2.AsyncClient:
                return _HttpClient(host, state)

            transport = sse_client(
                server.url,
                timeout=HTTP_TIMEOUT,
                sse_read_timeout=STREAM_TIMEOUT,
                httpx_client_factory=create_client,
            )
            read, write = await stack.enter_async_context(transport)
        yield RepairedStream(read, state), write


def _program(host: ConnectionHost) -> StdioServerParameters:
    server = host.server
    program, *arguments = host.command
    return StdioServerParameters(
        command=program,
        args=arguments,
        env={**host.environment, **server.environment},
        cwd=server.folder,
        encoding_error_handler="replace",
    )


class _HttpClient(httpx2.AsyncClient):
    """Notes errors in the final response of each request.

    Responses to the requests that the login itself makes meanwhile, to renew a token, are no
    errors of the server's.
    """

    def __init__(self, host: ConnectionHost, state: TransportState) -> None:
        super().__init__(
            headers=dict(host.server.headers),
            timeout=httpx2.Timeout(HTTP_TIMEOUT, read=STREAM_TIMEOUT),
            auth=host.auth,
        )
        self._connection = host  # httpx has attributes of its own such as _state
        self._transport_state = state

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        response = await super().send(request, **options)
        self._note_error(response)
        return response

    def _note_error(self, response: httpx2.Response) -> None:
        scope = missing_scope(response)
        if scope is not None:
            rights = f" ({without_invisible(scope)[:MAX_SCOPE]})" if scope else ""
            self._connection.refused(
                403, f"It requires more permissions than the login granted{rights}."
            )
            self._transport_state.http_error = (
                f"The server requires more permissions for this than the login granted{rights}. "
                "The user can log in again with ctrl+l in /mcp."
            )
        elif response.status_code == 401:
            reason, self._transport_state.http_error = _login_required(self._connection)
            self._connection.refused(401, reason)
        elif response.status_code >= 400 and response.request.method == "POST":
            self._transport_state.http_error = (
                f"The server answered with HTTP {response.status_code}."
            )


def _login_required(host: ConnectionHost) -> tuple[str, str]:
    """Return the texts for a server that wants a login: for its status, and for a call."""
    if not host.server.uses_login:
        why = "It does not accept the credentials in its settings"
        return f"{why}.", f"{why}: HTTP 401."
    why = LOGIN_REQUIRED if host.auth is None else "It no longer accepts the login."
    return why, "The server requires a login for this. The user can log in, with ctrl+l in /mcp."


def repaired_result(result: object, problems: list[str]) -> object:
    """Return the *result* of a request in a form that the SDK can read.

    Sentences on what was wrong are added to *problems*.
    """
    if not isinstance(result, dict):
        return result
    made = cast("JsonObject", result)
    tools = made.get("tools")
    if isinstance(tools, list):
        kept = [_repaired_tool(one, problems) for one in tools]
        made = {**made, "tools": [one for one in kept if one is not None]}
    for key, needed in (("resources", "uri"), ("prompts", "name")):
        entries = made.get(key)
        if isinstance(entries, list):
            made = {**made, key: _repaired_entries(entries, needed, key, problems)}
    if made.get("nextCursor") == "":
        made = {key: value for key, value in made.items() if key != "nextCursor"}
    if "structuredContent" in made or "isError" in made:
        made = {"content": [], **made}
    if isinstance(content := made.get("content"), list):
        made = {**made, "content": [_known_block(block) for block in content]}
    if isinstance(messages := made.get("messages"), list):
        made = {**made, "messages": [_known_message(one) for one in messages]}
    if "content" in made:  # the result of a call: servers before 2026 do not say it is complete
        made = {"resultType": "complete", **made}
    return made


def _known_message(message: Json) -> Json:
    if not isinstance(message, dict) or "content" not in message:
        return message
    return {**message, "content": _known_block(message["content"])}


def _known_block(block: Json) -> Json:
    """Return *block* of a result, or a text in the place of one that the SDK does not know: one of
    them would discard the others."""
    kind = block.get("type") if isinstance(block, dict) else None
    try:
        _BLOCKS.validate_python(block, by_name=False)
    except ValueError:
        what = without_invisible(str(kind))[:MAX_QUOTED] if kind else "content"
        return {"type": "text", "text": f"[a {what} block, omitted]"}
    return block


def _repaired_tool(entry: Json, problems: list[str]) -> JsonObject | None:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(name, str) or not name:
        problems.append("A tool without a name is ignored.")
        return None
    quoted = name[:MAX_QUOTED]
    try:
        schema = repaired(entry.get("inputSchema"))
    except BadSchema as error:
        problems.append(f"The tool {quoted} is ignored: its schema cannot be used, {error}.")
        return None
    execution = entry.get("execution")
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        problems.append(f"The tool {quoted} is ignored: it runs as a server-side task.")
        return None
    # The output schema is dropped: it could only make the SDK refuse a result.
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


def _repaired_entries(
    entries: Sequence[Json], needed: str, kind: str, problems: list[str]
) -> list[Json]:
    """Return the resources or prompts that have the *needed* field."""
    kept: list[Json] = []
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get(needed), str):
            problems.append(f"One of its {kind} is ignored: it has no {needed}.")
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
