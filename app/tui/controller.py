"""Between the open session and the main screen: opens the runtime, runs actions, shows
what changed. The app above it is Textual's; this is ours."""

import logging
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.app import App

import app.actions  # noqa: F401  # pyright: ignore[reportUnusedImport] - fills the registry
from agent.records.errors import ModelNotFound, OpencodePyError
from agent.records.events import (
    Event,
    Notice,
    PermissionAsked,
    PluginFailed,
    QuestionAsked,
    SessionError,
    SessionIdle,
)
from agent.records.messages import Delivery, Session
from agent.records.requests import QuestionReply
from app.actions.custom_commands import user_command_actions
from app.actions.shells import detach_key
from app.commands import keymap
from app.commands.context import ActionContext
from app.commands.registry import Action, actions, find, provide
from app.screens.base.error import ErrorScreen
from app.screens.session.layout import create_widgets
from app.screens.session.screen import SessionScreen
from app.session.live import LiveSession
from app.session.permission_mode import PermissionModeCycle
from app.session.usage import cache_hit_rate, context_used, session_cost
from app.session.view import Change, SessionView
from app.session.workspace import Workspace, read_workspace, short_folder
from app.startup.options import LaunchOptions
from app.startup.warmup import warm
from app.text.sanitize import sanitize
from app.theme import themes
from app.theme.preferences import apply_settings
from app.toolkit.dedupe import Dedupe
from app.toolkit.tasks import Tasks
from app.tui.interrupt import InterruptHandler, TurnStopper
from app.tui.mention_search import MentionSearch
from app.tui.notifier import TerminalNotifier
from app.tui.request_dialogs import Answer, RequestDialogs
from app.tui.runtime_opener import OpenRuntime, RuntimeOpener
from app.tui.server_monitor import ServerMonitor
from app.tui.sidebar import SidebarPresenter
from app.tui.subagent_navigation import SubagentNavigation
from app.widgets.home import HomeFacts, local_servers, model_reason
from app.widgets.transcript.paging import HistoryPager

if TYPE_CHECKING:  # brings the whole harness
    from agent.commands import CommandInfo
    from agent.runtime.runtime import Runtime

log = logging.getLogger(__name__)


WARNING_SECONDS = 8.0
"""Seconds that a warning stands."""


