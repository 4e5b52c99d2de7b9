"""Opening the runtime after the first frame, applying its settings to the screen, and showing the
state of its servers."""

import contextlib
from asyncio import Task
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual.app import App

from agent.records.errors import NothingToDo, OpencodePyError, SessionNotFound
from agent.records.events import Event, LspChanged, McpChanged
from app.action_registry.registry import actions, provide
from app.actions.background import detach_key
from app.actions.custom_commands import mcp_prompt_actions, user_command_actions
from app.screens.main.screen import SessionScreen
from app.screens.requests.trust import TrustScreen
from app.session_state.folder_facts import lsp_summary, mcp_summary, workspace_of
from app.session_state.live import LiveSession
from app.startup.launch import LaunchOptions
from app.terminal.tasks import Tasks, show_dialog
from app.text.sanitize import sanitize
from app.theme import themes
from app.theme.appearance import apply_settings
from app.tui.action_dispatcher import ActionDispatcher
from app.tui.editor_server import RemoteControl
from app.tui.mention_search import MentionSearch
from app.tui.notifier import Notices
from app.tui.prompt_sender import PromptSender
from app.tui.status_presenter import StatusPresenter

if TYPE_CHECKING:  # loads the agent package
    from agent.custom_commands import CommandInfo
    from agent.permission.trust.trust import AskTrust, TrustAnswer, TrustQuestion
    from agent.records.messages import Session
    from agent.runtime.runtime import Runtime


OpenRuntime = Callable[[LaunchOptions, Mapping[str, str], "AskTrust"], Awaitable["Runtime"]]

USER_COMMANDS = "commands"
"""The owner of the user's slash commands among the actions."""

MAX_RECENT = 3
"""Sessions that the first-run page lists."""


MCP_PROMPTS = "mcp"
"""The owner of the servers' prompts among the actions."""


class ServerMonitor:
    """Starts the servers of each runtime once it is open, and shows their state in the status line
    and their prompts among the slash commands."""

    def __init__(self, tasks: Tasks, main: SessionScreen) -> None:
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
        provide(MCP_PROMPTS, ())

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
            provide(MCP_PROMPTS, prompts)
            self._main.set_actions(actions())


