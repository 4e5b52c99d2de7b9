"""All servers of an opened folder, and their tools in the registry (spec 10.4)."""

import asyncio
import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.bus import Bus
from agent.mcp.approvals import ApprovedDefinitions
from agent.mcp.elicitation import Ask
from agent.mcp.records import Server, ServerResponse, ServerStatus
from agent.mcp.supervisor import FIRST_PAUSE, KeeperDeps, ServerSupervisor
from agent.mcp.toolbox import Toolbox
from agent.process.tree import become_subreaper
from agent.records.errors import ToolError
from agent.records.events import McpChanged
from agent.tools.registry import Registry

if TYPE_CHECKING:  # brings the SDK
    import httpx2

    from agent.mcp.login import Logins, ShowAddress

from agent.config.loading import LoadedConfig
from agent.config.paths import Paths
from agent.process import strict_environment
from agent.provider.catalog.from_config import secret_variables


@dataclass(frozen=True, slots=True, kw_only=True)
class McpDeps:
    """*root* is the opened folder, *data* the data folder, *environment* what programs get;
    *ask* asks the user what a server wants to know."""

    bus: Bus
    registry: Registry
    root: Path
    data: Path
    environment: Mapping[str, str]
    ask: Ask | None = None
    first_pause: float = FIRST_PAUSE


class _Logins:
    """The logins, which bring the SDK."""

    def __init__(self, data: Path) -> None:
        self._data = data

    def load(self) -> "Logins":
        from agent.mcp.login import Logins  # the SDK, loaded in a thread by then

        return Logins(self._data)

    async def auth(self, server: Server) -> "httpx2.Auth | None":
        return await self.load().auth(server)


class McpService:
    """Built with the runtime, started by a front end once its first frame is on the screen.
    *toolbox* holds their tools."""

    def __init__(self, servers: Iterable[Server], deps: McpDeps) -> None:
        self._deps = deps
        self._logins = _Logins(deps.data)
        self.toolbox = Toolbox(
            deps.registry, ApprovedDefinitions(deps.data), deps.bus, self._known, self.read
        )
        self._starting: asyncio.Task[None] | None = None
        self._keepers = {server.name: self._keeper(server) for server in servers}

    def __bool__(self) -> bool:
        """Whether any server is configured."""
        return bool(self._keepers)

    def start(self) -> None:
        """Load the SDK in a thread and connect what is enabled. Waits for nothing."""
        if self._starting is None and any(k.standing.server.enabled for k in self._every()):
            self._starting = asyncio.create_task(self._start(), name="mcp")

    async def tried(self, seconds: float) -> None:
        """Wait until every server is connected or has failed once, *seconds* at most."""
        self.start()
        if self._starting is None:
            return

        async def all_tried() -> None:
            if self._starting is not None:
                await asyncio.shield(self._starting)
            await asyncio.gather(*(k.tried() for k in self._every() if k.standing.server.enabled))

        waiting = asyncio.ensure_future(all_tried())
        await asyncio.wait({waiting}, timeout=seconds)
        waiting.cancel()

    def standings(self) -> tuple[ServerStatus, ...]:
        """How each server stands, by name."""
        return tuple(self._with_tools(k.standing) for _, k in sorted(self._keepers.items()))

    def standing(self, name: str) -> ServerStatus | None:
        """How one server stands, None where there is none of that name."""
        keeper = self._keepers.get(name)
        return self._with_tools(keeper.standing) if keeper is not None else None

    async def connect(self, name: str) -> None:
        """Connect a server, or try at once again. Does nothing for an unknown one."""
        keeper = self._keepers.get(name)
        if keeper is not None:
            await self._load()
            keeper.start()

    async def disconnect(self, name: str) -> None:
        """End a server's connection; it stays ended until it is wanted again."""
        keeper = self._keepers.get(name)
        if keeper is not None:
            await keeper.stop()

    async def log_in(self, name: str, show: "ShowAddress") -> None:
        """Log in at a server and connect it; *show* gets the address that the user has to open.
        Raises ``ToolError``."""
        server = self._known(name).standing.server
        await self._load()
        await self._logins.load().log_in(server, show)
        await self.reconnect(name)

    async def log_out(self, name: str) -> bool:
        """Forget the login at a server; whether there was one. Raises ``StoreUnavailable``."""
        keeper = self._known(name)
        await self._load()
        gone = self._logins.load().forget(keeper.standing.server)
        if gone and keeper.standing.state != "disabled":
            await self.reconnect(name)
        return gone

    async def reconnect(self, name: str) -> None:
        """End a server's connection and make a new one."""
        await self.disconnect(name)
        await self.connect(name)

    def accept(self, name: str) -> None:
        """Go by all that a server says now of itself and of its tools. Raises
        ``StoreUnavailable``."""
        self.toolbox.accept(name)

    def readable(self) -> tuple[tuple[str, str], ...]:
        """The resources of connected servers: the server's name and the address."""
        return tuple(
            (one.server.name, resource.uri)
            for one in self.standings()
            if one.state == "connected"
            for resource in one.resources
        )

    async def read(self, server: str, uri: str) -> ServerResponse:
        """The content of a resource. Raises ``ToolError``."""
        return await self._known(server).read(uri)

    async def prompt(self, server: str, name: str, arguments: dict[str, str]) -> ServerResponse:
        """A prompt, filled in. Raises ``ToolError``."""
        return await self._known(server).prompt(name, arguments)

    async def close(self) -> None:
        """End all connections, side by side."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        await asyncio.gather(*(keeper.stop() for keeper in self._every()))

    def _known(self, server: str) -> ServerSupervisor:
        keeper = self._keepers.get(server)
        if keeper is None:
            raise ToolError(f"There is no MCP server named {server}.")
        return keeper

    def _every(self) -> Iterable[ServerSupervisor]:
        return self._keepers.values()

    async def _start(self) -> None:
        await self._load()
        for keeper in self._every():
            if keeper.standing.server.enabled:
                keeper.start()

    async def _load(self) -> None:
        """Load the SDK: half a second of work, which the screen must not wait for."""
        become_subreaper()
        await asyncio.to_thread(importlib.import_module, "agent.mcp.client")
        await asyncio.to_thread(importlib.import_module, "agent.mcp.login")

    def _keeper(self, server: Server) -> ServerSupervisor:
        name = server.name

        return ServerSupervisor(
            server,
            KeeperDeps(
                root=self._deps.root,
                environment=self._deps.environment,
                told=lambda: self._deps.bus.publish(McpChanged(name)),
                offered=lambda offer: self.toolbox.take(server, offer),
                ask=self._deps.ask,
                login=self._logins,
                first_pause=self._deps.first_pause,
            ),
        )

    def _with_tools(self, standing: ServerStatus) -> ServerStatus:
        name = standing.server.name
        tools, changed = self.toolbox.names(name), self.toolbox.changed(name)
        words, new = self.toolbox.words(name)
        return replace(standing, tools=tools, changed=changed, words=words, new_words=new)


def mcp_service(
    loaded: LoadedConfig,
    directory: Path,
    paths: Paths,
    env: Mapping[str, str],
    bus: Bus,
    registry: Registry,
    ask: Ask | None = None,
) -> McpService:
    """The servers of the settings; none is started yet. *ask* asks the user what one of them
    wants to know."""
    servers = [Server.of(name, given, directory) for name, given in loaded.config.mcp.items()]
    deps = McpDeps(
        bus=bus,
        registry=registry,
        root=directory,
        data=paths.data,
        environment=strict_environment(env, secret_variables(loaded.config)),
        ask=ask,
    )
    return McpService(servers, deps)
