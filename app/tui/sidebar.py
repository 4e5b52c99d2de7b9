"""Keeps the sidebar up to date with the open session (spec 8, U17)."""

from agent.records.background import ShellInfo
from app.screens.session.screen import SessionScreen
from app.session.live import LiveSession
from app.session.view import NO_CHANGE, Change
from app.widgets.sidebar import ChangedFiles, SidebarContent


class SidebarPresenter:
    """Gathers what the sidebar of *main* tells of *live*."""

    def __init__(self, main: SessionScreen, live: LiveSession) -> None:
        self._main = main
        self._live = live
        self._changes = ChangedFiles()

    def show(self, change: Change = NO_CHANGE) -> None:
        """Take in a *change* of the session, or what the status line tells by now."""
        view = self._live.view
        self._changes.update(view, change)
        shells = self._shells()
        background_tasks = tuple(view.background_tasks.running.values()) if view is not None else ()
        self._main.status.show(shells=len(shells), subagents=len(background_tasks))
        status = self._main.status.status
        side = SidebarContent(
            context=status.context,
            limit=status.limit,
            cost=status.cost,
            todos=view.todos if view is not None else (),
            changes=self._changes.files(),
            servers=status.servers,
            languages=status.languages,
            shells=shells,
            subagents=background_tasks,
        )
        self._main.widgets.sidebar.show(side)

    def _shells(self) -> tuple[ShellInfo, ...]:
        if not self._live.is_ready:
            return ()
        held = self._live.runtime.shells.snapshot()
        return tuple(shell for shell in held if shell.state == "running")
