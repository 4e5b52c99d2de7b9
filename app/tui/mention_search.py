"""Looks for the files, sub-agents and resources of servers that a mention may mean (spec 8, U8)."""

from typing import TYPE_CHECKING

from app.screens.session.screen import SessionScreen
from app.session.live import LiveSession
from app.toolkit.tasks import Tasks

if TYPE_CHECKING:  # brings the harness
    from agent.tools.search.file_index import FileIndex


MAX_RESOURCES = 5
"""Resources of MCP servers that are offered at once."""


class MentionSearch:
    """Answers the session screen, beside what else goes on."""

    def __init__(self, screen: SessionScreen, live: LiveSession, tasks: Tasks) -> None:
        self._screen = screen
        self._live = live
        self._tasks = tasks
        self._index: FileIndex | None = None
        self._early: str | None = None

    def search(self, typed: str) -> None:
        """Show the files that fit *typed*, once they are known."""
        if self._live.is_ready:
            self._tasks.spawn(self._find(typed), "finding files")
        else:
            self._early = typed

    def start(self) -> None:
        """The harness is there now: look for what was named before."""
        if self._early is not None:
            self.search(self._early)

    async def _find(self, typed: str) -> None:
        from agent.tools.search.file_index import FileIndex  # when a file is named

        runtime = self._live.runtime
        if self._index is None:
            self._index = FileIndex(str(runtime.directory), str(runtime.project))
        agents = [
            (info.name, info.description)
            for info in runtime.agents.callable()
            if not info.hidden and info.name.lower().startswith(typed.lower())
        ]
        resources = [
            f"{server}:{uri}"
            for server, uri in runtime.mcp.readable()
            if typed and typed.lower() in f"{server}:{uri}".lower()
        ][:MAX_RESOURCES]
        async for files in self._index.matches(typed):
            self._screen.show_files(typed, [*resources, *files], agents)
