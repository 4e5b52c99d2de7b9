"""The MCP servers of an opened folder, and their tools in the registry."""

import asyncio
import contextlib
import importlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from agent.bus import Bus
from agent.config.loading import LoadedConfig
from agent.config.paths import Paths
from agent.mcp.connection import ConnectionSettings, LazyLogins
from agent.mcp.forms import Ask
from agent.mcp.records import Listing, Server, ServerResponse, ServerStatus, missing_server
from agent.mcp.supervisor import ServerSupervisor
from agent.mcp.toolbox import ApprovedDefinitions, Toolbox
from agent.permission.sandbox_policy.service import CommandSandbox
from agent.process import strict_environment
from agent.process.tree import become_subreaper
from agent.provider.catalog.from_config import secret_variables
from agent.records.errors import ToolError
from agent.records.events import McpChanged
from agent.tools.registry import Registry

SERVER_TIMEOUT = 10.0
"""Seconds that servers get to be ready for a prompt, unless their settings name others."""


class McpService:
    """Connects the servers and gives access to what they offer.

    Built with the runtime, started by a front end once its first frame is on the screen.
    """

    def __init__(
        self,
        servers: Iterable[Server],
        settings: ConnectionSettings,
        *,
        approved: ApprovedDefinitions,
        bus: Bus,
        registry: Registry,
    ) -> None:
        self._logins = settings.logins
        self._bus = bus
        self.toolbox = Toolbox(registry, approved, bus, self._supervisor, self.read)
        self._starting: asyncio.Task[None] | None = None
        self._reported: dict[str, str] = {}
        self._supervisors = {
            server.name: ServerSupervisor(server, settings, self) for server in servers
        }

    def __bool__(self) -> bool:
        """Return whether any server is configured."""
        return bool(self._supervisors)

    def start(self) -> None:
        """Load the SDK in a thread and connect the enabled servers, without waiting."""
        if self._starting is None and self._enabled():
            self._starting = asyncio.create_task(self._start(), name="mcp")

    async def wait_until_tried(self, seconds: float = SERVER_TIMEOUT) -> None:
        """Wait until every server is connected or has failed once; *seconds* at most, or for a
        server with a time limit of its own until that."""
        self.start()
        if self._starting is None:
            return

        async def all_tried() -> None:
            if self._starting is not None:
                await asyncio.shield(self._starting)
            await asyncio.gather(*(tried(one) for one in self._enabled()))

        async def tried(one: ServerSupervisor) -> None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(
                    one.wait_until_tried(), one.status.server.patience or seconds
                )

        await all_tried()

    def missing(self) -> tuple[str, ...]:
        """Return a sentence on each enabled server that cannot be used now, once for each state."""
        found: list[str] = []
        for one in self.statuses():
            sentence = missing_server(one) if one.server.enabled else ""
            if sentence and self._reported.get(one.server.name) != one.state:
                found.append(sentence)
            self._reported[one.server.name] = one.state
        return tuple(found)

    def statuses(self) -> tuple[ServerStatus, ...]:
        """The status of every server, sorted by name."""
        return tuple(self._full_status(one) for _, one in sorted(self._supervisors.items()))

    def status(self, name: str) -> ServerStatus | None:
        """The status of one server, None if there is none of that name."""
        supervisor = self._supervisors.get(name)
        return self._full_status(supervisor) if supervisor is not None else None

    async def connect(self, name: str) -> None:
        """Connect a server, or retry at once. Does nothing for an unknown one."""
        supervisor = self._supervisors.get(name)
        if supervisor is not None:
            await self._load()
            supervisor.start()

    async def disconnect(self, name: str) -> None:
        """End a server's connection until ``connect`` is called."""
        supervisor = self._supervisors.get(name)
        if supervisor is not None:
            await supervisor.stop()

    async def log_in(self, name: str, show: Callable[[str], Awaitable[None]]) -> None:
        """Log in at a server and connect it; *show* gets the address that the user has to open.

        Raises ``ToolError``.
        """
        server = self._supervisor(name).status.server
        await self._load()
        await self._logins.log_in(server, show)
        await self.reconnect(name)

    async def log_out(self, name: str) -> bool:
        """Forget the login at a server and return whether there was one.

        Raises ``StoreUnavailable``.
        """
        supervisor = self._supervisor(name)
        await self._load()
        gone = self._logins.forget(supervisor.status.server)
        if gone and supervisor.status.state != "disabled":
            await self.reconnect(name)
        return gone

    async def reconnect(self, name: str) -> None:
        """End a server's connection and make a new one."""
        await self.disconnect(name)
        await self.connect(name)

    def accept(self, name: str) -> None:
        """Approve the current tools and instructions of a server. Raises ``StoreUnavailable``."""
        self.toolbox.accept(name)

    def resource_uris(self) -> tuple[tuple[str, str], ...]:
        """The resources of connected servers, as pairs of server name and URI."""
        return tuple(
            (one.server.name, resource.uri)
            for one in self.statuses()
            if one.state == "connected"
            for resource in one.resources
        )

    async def read(self, server: str, uri: str) -> ServerResponse:
        """Return the content of a resource. Raises ``ToolError``."""
        return await self._supervisor(server).read(uri)

    async def prompt(self, server: str, name: str, arguments: dict[str, str]) -> ServerResponse:
        """Return a prompt, filled in. Raises ``ToolError``."""
        return await self._supervisor(server).prompt(name, arguments)

    async def close(self) -> None:
        """End all connections, side by side."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        await asyncio.gather(*(one.stop() for one in self._supervisors.values()))

    def status_changed(self, server: Server) -> None:
        status = self._supervisors[server.name].status if self._supervisors else None
        if status is not None:
            # A server that connects for the first time has no reason yet.
            again = status.state == "connecting" and bool(status.reason)
            lost = server.enabled and (again or status.state in {"failed", "needs auth"})
            self.toolbox.set_missing(server.name, missing=lost)
        self._bus.publish(McpChanged(server.name))

    def listing_changed(self, server: Server, listing: Listing | None) -> None:
        self.toolbox.update(server, listing)

    def _supervisor(self, server: str) -> ServerSupervisor:
        supervisor = self._supervisors.get(server)
        if supervisor is None:
            raise ToolError(f"There is no MCP server named {server}.")
        return supervisor

    def _enabled(self) -> list[ServerSupervisor]:
        return [one for one in self._supervisors.values() if one.status.server.enabled]

    async def _start(self) -> None:
        await self._load()
        for supervisor in self._enabled():
            supervisor.start()

    async def _load(self) -> None:
        """Load the SDK in a thread: it takes half a second, in which the screen must not freeze."""
        become_subreaper()
        await asyncio.to_thread(importlib.import_module, "agent.mcp.client")
        await asyncio.to_thread(importlib.import_module, "agent.mcp.login")

    def _full_status(self, supervisor: ServerSupervisor) -> ServerStatus:
        name = supervisor.status.server.name
        instructions, new_instructions = self.toolbox.instructions(name)
        return replace(
            supervisor.status,
            tools=self.toolbox.names(name),
            changed_tools=self.toolbox.changed_tools(name),
            instructions=instructions,
            new_instructions=new_instructions,
        )


def mcp_service(
    loaded: LoadedConfig,
    directory: Path,
    paths: Paths,
    env: Mapping[str, str],
    bus: Bus,
    registry: Registry,
    ask: Ask | None = None,
    *,
    sandbox: CommandSandbox,
    project: Path,
) -> McpService:
    """Return the service for the servers of the settings; none is started yet.

    *ask* asks the user what a server wants to know.
    """
    servers = [
        Server.from_config(name, given, directory) for name, given in loaded.config.mcp.items()
    ]
    settings = ConnectionSettings(
        root=directory,
        environment=strict_environment(env, secret_variables(loaded)),
        logins=LazyLogins(paths.data),
        ask=ask,
        sandbox=sandbox,
        project=project,
    )
    approved = ApprovedDefinitions(paths.data)
    return McpService(servers, settings, approved=approved, bus=bus, registry=registry)
