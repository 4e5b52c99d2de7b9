"""Keeps one server connected in the background and reconnects it after a failure."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from agent.mcp.connection import Connection, ConnectionSettings
from agent.mcp.forms import Ask, Elicitation, ElicitationResult
from agent.mcp.records import (
    ConnectionLost,
    Listing,
    Server,
    ServerResponse,
    ServerState,
    ServerStatus,
    Transport,
)
from agent.mcp.sampling import (
    MAX_REQUESTS,
    SampleRequest,
    SampleResult,
    SamplingRefused,
    complete_sample,
)
from agent.permission.sandbox_policy.service import SandboxUnavailable
from agent.records.errors import ToolError
from agent.records.json import JsonObject
from agent.tools.core.tool import ToolContext
from agent.tools.core.truncate import without_invisible

if TYPE_CHECKING:  # loads the SDK
    from agent.mcp.client import McpClient

MAX_FAILURES = 5
"""Failed connections in a row after which the server is given up until the user asks again."""

STABLE_AFTER = 60.0
"""Seconds after which a connection counts as successful."""

RECONNECT_WAIT = 10.0
"""Seconds that a call waits for a server that is being reconnected."""

MAX_REASON = 300
"""Characters of a failure's reason."""

_UNREACHABLE = frozenset({"ConnectError", "ConnectTimeout", "ConnectionRefusedError"})

ReplyT = TypeVar("ReplyT", ElicitationResult, SampleResult)
ResponseT = TypeVar("ResponseT")


class ServerObserver(Protocol):
    """Is notified of what happens to a server."""

    def status_changed(self, server: Server) -> None: ...

    def listing_changed(self, server: Server, listing: Listing | None) -> None:
        """The server offers something else now; None when it offers nothing any more."""
        ...


class ActiveCall:
    """A running tool call, on whose behalf the server can ask the user or a model.

    Such requests end with the call, since a server can continue a canceled call.
    """

    def __init__(self, server: str, context: ToolContext, ask: Ask | None) -> None:
        self._server = server
        self._context = context
        self._ask = ask
        self._requests: set[asyncio.Task[Any]] = set()
        self._samples = 0

    def end(self) -> None:
        """Cancel the requests of a call that is over."""
        for task in self._requests:
            task.cancel()

    async def elicit(self, message: str, request: JsonObject | str) -> ElicitationResult:
        """Ask the user to fill in a form, or to open a URL."""
        if self._ask is None:
            return ElicitationResult("decline", {})
        elicitation = Elicitation(self._server, self._context, self._ask)
        if isinstance(request, str):
            given = await self._until_call_ends(elicitation.open_url(message, request))
        else:
            given = await self._until_call_ends(elicitation.form(message, request))
        return given or ElicitationResult("cancel", {})

    async def sample(self, request: SampleRequest) -> SampleResult:
        """Have a model answer *request*. Raises ``SamplingRefused``."""
        self._samples += 1
        if self._samples > MAX_REQUESTS:
            raise SamplingRefused(f"One call can ask a model only {MAX_REQUESTS} times.")
        sample = complete_sample(self._server, request, self._context)
        given = await self._until_call_ends(sample)
        if given is None:
            raise SamplingRefused("The call was canceled.")
        return given

    async def _until_call_ends(self, request: Coroutine[Any, Any, ReplyT]) -> ReplyT | None:
        """Return the result of *request*, None if the call ended meanwhile."""
        task = asyncio.create_task(request)
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        return None if task.cancelled() else task.result()