@dataclass(slots=True, eq=False)
class RuntimeOpener:
    """Opens folders: that of *launch* at the start, its worktrees when they are used, and one again
    when its settings have changed.

    *apply_settings* gets each runtime that is used and its slash commands, *follow* each runtime
    once it is open, *show_folder* each that is used later. *grace* is how long the question about
    trust ignores keys, in seconds.
    """

    app: App[int]
    launch: LaunchOptions
    env: Mapping[str, str]
    open_runtime: OpenRuntime
    apply_settings: Callable[["Runtime", "Sequence[CommandInfo]"], None]
    follow: Callable[["Runtime"], None]
    show_folder: Callable[["Runtime"], Awaitable[None]]
    grace: float
    _opened: dict[str, "Runtime"] = field(default_factory=dict[str, "Runtime"], init=False)

    @property
    def runtimes(self) -> "tuple[Runtime, ...]":
        return tuple(self._opened.values())

    async def open(self, live: LiveSession) -> "Runtime":
        """Open the folder for the first time, with the session or the new worktree that the command
        line names."""
        runtime = await self._open(self.launch.directory)
        notices: tuple[str, ...] = ()
        if self.launch.worktree is not None:
            runtime, notices = await self._make_worktree(runtime, self.launch.worktree)
        live.runtime_of, live.switched = self.runtime_of, self.switched
        await live.start(runtime, self.launch)
        runtime = live.runtime
        self.apply_settings(runtime, await runtime.commands.all())
        self._warn(notices)
        return runtime

    async def reopen(self, live: LiveSession) -> None:
        """Open the folder with its present settings and continue the same session."""
        before = live.runtime
        runtime = await self._open(before.directory)
        runtime.permissions.mode = before.permissions.mode
        await live.restart(runtime)
        await before.close()
        self.apply_settings(runtime, await runtime.commands.all())

    async def runtime_of(self, session: "Session") -> "Runtime | None":
        """Return the runtime of the folder that *session* belongs to, if that is open or a worktree
        of this program's."""
        from agent.runtime.worktrees import find_worktree  # only with another folder

        first = next(iter(self._opened.values()))
        with contextlib.suppress(SessionNotFound):
            # A sub-agent with a worktree of its own works in the runtime of its caller.
            while session.parent_id is not None:
                session = await first.store.session(session.parent_id)
        if session.directory in self._opened:
            return self._opened[session.directory]
        paths = first.paths
        if find_worktree(paths, session.directory) is None:
            return None
        return await self._open(Path(session.directory))

    async def new_worktree(self, live: LiveSession, name: str) -> None:
        """Make a worktree of the open folder and use it, with no session yet."""
        before = live.runtime
        runtime, notices = await self._make_worktree(before, name)
        runtime.permissions.mode = before.permissions.mode
        await live.use(runtime)
        self._warn(notices)

    async def leave_worktree(self, live: LiveSession, *, remove: bool) -> str:
        """Use the folder that the worktree was made from; with *remove* the worktree is removed, if
        it is clean, and its sessions continue in that folder. Return what was done.

        Raises ``WorktreeError`` if it cannot be removed, or is none.
        """
        from agent.runtime.worktrees import Worktrees, find_worktree  # as above

        before = live.runtime
        worktree = find_worktree(before.paths, before.directory)
        if worktree is None:
            raise NothingToDo("This session is not in a worktree. /new --worktree creates one.")
        inside = before.directory.relative_to(before.project)
        source = str(Path(worktree.source, inside))
        runtime = self._opened.get(source) or await self._open(Path(source))
        if not remove:
            await live.use(runtime)
            return ""
        done = await Worktrees(before.paths, before.project).remove(worktree)
        await runtime.sessions.repository.adopt(str(before.directory))
        session = live.session
        await live.use(runtime)
        if session is not None:
            await live.open(session.id)
        del self._opened[str(before.directory)]
        await before.close()
        return done

    async def switched(self, runtime: "Runtime") -> None:
        self.apply_settings(runtime, await runtime.commands.all())
        await self.show_folder(runtime)

    async def _open(self, folder: Path) -> "Runtime":
        launch = replace(self.launch, directory=folder)
        runtime = await self.open_runtime(launch, self.env, self._ask_trust)
        self._opened[str(runtime.directory)] = runtime
        self.follow(runtime)
        return runtime

    async def _make_worktree(
        self, runtime: "Runtime", name: str
    ) -> "tuple[Runtime, tuple[str, ...]]":
        from agent.runtime.worktrees import open_worktree  # only with a worktree

        if runtime.server:
            raise NothingToDo("The sessions are on a server, where worktrees cannot be created.")
        folder, notices = await open_worktree(runtime, name, self.env)
        return await self._open(folder), notices

    def _warn(self, notices: Sequence[str]) -> None:
        for notice in notices:
            self.app.notify(sanitize(notice), severity="warning", markup=False)

    async def _ask_trust(self, question: "TrustQuestion") -> "TrustAnswer":
        """Ask before anything of the folder is used. Prompts sent meanwhile are queued."""
        return await show_dialog(self.app, TrustScreen(question, grace=self.grace)) or "later"


