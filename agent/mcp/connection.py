"""One connection to a server, from the attempt to connect until it ends.

The task that opens a connection also closes it. Another task waits for it, so that a failure of
any kind becomes a value instead of an exception in another task.
"""

import asyncio
import contextlib
import shutil
import signal
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent.mcp.forms import Ask, ElicitationResult
from agent.mcp.records import ConnectionLost, Listing, Server, Transport
from agent.mcp.sampling import SampleRequest, SampleResult
from agent.permission.sandbox_policy.service import CommandSandbox, SandboxUnavailable
from agent.process.tree import LINUX, MARKER, ProcessTree
from agent.process.watchdog import forget, watch
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.ids import new_id
from agent.records.json import JsonObject

if TYPE_CHECKING:  # loads the SDK
    import httpx2

    from agent.mcp.client import McpClient
    from agent.mcp.login import Logins
    from agent.mcp.transports import ErrorLog

GRACE = 0.5
"""Seconds that a program gets to end by itself when its connection is closed."""

CLOSE_TIMEOUT = 5.0
"""Seconds after which a connection that does not close is abandoned."""

FIRST_PAUSE = 1.0
"""Seconds before the second attempt to connect; doubled each time."""


class LazyLogins:
    """The logins of all servers; their module is imported on first use."""

    def __init__(self, data: Path) -> None:
        self._data = data

    async def auth(self, server: Server) -> "httpx2.Auth | None":
        """Return what signs the requests to *server*, None without a login."""
        return await self._load().auth(server)

    async def log_in(self, server: Server, show: Callable[[str], Awaitable[None]]) -> None:
        """Log in at *server*; *show* gets the address to open. Raises ``ToolError``."""
        await self._load().log_in(server, show)

    def forget(self, server: Server) -> bool:
        """Forget a login and return whether there was one. Raises ``StoreUnavailable``."""
        return self._load().forget(server)

    def _load(self) -> "Logins":
        from agent.mcp.login import Logins  # loads the SDK

        return Logins(self._data)


@frozen(kw_only=True)
class ConnectionSettings:
    """Settings that all connections of an opened folder share."""

    root: Path
    """The opened folder, the only one that is reported to servers."""
    environment: Mapping[str, str]
    """The environment that server programs are started with."""
    logins: LazyLogins
    ask: Ask | None = None
    """Asks the user a question of a server; None where there is no user."""
    sandbox: CommandSandbox | None = None
    """The sandbox of programs; without it, a server whose settings name one is not started."""
    project: Path | None = None
    """The project of the opened folder; None if it is the folder."""
    first_pause: float = FIRST_PAUSE
    """Seconds before the second attempt to connect."""


class ConnectionOwner(Protocol):
    """Receives the events and requests of a connection."""

    def connected(self, client: "McpClient", listing: Listing) -> None:
        """The connection is ready for use."""
        ...

    def listed(self, client: "McpClient", listing: Listing) -> None:
        """The lists of the server changed."""
        ...

    def listing_failed(self, problem: str) -> None:
        """The changed lists could not be read; *problem* is a sentence."""
        ...

    async def elicit(self, message: str, request: JsonObject | str) -> ElicitationResult:
        """Ask the user for what the server wants to know: a form's schema, or a URL to open."""
        ...

    async def sample(self, request: SampleRequest) -> SampleResult:
        """Have a model answer a prompt of the server. Raises ``SamplingRefused``."""
        ...