class ServerSupervisor:
    """Keeps *server* connected and reports its status to *observer*."""

    def __init__(
        self, server: Server, settings: ConnectionSettings, observer: ServerObserver
    ) -> None:
        self._server = server
        self._settings = settings
        self._observer = observer
        self._task: asyncio.Task[None] | None = None
        self._client: McpClient | None = None
        self._calls: list[ActiveCall] = []
        self._connection: Connection | None = None
        self._transport: Transport = _first_transport(server)
        self._settled = asyncio.Event()
        self._tried = asyncio.Event()
        self._retry_now = asyncio.Event()
        state: ServerState = "connecting" if server.enabled else "disabled"
        self.status = ServerStatus(server=server, state=state)

    def start(self) -> None:
        """Connect, and stay connected. During a pause between attempts, try at once."""
        if self._server.problem:
            self._give_up("failed", self._server.problem, "")
        elif self._task is None or self._task.done():
            self._settled.clear()
            self._tried.clear()
            self._transport = _first_transport(self._server)
            self._set_status("connecting")
            self._task = asyncio.create_task(self._supervise(), name=f"mcp {self._server.name}")
        else:
            self._retry_now.set()

    async def stop(self) -> None:
        """End the connection and the server's program."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            self._task = None
        self._client = None
        self._observer.listing_changed(self._server, None)
        self._give_up("disabled", "", "")

    async def wait_until_tried(self) -> None:
        """Wait until the server is connected, or the first attempt has failed."""
        await self._tried.wait()

    async def call(self, tool: str, arguments: JsonObject, ctx: ToolContext) -> ServerResponse:
        """Call a tool. Raises ``ToolError``."""
        timeout = self._server.idle_timeout
        call = ActiveCall(self._server.name, ctx, self._settings.ask)
        self._calls.append(call)
        try:
            return await self._request(
                lambda client: client.call(
                    tool, arguments, timeout, lambda text: ctx.progress(without_invisible(text))
                )
            )
        finally:
            self._calls.remove(call)
            call.end()

    async def read(self, uri: str) -> ServerResponse:
        """Return the content of a resource. Raises ``ToolError``."""
        return await self._request(lambda client: client.read(uri, self._server.idle_timeout))

    async def prompt(self, name: str, arguments: dict[str, str]) -> ServerResponse:
        """Return a prompt, filled in. Raises ``ToolError``."""
        return await self._request(
            lambda client: client.prompt(name, arguments, self._server.idle_timeout)
        )

    async def elicit(self, message: str, request: JsonObject | str) -> ElicitationResult:
        """Ask the user of the newest call. A server without a running call may not ask."""
        if not self._calls:
            return ElicitationResult("decline", {})
        return await self._calls[-1].elicit(message, request)

    async def sample(self, request: SampleRequest) -> SampleResult:
        """Have a model answer for the newest call. Raises ``SamplingRefused``."""
        if not self._calls:
            raise SamplingRefused("A model can be asked only during a call.")
        return await self._calls[-1].sample(request)

    def connected(self, client: "McpClient", listing: Listing) -> None:
        self._client = client
        self.listed(client, listing)
        self._settled.set()
        self._tried.set()

    def listed(self, client: "McpClient", listing: Listing) -> None:
        self.status = replace(
            self.status,
            transport=client.transport,
            server_info=client.server_info,
            resources=listing.resources,
            prompts=listing.prompts,
        )
        self._observer.listing_changed(self._server, listing)
        self._set_status("connected", problems=listing.problems)

    def listing_failed(self, problem: str) -> None:
        self._set_status("connected", problems=(problem,))

    async def _request(self, send: "Callable[[McpClient], Awaitable[ResponseT]]") -> ResponseT:
        """Send a request, once more if the server had lost the session. Raises ``ToolError``."""
        for _ in range(2):
            client = await self._ready_client()
            try:
                return await send(client)
            except ConnectionLost as lost:
                refused = self._connection is not None and self._connection.auth_problem
                self._connection_lost(client)
                if refused:
                    raise ToolError(
                        f"The MCP server {self._server.name} requires a login for this. The user "
                        "can log in with ctrl+l in /mcp."
                    ) from None
                # Where the server had forgotten the session, nothing was done: try once more.
                if not lost.expired:
                    raise ToolError(
                        f"The connection to the MCP server {self._server.name} broke during the "
                        "call, which may have taken effect anyway. It is being reconnected."
                    ) from None
        raise ToolError(f"The MCP server {self._server.name} disconnected twice.")

    async def _ready_client(self) -> "McpClient":
        """Return the client, waiting for a connection in progress. Raises ``ToolError``."""
        if self._client is None and self.status.state in {"connecting", "failed"}:
            self.start()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(RECONNECT_WAIT, self._server.connect_timeout)):
                    await self._settled.wait()
        if self._client is None:
            name, status = self._server.name, self.status
            why = status.reason or f"it is {status.state}."
            if status.state == "needs auth":
                why = "it needs a login: the user can log in with /mcp."
            raise ToolError(f"The MCP server {name} is not connected: {why}")
        return self._client

    def _connection_lost(self, client: "McpClient") -> None:
        if self._client is client and self._connection is not None:
            self._client = None
            self._settled.clear()
            self._set_status("connecting", reason="The connection was lost.")
            self._connection.close()

    async def _supervise(self) -> None:
        """Connect again and again until the server is given up."""
        failures = 0
        while True:
            self._retry_now.clear()
            connection = Connection(self._server, self._transport, self._settings, self)
            self._connection = connection
            try:
                error = await connection.run()
            finally:
                self._client = None
            self._settled.clear()
            if self._falls_back_to_sse(connection, error):
                continue
            stable = connection.was_connected and connection.age >= STABLE_AFTER
            failures = 1 if stable else failures + 1
            late = not connection.was_connected and connection.age >= self._server.connect_timeout
            log = connection.log_text
            reason = failure_reason(error, self._server, log, late=late)
            if connection.auth_problem:
                self._observer.listing_changed(self._server, None)
                self._give_up("needs auth", connection.auth_problem, log)
                return
            if failures >= MAX_FAILURES or cannot_start(error):
                self._give_up("failed", reason, log)
                return
            self._tried.set()
            pause = self._settings.first_pause * 2 ** (failures - 1)
            self._set_status("connecting", reason=f"{reason} Trying again in {pause:g} s.", log=log)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._retry_now.wait()

    def _falls_back_to_sse(self, connection: Connection, error: BaseException | None) -> bool:
        """Return whether to try SSE next: older servers do not know streamable HTTP."""
        if connection.transport != "http" or connection.was_connected or connection.auth_problem:
            return False
        if error is None or "Connect" in type(error).__name__:
            return False
        self._transport = "sse"
        return True

    def _give_up(self, state: ServerState, reason: str, log: str) -> None:
        self._set_status(state, reason=reason, log=log)
        self._settled.set()
        self._tried.set()

    def _set_status(
        self, state: ServerState, *, reason: str = "", log: str = "", problems: tuple[str, ...] = ()
    ) -> None:
        self.status = replace(self.status, state=state, reason=reason, log=log, problems=problems)
        self._observer.status_changed(self._server)


def leaf_errors(error: BaseException) -> Iterator[BaseException]:
    """Yield *error*, or the errors in it if it is an exception group."""
    if isinstance(error, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from leaf_errors(one)
    else:
        yield error


def cannot_start(error: BaseException | None) -> bool:
    """Return whether trying again is useless: the program is missing, or must not be run."""
    kinds = FileNotFoundError | PermissionError | NotADirectoryError | SandboxUnavailable
    return error is not None and any(isinstance(one, kinds) for one in leaf_errors(error))


def failure_reason(error: BaseException | None, server: Server, log: str, *, late: bool) -> str:
    """Return a sentence on why a connection failed.

    *late* is set when the time to connect was over; *log* is the end of the error stream.
    """
    if late:
        return _with_log(
            f"The server was not ready within {server.connect_timeout:g} seconds.", log
        )
    if error is None:
        return _with_log("The server closed the connection.", log)
    found = list(leaf_errors(error))
    first = next((one for one in found if not isinstance(one, ConnectionLost)), found[0])
    if isinstance(first, FileNotFoundError | NotADirectoryError) and server.command:
        if not server.folder.is_dir():
            return f"There is no folder {server.folder} to start it in."
        program = server.command[0]
        return (
            f"There is no program {program}."
            if "/" in program
            else f"{program} was not found on PATH."
        )
    if isinstance(first, PermissionError) and server.command:
        return f"{server.command[0]} cannot be run (permission denied)."
    if isinstance(first, ConnectionLost):
        return _with_log("The server closed the connection.", log)
    message = " ".join(str(first).split()) or type(first).__name__
    if server.remote and type(first).__name__ in _UNREACHABLE:
        return f"Nothing answers at {server.url}: {message.rstrip('.')[:MAX_REASON]}."
    return _with_log(message[:MAX_REASON].rstrip(".") + ".", log)


def _with_log(sentence: str, log: str) -> str:
    """Append the last line of the program's error stream to *sentence*."""
    last = next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "")
    return f"{sentence} It said: {last[:MAX_REASON].rstrip('.')}." if last else sentence


def _first_transport(server: Server) -> Transport:
    return "http" if server.remote else "stdio"
