"""The dispatcher of session events: updates the widgets, shows notices, opens dialogs."""

from collections.abc import Sequence

from agent.records.events import (
    Event,
    Notice,
    PermissionAsked,
    PluginFailed,
    QuestionAsked,
    SessionError,
    SessionIdle,
)
from app.screens.session.screen import SessionScreen
from app.session.live import LiveSession
from app.session.view import Change, SessionView
from app.tui.interrupt import TurnStopper
from app.tui.notifier import Notices, TerminalNotifier
from app.tui.presenters import SidebarPresenter, StatusPresenter
from app.tui.request_dialogs import RequestDialogs
from app.tui.subagent_navigation import SubagentNavigation


class EventDispatcher:
    """Passes the events of the open session on to the widgets that show them."""

    def __init__(
        self,
        main: SessionScreen,
        live: LiveSession,
        status: StatusPresenter,
        sidebar: SidebarPresenter,
        subagents: SubagentNavigation,
        dialogs: RequestDialogs,
        turn_stopper: TurnStopper,
        notices: Notices,
        terminal: TerminalNotifier,
    ) -> None:
        self._main = main
        self._live = live
        self._status = status
        self._sidebar = sidebar
        self._subagents = subagents
        self._dialogs = dialogs
        self._turn_stopper = turn_stopper
        self._notices = notices
        self._terminal = terminal

    def opened(self, view: SessionView | None) -> None:
        """Show another session, or none."""
        self._main.show_view(view)
        self._subagents.opened(view)
        self._status.refresh()
        self.sync_requests()

    def changed(self, change: Change, events: Sequence[Event]) -> None:
        """Show the *change* that *events* made to the open session."""
        self._main.show_change(self._live.view, change)
        if change.messages or change.other:
            self._status.refresh()
        self._sidebar.show(change)
        if change.other:
            self.sync_requests()
        for event in events:
            self._notify(event)

    def sync_requests(self) -> None:
        """Show or close the dialogs of pending requests."""
        view = self._live.view
        self._dialogs.sync((*view.permissions, *view.questions) if view is not None else ())

    def _notify(self, event: Event) -> None:
        """Notify the user of an event that is more than a change of the transcript."""
        match event:
            case Notice(message=message) | PluginFailed(message=message):
                self._notices.warn_once(message)
            case SessionError(error=error):
                self._notices.warn_once(error.message)
            case SessionIdle(outcome=outcome):
                # Background tasks will start the next turn: the session is not done yet.
                if outcome != "cancelled" and not self._turn_stopper.background_count():
                    self._terminal.notify("opencode-py is done")
            case PermissionAsked() | QuestionAsked():
                self._terminal.notify("opencode-py has a question")
            case _:
                pass