@dataclass(slots=True, eq=False)
class SettingsApplier:
    """Applies the settings of a runtime to the front end."""

    app: App[int]
    main: SessionScreen
    live: LiveSession
    dispatcher: ActionDispatcher
    status: StatusPresenter
    servers: ServerMonitor
    remote: RemoteControl
    notices: Notices

    def apply(self, runtime: "Runtime", commands: "Sequence[CommandInfo]") -> None:
        """Apply the settings, list the *commands*, and show what went wrong."""
        dispatcher, config = self.dispatcher, runtime.config.config
        self.status.configure(runtime)
        self.status.set_trusted(trusted=runtime.trust.status in {"trusted", "nothing"})
        self.main.prompt.use_vim(on=config.ui.vim)
        ignored = provide(USER_COMMANDS, user_command_actions(commands))
        self.main.set_actions(actions())
        self.main.all_commands_known = True
        dispatcher.set_keys(config.keybinds, config.ui.leader_timeout / 1000)
        self.status.next_key = next(iter(dispatcher.keys.keys_of("session.next")), "")
        ignored += themes.register_themes(cast("App[object]", self.app), runtime.plugins.themes)
        theme_notices = apply_settings(self.app, config, runtime.paths.config / "themes")
        self.main.set_lasting_notices(
            (*runtime.notices, *theme_notices, *ignored, *dispatcher.keys.conflicts)
        )
        self.servers.follow(runtime)
        self.remote.follow(runtime)
        self.main.widgets.activity.background_key = partial(
            detach_key, self.live, self.main.prompt, dispatcher.keys
        )
        self.status.refresh()

    def close(self) -> None:
        """Remove the user's slash commands from the actions."""
        provide(USER_COMMANDS, ())


@dataclass(slots=True, eq=False)
class StartupSequence:
    """Everything that follows the first frame: opens the runtime, then reads what the first-run
    page, the prompt's history and the status line show."""

    app: App[int]
    main: SessionScreen
    live: LiveSession
    launch: LaunchOptions
    opener: RuntimeOpener
    sender: PromptSender
    mention_search: MentionSearch
    status: StatusPresenter
    tasks: Tasks
    exit_message: str = field(default="", init=False)
    """The reason why the program could not start, to be printed once the screen is closed."""

    async def run(self) -> None:
        """Start up. Leaves the app if the runtime fails."""
        try:
            runtime = await self.opener.open(self.live)
        except OpencodePyError as error:
            self.exit_message = error.message
            self.app.exit(1, return_code=1)
            return
        if self.launch.prompt:
            self.sender.send(self.launch.prompt)
        self.main.prompt.directory = runtime.directory
        self.mention_search.start()
        self.tasks.spawn(warm_up(runtime, self.live.model, self.status.refresh), "getting ready")
        self.main.prompt.set_history(await runtime.store.prompt_history())
        await self.show_folder(runtime)

    async def show_folder(self, runtime: "Runtime") -> None:
        """Show the folder of *runtime* around the prompt."""
        from agent.runtime.worktrees import find_worktree  # loaded with the runtime

        self.main.prompt.directory = runtime.directory
        self.status.set_recent(await runtime.sessions.repository.list(limit=MAX_RECENT))
        worktree = find_worktree(runtime.paths, runtime.directory)
        self.status.set_worktree(worktree.name if worktree is not None else "")
        self.status.refresh()
        git_status = await runtime.git_status()
        home = self.opener.env.get("HOME", "")
        workspace = workspace_of(runtime.directory, home, git_status, runtime.server)
        self.status.set_workspace(workspace)
        self.status.refresh()


async def warm_up(runtime: "Runtime", model: str, on_found: Callable[[], None]) -> None:
    """Load what the first prompt to *model* needs, then look for model servers of this machine if
    no model is connected or *model* is of one.

    *on_found* is called if there are any. A failure is not reported here: it comes up again
    when the model is used.
    """
    from agent.provider.client_pool import find_local_servers  # after the first frame

    with contextlib.suppress(OpencodePyError):
        await runtime.clients.preload(runtime.catalog.model(model))
    catalog, provider = runtime.catalog, model.partition("/")[0]
    needed = catalog.lacks_model or catalog.access.is_local(provider)
    if needed and await find_local_servers(catalog):
        on_found()