class Connection:
    """A connection to *server* over *transport*, on behalf of *owner*."""

    def __init__(
        self,
        server: Server,
        transport: Transport,
        settings: ConnectionSettings,
        owner: ConnectionOwner,
    ) -> None:
        self.server = server
        self.transport: Transport = transport
        self.settings = settings
        self.owner = owner
        self.auth_problem = ""  # why the server wants a login or another one
        self.was_connected = False
        self.gone = asyncio.Event()
        self.log: ErrorLog | None = None
        self.auth: httpx2.Auth | None = None
        self.command = server.command
        """The program and its arguments, in the server's sandbox once it is started."""
        self._started = asyncio.get_running_loop().time()
        self._mark = new_id("cal")
        self._relist = asyncio.Event()

    @property
    def log_text(self) -> str:
        """The end of the program's output on its error stream."""
        return self.log.text if self.log is not None else ""

    @property
    def age(self) -> float:
        """Seconds since the attempt to connect began."""
        return asyncio.get_running_loop().time() - self._started

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of the server's program, marked so that its processes can be found."""
        return {**self.settings.environment, MARKER: self._mark}

    def lists_changed(self) -> None:
        """Read the server's lists again."""
        self._relist.set()

    def refused(self, status: int, reason: str) -> None:
        """Note that the server refused a request with HTTP *status* for want of a login."""
        # A connection without a login, or with too few rights, still serves other calls.
        if not self.was_connected or (status == 401 and self.auth is not None):
            self.auth_problem = reason
            self.gone.set()

    def close(self) -> None:
        """End the connection."""
        self.gone.set()

    async def run(self) -> BaseException | None:
        """Connect and stay connected; return the error that ended it, None without one."""
        task = asyncio.create_task(self._run(), name=f"mcp {self.server.name} connection")
        try:
            await asyncio.wait({task})
        finally:
            if not task.done():
                task.cancel()
                await self._wait_closed(task)
        return None if task.cancelled() else task.exception()

    async def _wait_closed(self, task: asyncio.Task[None]) -> None:
        """Wait until the connection is closed; kill a program that does not end."""
        done, _ = await asyncio.wait({task}, timeout=GRACE)
        if not done:
            await asyncio.to_thread(kill_program, self._mark)
            await asyncio.wait({task}, timeout=CLOSE_TIMEOUT)

    async def _run(self) -> None:
        from agent.mcp.client import connect  # the SDK, loaded in a thread by then
        from agent.mcp.transports import ErrorLog  # as above

        if self.transport == "stdio":
            self.log = ErrorLog()
            watch(self._mark)
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self.server.connect_timeout):
                    await self._enter_sandbox()
                    self.auth = await self.settings.logins.auth(self.server)
                    client = await stack.enter_async_context(connect(self))
                    listing = await client.list_all()
                await self._serve(client, listing)
        finally:
            if self.log is not None:
                self.log.close()
                forget(self._mark)

    async def _enter_sandbox(self) -> None:
        """Put the program into the sandbox of its settings. Raises ``SandboxUnavailable``, and
        ``FileNotFoundError`` without the program, which the sandbox would report as its end."""
        server = self.server
        if server.sandbox == "off" or self.transport != "stdio":
            return
        program, environment = server.command[0], {**self.environment, **server.environment}
        if "/" not in program and shutil.which(program, path=environment.get("PATH")) is None:
            raise FileNotFoundError(program)
        if self.settings.sandbox is None:
            raise SandboxUnavailable("There is no sandbox for it.")
        self.command = await self.settings.sandbox.wrap_program(
            server.command,
            server.sandbox,
            directory=str(server.folder),
            project=str(self.settings.project or self.settings.root),
        )

    async def _serve(self, client: "McpClient", listing: Listing) -> None:
        """Serve calls until the connection is gone."""
        self.was_connected = True
        self.owner.connected(client, listing)
        tasks = [
            asyncio.create_task(client.watch_changes(self.lists_changed)),
            asyncio.create_task(self._refresh_lists(client)),
        ]
        try:
            await self.gone.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _refresh_lists(self, client: "McpClient") -> None:
        """Read the lists again whenever the server says that they changed."""
        while True:
            await self._relist.wait()
            self._relist.clear()
            try:
                async with asyncio.timeout(self.server.connect_timeout):
                    listing = await client.list_all()
                self.owner.listed(client, listing)
            except TimeoutError:
                seconds = self.server.connect_timeout
                self.owner.listing_failed(f"It did not list its tools within {seconds:g} seconds.")
            except ToolError as error:
                self.owner.listing_failed(f"The list of its tools cannot be read: {error}")
            except ConnectionLost:
                self.gone.set()
                return


def kill_program(mark: str) -> None:
    """Kill the processes that have *mark* in their environment, and their descendants.

    Blocks while it reads the process table. On other systems than Linux the SDK's own way of
    ending a program has to do.
    """
    if LINUX:
        tree = ProcessTree(mark, session=-1)
        tree.shell_reaped = True  # there is no group to signal, only processes with the mark
        tree.signal_all(signal.SIGKILL)
