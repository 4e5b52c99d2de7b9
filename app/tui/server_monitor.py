"""The monitor of MCP servers and language servers: their status line and their prompts."""

from asyncio import Task
from typing import TYPE_CHECKING

from agent.records.events import Event, LspChanged, McpChanged
from app.actions.custom_commands import mcp_prompt_actions
from app.commands.registry import actions, provide
from app.session.workspace import lsp_summary, mcp_summary

if TYPE_CHECKING:  # load the agent package
    from agent.runtime.runtime import Runtime
    from app.screens.session.screen import SessionScreen
    from app.toolkit.tasks import Tasks

OWNER = "mcp"
"""The owner of the servers' prompts among the actions."""


class ServerMonitor:
    """Starts the servers of each runtime once it is open, and shows their state in the status line
    and their prompts among the slash commands."""

    def __init__(self, tasks: "Tasks", main: "SessionScreen") -> None:
        self._tasks = tasks
        self._main = main
        self._following: Task[object] | None = None
        self._prompts: tuple[str, ...] = ()

    def follow(self, runtime: "Runtime") -> None:
        """Monitor the servers of *runtime* from now on, and no others."""
        if self._following is not None:
            self._following.cancel()
            self._following = None
        self._show(runtime)
        self._following = self._tasks.spawn(self._follow(runtime), "following servers")
        if runtime.mcp:
            runtime.mcp.start()

    def close(self) -> None:
        """Remove the servers' prompts from the actions."""
        provide(OWNER, ())

    async def _follow(self, runtime: "Runtime") -> None:
        def is_server_event(event: Event) -> bool:
            return isinstance(event, McpChanged | LspChanged)

        with runtime.bus.subscribe(is_server_event) as events:
            async for event in events:
                if isinstance(event, LspChanged):
                    languages = lsp_summary(runtime.code.servers.statuses)
                    self._main.status.show(languages=languages)
                else:
                    self._show(runtime)

    def _show(self, runtime: "Runtime") -> None:
        statuses = runtime.mcp.statuses()
        self._main.status.show(servers=mcp_summary(statuses))
        prompts = mcp_prompt_actions(statuses)
        names = tuple(one.id for one in prompts)
        if names != self._prompts:
            self._prompts = names
            provide(OWNER, prompts)
            self._main.set_actions(actions())
