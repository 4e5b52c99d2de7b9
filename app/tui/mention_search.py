"""The search for what an ``@`` mention can name: files, sub-agents and resources of MCP servers."""

from dataclasses import dataclass, field

from app.screens.main.screen import SessionScreen
from app.session_state.live import LiveSession
from app.terminal.tasks import Tasks

MAX_RESOURCES = 5
"""Resources of MCP servers that are listed at once."""


@dataclass(slots=True, eq=False)
class MentionSearch:
    """Shows matches on the session screen as they are found, without blocking it."""

    screen: SessionScreen
    live: LiveSession
    tasks: Tasks
    _queued: str | None = field(default=None, init=False)

    def search(self, typed: str) -> None:
        """Show the matches of *typed* once they are known."""
        if self.live.is_ready:
            self.tasks.spawn(self._show_matches(typed), "finding files")
        else:
            self._queued = typed

    def start(self) -> None:
        """Search for what was typed before the runtime was open."""
        if self._queued is not None:
            self.search(self._queued)

    async def _show_matches(self, typed: str) -> None:
        runtime = self.live.runtime
        agents = [
            (info.name, info.description)
            for info in runtime.agents.subagents()
            if not info.hidden and info.name.lower().startswith(typed.lower())
        ]
        resources = [
            f"{server}:{uri}"
            for server, uri in runtime.mcp.resource_uris()
            if typed and typed.lower() in f"{server}:{uri}".lower()
        ][:MAX_RESOURCES]
        async for files in runtime.files.matches(typed):
            self.screen.show_files(typed, [*resources, *files], agents)
