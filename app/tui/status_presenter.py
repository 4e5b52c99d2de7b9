"""The presenters of the open session's state: they keep the status line, the sidebar, the activity
line, the home page and the terminal's title up to date."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent.installation import VERSION
from agent.records.background import ShellInfo
from agent.records.errors import ModelNotFound
from agent.records.json import JsonObject
from agent.records.messages import Session
from app.screens.main.screen import SessionScreen
from app.session_state.folder_facts import Workspace, short_folder
from app.session_state.live import LiveSession
from app.session_state.live_sessions import LiveSessions
from app.session_state.session_facts import cache_hit_rate, context_used, fallback_for, session_cost
from app.session_state.view import NO_CHANGE, Change
from app.startup.launch import LaunchOptions
from app.tui.custom_status_line import StatusCommand
from app.tui.notifier import TerminalNotifier
from app.widgets.home import HomeFacts, local_servers, model_reason
from app.widgets.sidebar import ChangedFiles, SidebarContent
from app.widgets.status import Status

if TYPE_CHECKING:  # loads the agent package
    from agent.runtime.runtime import Runtime


@dataclass(slots=True, eq=False)
class SidebarPresenter:
    """Shows the todos, file changes, servers and background work of *live* in the sidebar."""

    main: SessionScreen
    live: LiveSession
    _changes: ChangedFiles = field(default_factory=ChangedFiles, init=False)

    def show(self, change: Change = NO_CHANGE) -> None:
        """Apply a *change* of the session, and what the status line shows now."""
        view = self.live.view
        self._changes.update(view, change)
        shells = self._running_shells()
        tasks = tuple(view.background_tasks.running.values()) if view is not None else ()
        self.main.status.show(shells=len(shells), subagents=len(tasks))
        status = self.main.status.status
        content = SidebarContent(
            context=status.context,
            limit=status.limit,
            cost=status.cost,
            todos=view.todos if view is not None else (),
            changes=self._changes.files(),
            servers=status.servers,
            languages=status.languages,
            shells=shells,
            subagents=tasks,
        )
        self.main.widgets.sidebar.show(content)

    def _running_shells(self) -> tuple[ShellInfo, ...]:
        if not self.live.is_ready:
            return ()
        shells = self.live.runtime.shells.snapshot()
        return tuple(shell for shell in shells if shell.state == "running")


class StatusPresenter:
    """Shows the state of *live* in the status line, the activity line, the first-run page, the
    sidebar and the terminal's title."""

    def __init__(
        self,
        main: SessionScreen,
        live: LiveSession,
        sessions: LiveSessions,
        launch: LaunchOptions,
        env: Mapping[str, str],
        sidebar: SidebarPresenter,
        terminal: TerminalNotifier,
        command: StatusCommand,
    ) -> None:
        self._command = command
        self._main = main
        self._live = live
        self._sessions = sessions
        self._worktree = ""
        self.next_key = ""
        """The key that opens the next live session."""
        self._launch = launch
        self._sidebar = sidebar
        self._terminal = terminal
        self._workspace = Workspace(short_folder(launch.directory, env.get("HOME", "")))
        self._recent: tuple[Session, ...] = ()
        self._trusted = True

    def configure(self, runtime: "Runtime") -> None:
        """Apply the settings of *runtime*."""
        self._command.configure(runtime)

    def set_workspace(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def set_worktree(self, name: str) -> None:
        """Set the name of the worktree that is open, "" for none."""
        self._worktree = name

    def set_recent(self, sessions: Sequence[Session]) -> None:
        """Set the sessions that the first-run page lists."""
        self._recent = tuple(sessions)

    def set_trusted(self, *, trusted: bool) -> None:
        self._trusted = trusted

    def refresh(self) -> None:
        live = self._live
        color = _agent_color(live)
        self._main.status.show(
            agent=live.agent,
            color=color,
            model=live.model,
            fallback=fallback_for(live.view, live.model),
            effort=live.effort,
            branch=self._workspace.branch,
            worktree=_worktree_of_subagent(live) or self._worktree,
            changed=self._workspace.changed,
            context=context_used(live.view),
            limit=_context_limit(live),
            cost=session_cost(live.session),
            cached=cache_hit_rate(live.session),
            mode=_permission_mode(live),
            trusted=self._trusted,
            sandboxed=_is_sandboxed(live),
        )
        self._command.update(_facts(live, self._main.status.status))
        self._sidebar.show()
        self._main.show_agent(color)
        self._main.show_work(live.view, live.unsent, live.preparation.started, live.agent)
        self._main.show_home(
            HomeFacts(
                workspace=self._workspace,
                model=live.model,
                reason=model_reason(live, self._launch),
                local=local_servers(live),
                recent=self._recent,
                now=time.time(),
                notices=self._main.notices.lasting,
            )
        )
        self.show_live_sessions()

    def show_live_sessions(self) -> None:
        """Show the sessions that are not open in their row, and all of them in the terminal's
        title and progress."""
        live, others = self._live, self._sessions.others
        folder = str(live.runtime.directory) if live.is_ready else ""
        self._main.widgets.live_strip.show(others, self.next_key, folder)
        waits = live.view is not None and bool(live.view.permissions or live.view.questions)
        asking = next((one for one in others if one.requests), None)
        busy = live.busy or any(one.busy for one in others)
        title = live.session.title if live.session is not None else ""
        if asking is not None and not waits:
            title = asking.title
        mark = "◆ " if waits or asking is not None else "◐ " if busy else ""
        self._terminal.set_title(f"{mark}{title or 'opencode-py'}")
        state = "waits" if waits or asking is not None else "works" if busy else ""
        self._terminal.set_progress(state)


def _facts(live: LiveSession, shown: Status) -> JsonObject:
    """Return the facts for the user's own status line, by Claude Code's names."""
    if not live.is_ready:
        return {}
    runtime, session = live.runtime, live.session
    folder = str(runtime.directory)
    used: JsonObject = {"used_percentage": None}
    if shown.context is not None and shown.limit:
        used = {
            "used_percentage": round(100 * shown.context / shown.limit),
            "total_input_tokens": shown.context,
            "context_window_size": shown.limit,
        }
    return {
        "hook_event_name": "Status",
        "session_id": session.id if session is not None else "",
        "session_name": session.title if session is not None else "",
        "transcript_path": "",
        "cwd": folder,
        "workspace": {"current_dir": folder, "project_dir": str(runtime.project)},
        "model": {"id": shown.model, "display_name": shown.model.partition("/")[2]},
        "agent": {"name": shown.agent},
        "effort": {"level": shown.effort},
        "permission_mode": shown.mode,
        "version": VERSION,
        "cost": {"total_cost_usd": shown.cost},
        "context_window": used,
    }


def _worktree_of_subagent(live: LiveSession) -> str:
    """Return the name of the worktree that was made for the open session, a sub-agent's; "" without
    one."""
    session = live.session
    if session is None or session.parent_id is None or not live.is_ready:
        return ""
    from agent.runtime.worktrees import find_worktree  # loaded with the runtime

    if Path(session.project) == live.runtime.project:
        return ""
    found = find_worktree(live.runtime.paths, session.project)
    return found.name if found is not None else ""


def _is_sandboxed(live: LiveSession) -> bool:
    """Return whether commands run in a sandbox, as far as it is known."""
    found = live.runtime.sandbox.found if live.is_ready else None
    return found is None or found.name != "none"


def _agent_color(live: LiveSession) -> str:
    """Return the color of the next prompt's agent: a role of the theme, or a hex value."""
    info = live.runtime.agents.find(live.agent) if live.is_ready else None
    return info.color if info is not None else "accent"


def _permission_mode(live: LiveSession) -> str:
    """Return the mode in force, "" where it is not known."""
    if not live.is_ready or (live.runtime.server and live.runtime.server_controls is None):
        return ""
    return live.runtime.permissions.mode


def _context_limit(live: LiveSession) -> int | None:
    """Return the context window of the next prompt's model in tokens, None if unknown."""
    if not live.is_ready:
        return None
    try:
        return live.runtime.catalog.model(live.model).context_limit
    except ModelNotFound:
        return None
