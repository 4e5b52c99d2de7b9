"""The controller of the screen: it creates the parts between Textual's app and the agent, connects
them, and passes changes of the session on to them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual.app import App

from agent.records import events
from agent.records.messages import Part
from app.action_registry.registry import find
from app.actions import actions
from app.screens.main.layout import create_widgets
from app.screens.main.screen import SessionScreen
from app.session_state.folder_facts import short_folder
from app.session_state.live import LiveSession, SessionFamily, family_of
from app.session_state.live_sessions import LiveSessions, LiveState, Request
from app.session_state.view import Change, SessionView
from app.startup.launch import LaunchOptions
from app.terminal.tasks import Tasks, show_dialog
from app.text.file_links import FilePlace
from app.theme import themes
from app.tui.action_dispatcher import ActionDispatcher
from app.tui.custom_status_line import StatusCommand
from app.tui.editor_server import RemoteControl
from app.tui.interrupt import InterruptHandler, TurnStopper
from app.tui.mention_search import MentionSearch
from app.tui.notifier import Notices, TerminalNotifier
from app.tui.prompt_sender import PromptSender
from app.tui.request_dialogs import RequestDialogs, send_reply
from app.tui.runtime_startup import (
    OpenRuntime,
    RuntimeOpener,
    ServerMonitor,
    SettingsApplier,
    StartupSequence,
)
from app.tui.status_presenter import SidebarPresenter, StatusPresenter
from app.widgets.transcript.paging import HistoryPager

if TYPE_CHECKING:  # loads the agent package
    from agent.runtime.runtime import Runtime


class Controller:
    """Everything between Textual's app and the agent.

    *open_runtime* is awaited once, after the first frame. *grace* is how long dialogs that open
    by themselves ignore keys, in seconds; *has_focus* returns whether the terminal has the focus.
    """

    def __init__(
        self,
        app: App[int],
        main: SessionScreen,
        launch: LaunchOptions,
        env: Mapping[str, str],
        open_runtime: OpenRuntime,
        *,
        log_path: str,
        grace: float,
        has_focus: Callable[[], bool],
    ) -> None:
        self._app = app
        self._env = env
        self.main = main
        self._others_asked: tuple[Request, ...] = ()
        self.interrupted: tuple[LiveState, ...] = ()
        """The sessions that worked when the program was closed."""
        self._notices = Notices(app, self.on_main_screen, log_path, grace)
        self.terminal = TerminalNotifier(app, has_focus, tmux="TMUX" in env)
        self.tasks = Tasks(self._notices.fail, self._notices.show_crash)
        self.live = LiveSession(self.tasks, self._opened, self._changed)
        self.live.while_switching = main.switching
        self.live_sessions = LiveSessions(self.tasks, self._sessions_changed, self._notify_other)
        self.paging = HistoryPager(self.live, self._changed)
        main.add_widgets(create_widgets(actions(), main.notices))
        self._servers = ServerMonitor(self.tasks, main)
        self._sidebar = SidebarPresenter(main, self.live)
        self._status = self._create_status(launch)
        self.sender = self._create_sender()
        self.mention_search = MentionSearch(main, self.live, self.tasks)
        self._stopper = TurnStopper(
            app, self.live, self.live_sessions, self.tasks, self._show_stopping
        )
        self.interrupt = self._create_interrupt(launch)
        stop, reply = self._stopper.stop_requester, partial(send_reply, self.live_sessions)
        self._dialogs = RequestDialogs(
            app, reply, stop, self.on_main_screen, grace, self._other_session
        )
        self.actions = self._create_action_dispatcher(env)
        self.remote = self._create_remote(launch)
        self._settings = self._create_settings()
        apply, follow = self._settings.apply, self.live_sessions.follow
        self._opener = RuntimeOpener(
            *(app, launch, env, open_runtime, apply, follow),
            show_folder=self._show_folder,
            grace=grace,
        )
        self._startup = StartupSequence(
            app,
            main,
            self.live,
            launch,
            self._opener,
            self.sender,
            self.mention_search,
            self._status,
            self.tasks,
        )

    def _create_interrupt(self, launch: LaunchOptions) -> InterruptHandler:
        return InterruptHandler(
            self._app,
            self.main,
            self.live,
            self._stopper,
            cleared=partial(self.sender.store, directory=str(launch.directory)),
            rewind=lambda: self.actions.run(find("session.review")),
        )

    def _create_remote(self, launch: LaunchOptions) -> RemoteControl:
        return RemoteControl(
            self.main,
            self.live,
            self.actions,
            self.tasks,
            self._notices,
            self._stopper.stop_turn,
            self._env,
            launch.port,
        )

    def _create_settings(self) -> SettingsApplier:
        return SettingsApplier(
            self._app,
            self.main,
            self.live,
            self.actions,
            self._status,
            self._servers,
            self.remote,
            self._notices,
        )

    def _create_sender(self) -> PromptSender:
        return PromptSender(
            self.main,
            self.live,
            self.tasks,
            self._status.refresh,
            offer_models=lambda: self.actions.run(find("model.connect")),
        )

    def _create_status(self, launch: LaunchOptions) -> StatusPresenter:
        main, env = self.main, self._env
        command = StatusCommand(self.tasks, lambda line: main.status.show(custom=line), env)
        return StatusPresenter(
            *(main, self.live, self.live_sessions, launch, env),
            *(self._sidebar, self.terminal, command),
        )

    def _create_action_dispatcher(self, env: Mapping[str, str]) -> ActionDispatcher:
        return ActionDispatcher(
            self._app,
            self.main,
            self.live,
            self.live_sessions,
            self.paging,
            self.tasks,
            self.sender,
            self._status,
            reopen=lambda: self._opener.reopen(self.live),
            env=env,
            on_main_screen=self.on_main_screen,
            take_up_requests=self.take_up_requests,
            new_worktree=lambda name: self._opener.new_worktree(self.live, name),
            leave_worktree=lambda how: self._opener.leave_worktree(
                self.live, remove=how == "remove"
            ),
        )

    def start(self) -> None:
        """Open the runtime in a task; the first frame is on the screen by now."""
        themes.register_textual_themes(cast("App[object]", self._app))
        self.tasks.spawn(self._startup.run(), "starting")

    async def close(self) -> None:
        """Stop the tasks of the front end, then the agent."""
        self.interrupted = tuple(one for one in self.live_sessions.all if one.busy)
        await self.remote.close()
        await self.tasks.close()
        self._settings.close()
        self._servers.close()
        await asyncio.gather(*(runtime.close() for runtime in self._opener.runtimes))

    @property
    def exit_message(self) -> str:
        """The message to print once the screen is closed, empty for none."""
        return self._startup.exit_message

    def on_main_screen(self) -> bool:
        """Return whether the main screen is the topmost one."""
        return self._app.is_running and self._app.screen is self.main

    async def submit_when_ready(self, text: str) -> None:
        """Handle a prompt that was entered during start-up, once all commands are known."""
        await self.live.until_ready()
        self.main.submit(text)

    async def show_full(self, part: Part) -> None:
        """Show all of *part* in the pager."""
        from app.screens.pager import PagerScreen  # few outputs are opened
        from app.screens.review.extract import full_text

        found = await asyncio.to_thread(full_text, part)
        screen = PagerScreen(
            found.name, found.text, open_pager=self._open_pager, copy=self._app.copy_to_clipboard
        )
        await show_dialog(self._app, screen)

    def _open_pager(self, text: str) -> None:
        from app.terminal.external_editor import read_text  # as above

        self.tasks.spawn(read_text(self._app, text, self._env), "opening a pager")

    async def open_file(self, places: Sequence[FilePlace]) -> None:
        """Open one of *places* in the user's editor; several are listed to choose from."""
        from app.screens.base.picker import Picker, Row  # few sessions open one
        from app.terminal.external_editor import open_file

        if not places:
            self._app.notify("No file of the project is named here.", markup=False)
            return
        chosen: str | None = "0"
        if len(places) > 1:
            names = [place.name(self.live.runtime.directory) for place in places]
            rows = [Row(str(at), name) for at, name in enumerate(names)]
            chosen = await show_dialog(self._app, Picker("Open in the editor", rows, enter="open"))
        if chosen is not None:
            await open_file(self._app, places[int(chosen)], self._env)

    async def _show_folder(self, runtime: "Runtime") -> None:
        await self._startup.show_folder(runtime)

    def show_status(self) -> None:
        """Show the state of the session in the lines around the prompt."""
        self._status.refresh()

    def _show_stopping(self) -> None:
        self.main.widgets.activity.show_stopping()
        self.main.paint()

    def leave_subagent(self) -> bool:
        """Go back to the parent of a sub-agent's session; return False if it has none."""
        session = self.live.session
        if session is None or session.parent_id is None:
            return False
        self.tasks.spawn(self.live.open(session.parent_id), "going back")
        return True

    def take_up_requests(self) -> bool:
        """Show the requests of the open session that were put aside; return whether there were
        any."""
        found = self._dialogs.take_up(self._own_requests())
        self.sync_requests()
        return found

    def _own_requests(self) -> tuple[Request, ...]:
        view = self.live.view
        return (*view.permissions, *view.questions) if view is not None else ()

    def sync_requests(self) -> None:
        """Show or close the dialogs of pending requests, those of the open session first."""
        ours = self._own_requests()
        known = {request.id for request in ours}
        self._others_asked = self.live_sessions.other_requests
        others = (one for one in self._others_asked if one.id not in known)
        self._dialogs.sync((*ours, *others))

    def _other_session(self, request: Request) -> str:
        """Return the title and folder of the session that a request comes from; "" for the open
        one."""
        state = self.live_sessions.find(request.root_id)
        if state is None or state.session.id == self.live_sessions.opened:
            return ""
        folder = short_folder(Path(state.session.directory), self._env.get("HOME", ""))
        return f"{state.title}   {folder}"

    def _sessions_changed(self) -> None:
        self._status.show_live_sessions()
        if self._others_asked != self.live_sessions.other_requests:
            self.sync_requests()

    def _notify_other(self, state: LiveState, event: events.Event) -> None:
        """Notify the user of the end of a turn or a request in a session that is not open."""
        if state.session.id == self.live_sessions.opened:
            return
        if not isinstance(event, events.SessionIdle):
            self.terminal.notify(f"opencode-py: “{state.title}” has a question")
        elif event.outcome != "cancelled" and not state.busy:
            self.terminal.notify(f"opencode-py: “{state.title}” is {state.state}")
            self._app.notify(
                f"“{state.title}” is {state.state}.",
                severity="error" if state.failed else "information",
                markup=False,
            )

    def _opened(self, view: SessionView | None) -> None:
        """Show another session, or none."""
        self.main.show_view(view)
        self.live_sessions.show(view.session if view is not None else None)
        breadcrumbs = self.main.widgets.breadcrumbs
        if view is None or view.session.parent_id is None:
            breadcrumbs.show(None)
        else:
            # The row is there from the first frame, so that nothing moves when its names arrive.
            breadcrumbs.show(SessionFamily(view.session))
            self.tasks.spawn(self._show_family(view), "reading whose sub-agent this is")
        self._status.refresh()
        self.take_up_requests()

    async def _show_family(self, view: SessionView) -> None:
        family = await family_of(self.live, view.session)
        if self.live.view is view:
            self.main.widgets.breadcrumbs.show(family)

    def _changed(self, change: Change, changes: Sequence[events.Event]) -> None:
        """Show the *change* that events made to the open session."""
        self.main.show_change(self.live.view, change)
        if change.messages or change.other:
            self._status.refresh()
        if not changes or not all(isinstance(event, events.PartDelta) for event in changes):
            self._sidebar.show(change)
        if change.other:
            self.sync_requests()
        for event in changes:
            self._notify(event)
        self.main.paint()

    def _notify(self, event: events.Event) -> None:
        """Notify the user of an event that is more than a change of the transcript."""
        match event:
            case events.Notice(message=message, level=level):
                self._notices.warn_once(message, failed=level == "error")
            case events.PermissionModeChanged():
                self._status.refresh()  # perhaps another client changed it
            case events.PluginFailed(message=message):
                self._notices.warn_once(message)
            case events.SessionError(error=error):
                self._notices.warn_once(error.message, failed=True)
            case events.SessionIdle(outcome=outcome):
                # Background tasks will start the next turn: the session is not done yet.
                if outcome != "cancelled" and not self._stopper.background_count():
                    self.terminal.notify("opencode-py is done")
            case events.PermissionAsked() | events.QuestionAsked():
                self.terminal.notify("opencode-py has a question")
            case _:
                pass
