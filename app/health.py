"""Tells the status line how the MCP servers stand (spec 8, U5)."""

from asyncio import Task
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.events import Event, McpChanged

if TYPE_CHECKING:  # bring the harness
    from agent.mcp.records import Standing
    from agent.runtime import Runtime
    from app.tasks import Tasks


@dataclass(frozen=True, slots=True)
class Servers:
    """How many servers are wanted and connected; *ill* names those that need somebody."""

    wanted: int = 0
    connected: int = 0
    ill: tuple[str, ...] = ()


def servers_of(standings: "Sequence[Standing]") -> Servers:
    """The short form of *standings*; those that are switched off don't count."""
    wanted = [one for one in standings if one.state != "disabled"]
    return Servers(
        wanted=len(wanted),
        connected=sum(one.state == "connected" for one in wanted),
        ill=tuple(one.server.name for one in wanted if one.state in {"failed", "needs auth"}),
    )


class Health:
    """Starts the servers of each runtime once it is open, and follows them."""

    def __init__(self, tasks: "Tasks", show: Callable[[Servers], object]) -> None:
        self._tasks = tasks
        self._show = show
        self._following: Task[object] | None = None

    def follow(self, runtime: "Runtime") -> None:
        """Of this runtime from now on."""
        if self._following is not None:
            self._following.cancel()
            self._following = None
        self._show(servers_of(runtime.mcp.standings()))
        if runtime.mcp:
            self._following = self._tasks.spawn(self._follow(runtime), "following MCP servers")
            runtime.mcp.start()

    async def _follow(self, runtime: "Runtime") -> None:
        def ours(event: Event) -> bool:
            return isinstance(event, McpChanged)

        with runtime.bus.subscribe(ours) as events:
            async for _ in events:
                self._show(servers_of(runtime.mcp.standings()))