class Controller:
    """Everything between Textual's app and the harness. *open_runtime* is awaited once,
    after the first frame; *grace* (seconds) is passed on to dialogs that open by themselves.
    *last_words* are for the terminal once the screen is gone."""

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
    ) -> None:
        self._app = app
        self._launch = launch
        self._env = env
        self._log_path = log_path
        self._grace = grace
        self._place = Workspace(short_folder(launch.directory, env.get("HOME", "")))
        self._trusted = True
        self._once = Dedupe(WARNING_SECONDS)
        self._folder = RuntimeOpener(app, launch, env, open_runtime, self._settle, grace)
        self._modes = PermissionModeCycle()
        self._recent: tuple[Session, ...] = ()
        self._leader = keymap.LeaderKey()
        self.terminal = TerminalNotifier(app, tmux="TMUX" in env)
        self.last_words = ""
        self.keys = keymap.build(actions())
        self.tasks = Tasks(self.warn, self._failed)
        self.live = LiveSession(self.tasks, self._opened, self._changed)
        self.paging = HistoryPager(self.live, self._changed)
        self.main = main
        main.add_widgets(create_widgets(actions()))
        self._health = ServerMonitor(self.tasks, self.main)
        self._siding = SidebarPresenter(self.main, self.live)
        self.family = SubagentNavigation(self.tasks, self.live, main.widgets.breadcrumbs.show)
        self.finding = MentionSearch(self.main, self.live, self.tasks)
        self.stopping = TurnStopper(
            app,
            self.live,
            self.tasks,
            main.widgets.activity.show_stopping,
        )
        self.interrupting = InterruptHandler(
            app,
            self.main,
            self.live,
            self.stopping,
            cleared=self._cleared,
            rewind=lambda: self.call(find("session.review")),
        )
        self._asking = RequestDialogs(
            app, self._reply, self.stopping.stop_requester, self.at_main, grace
        )

    def start(self) -> None:
        """Open the runtime in a task; the first frame is on the screen by now."""
        themes.register_textual_themes(cast("App[object]", self._app))
        self.tasks.spawn(self._open(), "starting")

    async def _open(self) -> None:
        try:
            runtime = await self._folder.open(self.live)
        except OpencodePyError as error:
            self.last_words = error.message
            self._app.exit(1, return_code=1)
            return
        if self._launch.prompt:
            self.send(self._launch.prompt)
        self.main.prompt.directory = runtime.directory
        self.finding.start()
        self.tasks.spawn(warm(runtime, self.live.model, self._show), "getting ready")
        self.main.prompt.set_history(await runtime.store.prompt_history())
        self._recent = tuple(await runtime.sessions.repository.list(limit=3))
        self._show()
        self._place = await read_workspace(self._launch.directory, self._env.get("HOME", ""))
        self._show()

    def _settle(self, runtime: "Runtime", commands: "Sequence[CommandInfo]") -> None:
        """Take over what the settings say of the front end, and tell what was found."""
        self._trusted = runtime.trust.standing in {"trusted", "nothing"}
        config = runtime.config.config
        self.main.prompt.use_vim(on=config.ui.vim)
        left = provide("commands", user_command_actions(commands))
        self.main.set_actions(actions())
        self.keys = keymap.build(actions(), config.keybinds)
        self._leader = keymap.LeaderKey(seconds=config.ui.leader_timeout / 1000)
        left += themes.register_themes(cast("App[object]", self._app), runtime.plugins.themes)
        worn = apply_settings(self._app, config, runtime.paths.config / "themes")
        for notice in (*runtime.notices, *worn, *left, *self.keys.conflicts):
            self.warn(notice)
        self._health.follow(runtime)
        self.main.widgets.activity.background_key = partial(
            detach_key, self.live, self.main.prompt, self.keys
        )
        self._show()

    async def close(self) -> None:
        """Stop the front end's tasks, then the harness."""
        await self.tasks.close()
        provide("commands", ())
        self._health.close()
        if self.live.is_ready:
            await self.live.runtime.close()

    def at_main(self) -> bool:
        """Whether nothing lies over the main screen."""
        return self._app.is_running and self._app.screen is self.main

    def takes(self, key: str) -> bool:
        """Whether *key* belongs to an action (it is run then). Only the main screen has them."""
        if not self.at_main() or (key == "tab" and self.main.is_completing):
            return False
        if key not in keymap.FIXED and self._leader.consume():
            self.call(find(self.keys.after_leader.get(key, "")))
            return True
        if key == self.keys.leader:
            self._leader.press()
            return True
        known = find(self.keys.direct.get(key, ""))
        if known is not None and known.when and not known.when(self.live, self.main.prompt):
            return False
        self.call(known)
        return known is not None

    def call(self, known: Action | None, argument: str = "") -> None:
        """Run an action in a task of its own."""
        if known is None:
            return
        if not self.live.is_ready and known.group in {"Session", "Model and agent"}:
            self.warn("Still starting. Try again in a moment.")
            return
        context = ActionContext(
            app=self._app,
            live=self.live,
            paging=self.paging,
            tasks=self.tasks,
            transcript=self.main.transcript,
            prompt=self.main.prompt,
            keys_of=self.keys.keys_of,
            reopen=lambda: self._folder.reopen(self.live),
            env=self._env,
            send=self._send,
            refresh=self._show,
            modes=self._modes,
        )
        self.tasks.spawn(_run(known, context, argument), known.title)

    def send(self, text: str) -> None:
        """Send a prompt; one that is refused comes back into the editor."""
        self.tasks.spawn(self._send(text), "sending")
        self._show()

    async def _send(self, text: str, delivery: Delivery = "steer") -> None:
        try:
            await self.live.send(text, delivery)
        except OpencodePyError:
            typed = self.main.prompt.text
            self.main.prompt.set_text(f"{text}\n{typed}" if typed else text)
            raise
        finally:
            self._show()

    def sync_questions(self) -> None:
        view = self.live.view
        self._asking.sync((*view.permissions, *view.questions) if view is not None else ())

    def warn(self, sentence: str) -> None:
        self._app.notify(
            sanitize(sentence), severity="warning", markup=False, timeout=WARNING_SECONDS
        )

    def _failed(self, error: BaseException) -> None:
        """A task of ours failed; it was logged. Show it and go on."""
        if self.at_main():
            kind = type(error).__name__
            screen = ErrorScreen(f"{kind}: {error}", self._log_path, grace=self._grace)
            self._app.push_screen(screen, lambda go_on: None if go_on else self._app.exit(1))

    def _cleared(self, text: str) -> None:
        if self.live.is_ready:
            directory = str(self._launch.directory)
            store = self.live.runtime.store
            self.tasks.spawn(store.add_prompt_history(text, directory), "keeping a prompt")

    def _reply(self, asked_id: str, reply: Answer) -> None:
        runtime = self.live.runtime
        if isinstance(reply, QuestionReply):
            runtime.questions.reply(asked_id, reply)
        else:
            runtime.permissions.reply(asked_id, reply)

    def _opened(self, view: SessionView | None) -> None:
        self.main.show_view(view)
        self.family.opened(view)
        self._show()
        self.sync_questions()

    def _changed(self, change: Change, events: Sequence[Event]) -> None:
        self.main.show_change(self.live.view, change)
        if change.messages or change.other:
            self._show()
        self._siding.show(change)
        if change.other:
            self.sync_questions()
        for event in events:
            self._tell(event)

    def _tell(self, event: Event) -> None:
        """Events that are more than a change of the transcript."""
        match event:
            case Notice(message=told) | PluginFailed(message=told):
                self._warn_once(told)
            case SessionError(error=error):
                self._warn_once(error.message)
            case SessionIdle(outcome=outcome):
                # What is left to the background will begin the next turn: it is not done yet.
                if outcome != "cancelled" and not self.stopping.background_count():
                    self.terminal.notify("opencode-py is done")
            case PermissionAsked() | QuestionAsked():
                self.terminal.notify("opencode-py has a question")
            case _:
                pass

    def _warn_once(self, sentence: str) -> None:
        if self._once.is_new(sentence):
            self.warn(sentence)

    def _show(self) -> None:
        """The status line, the working line, the first-run page and the terminal's title."""
        live = self.live
        colour = _colour(live)
        self.main.status.show(
            agent=live.agent,
            color=colour,
            model=live.model,
            effort=live.effort,
            branch=self._place.branch,
            changed=self._place.changed,
            context=context_used(live.view),
            limit=_context_limit(live),
            cost=session_cost(live.session),
            cached=cache_hit_rate(live.session),
            mode=live.runtime.permissions.mode if live.is_ready else "",
            trusted=self._trusted,
        )
        self._siding.show()
        self.main.show_agent(colour)
        self.main.show_work(live.view, live.unsent, live.preparation.started)
        self.main.show_home(
            HomeFacts(
                place=self._place,
                model=live.model,
                reason=model_reason(live, self._launch),
                local=local_servers(live),
                recent=self._recent,
                now=time.time(),
            )
        )
        title = live.session.title if live.session is not None else ""
        waits = live.view is not None and (live.view.permissions or live.view.questions)
        state = "◆ " if waits else ("◐ " if live.busy else "")
        self.terminal.set_title(f"{state}{title or 'opencode-py'}")


def _colour(live: LiveSession) -> str:
    """The colour of the next prompt's agent: a role of the theme, or a hex value."""
    info = live.runtime.agents.find(live.agent) if live.is_ready else None
    return info.colour if info is not None else "accent"


def _context_limit(live: LiveSession) -> int | None:
    """The window of the next prompt's model in tokens, None where it is not known."""
    if not live.is_ready:
        return None
    try:
        return live.runtime.catalog.model(live.model).context_limit
    except ModelNotFound:
        return None


async def _run(known: Action, context: ActionContext, argument: str) -> None:
    await known.run(context, argument)
