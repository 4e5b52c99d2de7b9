"""MCP servers for the tests: real programs, and a service that is connected to them."""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.bus import Bus
from agent.files import FileTracker
from agent.mcp.connection import ConnectionSettings, LazyLogins
from agent.mcp.records import Server, ServerStatus
from agent.mcp.service import McpService
from agent.mcp.toolbox import ApprovedDefinitions
from agent.records.events import Event, McpChanged
from agent.records.requests import PermissionNeed, PermissionReply
from agent.tools.core.tool import Result, ToolContext
from agent.tools.registry import AnyTool, Registry
from tests.support.harness import Harness

SERVERS = Path(__file__).with_name("servers")
SHOP = {"type": "local", "command": [sys.executable, str(SERVERS / "workshop.py")]}
"""The settings of the server that works, as a configuration file has them."""

GUARD = 30.0
"""Seconds after which a test that waits for a server counts as hanging."""

STARTING = 90.0
"""Seconds for a server that works to start: a busy machine loads one for long."""

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONUNBUFFERED": "1"}


def workshop(name: str = "shop", **more: object) -> Server:
    """The server that does everything right, over stdio."""
    command = (sys.executable, str(SERVERS / "workshop.py"))
    patient = {"connect_timeout": STARTING, **more}
    return Server(**{"name": name, "command": command, "folder": SERVERS, **patient})


def raw(fault: str, **more: object) -> Server:
    """The server that does *fault* wrong."""
    command = (sys.executable, str(SERVERS / "raw.py"), fault)
    return Server(**{"name": fault, "command": command, "folder": SERVERS, **more})


def context(
    folder: Path, *, vision: bool = False, progress: Callable[[str], None] = lambda _: None
) -> ToolContext:
    async def ask(needs: tuple[PermissionNeed, ...], heading: str) -> PermissionReply:
        raise AssertionError(f"asked {heading} {needs}")

    return ToolContext(
        session_id="ses_1",
        root_id="ses_1",
        message_id="msg_1",
        call_id="call_1",
        agent="build",
        directory=str(folder),
        project=str(folder),
        files=FileTracker(),
        progress=progress,
        ask=ask,
        vision=vision,
    )


@dataclass
class McpHarness:
    """A service with its servers."""

    service: McpService
    registry: Registry
    folder: Path
    events: list[Event]
    """The published events."""
    arrived: asyncio.Condition

    def status(self, name: str) -> ServerStatus:
        found = self.service.status(name)
        assert found is not None
        return found

    def tool(self, name: str) -> AnyTool:
        found = self.registry.find(name)
        assert found is not None, self.registry.names
        return found

    async def call(self, name: str, /, **arguments: object) -> Result:
        """Call a tool as the pipeline does after permission was given."""
        return await self.call_in(context(self.folder), name, **arguments)

    async def call_in(self, ctx: ToolContext, name: str, /, **arguments: object) -> Result:
        tool = self.tool(name)
        plan = await tool.prepare(tool.args(**arguments), ctx)
        return await tool.execute(plan, None, ctx)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until *condition* is true, checking whenever something was published."""
        async with asyncio.timeout(GUARD), self.arrived:
            await self.arrived.wait_for(condition)

    async def connected(self, *names: str) -> None:
        await self.until(lambda: all(self.status(n).state == "connected" for n in names))


@contextlib.asynccontextmanager
async def open_mcp(
    tmp_path: Path,
    *servers: Server,
    registry: Registry | None = None,
    environment: Mapping[str, str] = ENVIRONMENT,
    start: bool = True,
    **more: object,
) -> AsyncIterator[McpHarness]:
    """Start a service of *servers*, and wait until each is connected or has failed."""
    bus = Bus()
    registry = registry or Registry(())
    data = tmp_path / "data"
    settings = ConnectionSettings(
        **{
            "root": tmp_path,
            "environment": environment,
            "logins": LazyLogins(data),
            "first_pause": 0.01,
            **more,
        }
    )
    approved = ApprovedDefinitions(data)
    service = McpService(servers, settings, approved=approved, bus=bus, registry=registry)
    mcp = McpHarness(service, registry, tmp_path, [], asyncio.Condition())

    async def follow() -> None:
        with bus.subscribe() as subscription:
            async for event in subscription:
                async with mcp.arrived:
                    if not isinstance(event, McpChanged):
                        mcp.events.append(event)
                    mcp.arrived.notify_all()

    following = asyncio.create_task(follow())
    try:
        if start:
            await mcp.service.wait_until_tried(STARTING)
        yield mcp
    finally:
        await mcp.service.close()
        following.cancel()
        await asyncio.wait({following})


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@contextlib.asynccontextmanager
async def served(
    kind: str, *, port: int | None = None, env: Mapping[str, str] | None = None
) -> AsyncIterator[int]:
    """Run the workshop over HTTP (``http`` or ``sse``); yields its port once it responds."""
    port = port or free_port()
    async with listening("workshop.py", kind, str(port), env=env):
        yield port


@contextlib.asynccontextmanager
async def listening(
    program: str, *arguments: str, env: Mapping[str, str] | None = None
) -> AsyncIterator[None]:
    """Run a server of this folder that listens at a port."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(SERVERS / program),
        *arguments,
        stderr=asyncio.subprocess.PIPE,
        env={**ENVIRONMENT, **(env or {})},
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(GUARD):
            async for line in process.stderr:
                if b"Uvicorn running" in line:
                    break
        draining = asyncio.create_task(process.stderr.read())
        yield
        draining.cancel()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def connected(harness: Harness, name: str) -> None:
    """Start the servers of *harness* and wait until the one with this name is connected."""

    def there(_: object) -> bool:
        status = harness.runtime.mcp.status(name)
        return status is not None and status.state == "connected"

    harness.runtime.mcp.start()
    if not there(None):
        await harness.until(lambda event: isinstance(event, McpChanged) and there(event))
