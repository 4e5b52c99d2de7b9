"""One connection to a server, from the attempt to its end.

The task that opens it closes it; another watches, so that whatever goes wrong in it comes out
as a value (trial N03).
"""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from agent.mcp.elicitation import ElicitationResult
from agent.mcp.records import ConnectionLost, Listing, Server, Transport
from agent.mcp.sampling import SampleRequest, SampleResult
from agent.process.tree import LINUX, MARKER, ProcessTree
from agent.records.errors import ToolError
from agent.records.ids import new_id
from agent.records.json import JsonObject

if TYPE_CHECKING:  # brings the SDK, which is loaded in a thread before the first attempt
    import httpx2

    from agent.mcp.client import McpClient
    from agent.mcp.transports import ErrorLog, Hooks


def end_program(mark: str) -> None:
    """End what was started with *mark* in its environment, and all that came of it. Blocks for
    a look at the process table. Elsewhere than on Linux the SDK's own end has to do."""
    if LINUX:
        tree = ProcessTree(mark, session=-1)
        tree.shell_reaped = True  # there is no group to signal, only processes with the mark
        tree.signal_all(signal.SIGKILL)


GRACE = 0.5
"""Seconds that a program gets to end by itself when its connection is closed."""

ENDING = 5.0
"""Seconds after which a connection that does not close is left behind."""


class AuthSource(Protocol):
    """Where what signs requests comes from: see ``agent.mcp.login``."""

    async def auth(self, server: Server) -> "httpx2.Auth | None":
        """What signs the requests to *server*, None without a login."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptDeps:
    """*root* is the folder that servers may know of, *environment* that of programs. *up* gets
    a connection that can be used, and what the server offers; *offered* what it offers later;
    *unread* a sentence when that could not be read. *elicit* asks the user something,
    *sample* a model."""

    root: Path
    environment: Mapping[str, str]
    up: Callable[["McpClient", Listing], None]
    offered: Callable[["McpClient", Listing], None]
    unread: Callable[[str], None]
    elicit: Callable[[str, JsonObject | str], Awaitable[ElicitationResult]]
    sample: Callable[[SampleRequest], Awaitable[SampleResult]]
    login: AuthSource | None = None


class Connection:
    """A connection over *wire*. *refused*: why the server wants a login or another one, empty
    if it does not; *was_up*: it worked."""

    def __init__(self, server: Server, wire: Transport, deps: AttemptDeps) -> None:
        self.wire: Transport = wire
        self.refused = ""
        self.was_up = False
        self.began = asyncio.get_running_loop().time()
        self._server = server
        self._deps = deps
        self._mark = new_id("cal")
        self._gone = asyncio.Event()
        self._relist = asyncio.Event()
        self._log: ErrorLog | None = None

    @property
    def log(self) -> str:
        """The end of what the program printed on its error stream."""
        return self._log.text if self._log is not None else ""

    @property
    def lasted(self) -> float:
        """Seconds since it began."""
        return asyncio.get_running_loop().time() - self.began

    def end(self) -> None:
        """It is known to be of no use any more."""
        self._gone.set()

    async def held(self) -> BaseException | None:
        """Hold it to its end; what ended it, None for an end without a fault."""
        task = asyncio.create_task(self._hold(), name=f"mcp {self._server.name} connection")
        try:
            await asyncio.wait({task})
        finally:
            if not task.done():
                task.cancel()
                await self._closed(task)
        return None if task.cancelled() else task.exception()

    async def _closed(self, task: asyncio.Task[None]) -> None:
        """Wait for a connection that closes; a program that does not end is ended."""
        done, _ = await asyncio.wait({task}, timeout=GRACE)
        if not done:
            await asyncio.to_thread(end_program, self._mark)
            await asyncio.wait({task}, timeout=ENDING)

    async def _hold(self) -> None:
        from agent.mcp.client import connect  # the SDK, loaded in a thread by then
        from agent.mcp.transports import ErrorLog  # as above

        server = self._server
        if self.wire == "stdio":
            self._log = ErrorLog()
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(server.connecting):
                    hooks = await self._hooks()
                    link = await stack.enter_async_context(connect(server, self.wire, hooks))
                    offer = await link.offer()
                await self._use(link, offer)
        finally:
            if self._log is not None:
                self._log.close()

    async def _use(self, link: "McpClient", offer: Listing) -> None:
        """The connection is up, until it is gone."""
        self.was_up = True
        self._deps.up(link, offer)
        beside = [
            asyncio.create_task(link.follow(self._relist.set)),
            asyncio.create_task(self._listen(link)),
        ]
        try:
            await self._gone.wait()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.wait(beside)

    async def _listen(self, link: "McpClient") -> None:
        """Read the lists again whenever the server says that they changed."""
        while True:
            await self._relist.wait()
            self._relist.clear()
            try:
                self._deps.offered(link, await link.offer())
            except ToolError as error:
                self._deps.unread(f"Its lists cannot be read: {error}")
            except ConnectionLost:
                self._gone.set()
                return

    async def _hooks(self) -> "Hooks":
        from agent.mcp.transports import Hooks  # the SDK, as above

        login = self._deps.login
        auth = await login.auth(self._server) if login is not None else None

        def refused(status: int, why: str) -> None:
            # Who is in, without a login or with too few rights, may still do what needs no more.
            if not self.was_up or (status == 401 and auth is not None):
                self.refused = why
                self._gone.set()

        return Hooks(
            root=self._deps.root,
            environment={**self._deps.environment, MARKER: self._mark},
            gone=self._gone,
            changed=self._relist.set,
            refused=refused,
            elicit=self._deps.elicit,
            sample=self._deps.sample,
            log=self._log,
            auth=auth,
        )
