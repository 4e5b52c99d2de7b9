"""The dispatcher of actions: runs those of keys, slash commands and the palette."""

from collections.abc import Awaitable, Callable, Mapping

from textual.app import App

from app.commands import keymap
from app.commands.context import ActionContext
from app.commands.registry import Action, actions, find
from app.screens.session.screen import SessionScreen
from app.session.live import LiveSession
from app.session.permission_mode import PermissionModeCycle
from app.toolkit.tasks import Tasks
from app.tui.notifier import Notices
from app.tui.presenters import StatusPresenter
from app.tui.prompt_sender import PromptSender
from app.widgets.transcript.paging import HistoryPager


class ActionDispatcher:
    """Runs each action in a task of its own.

    *reopen* opens the folder again with its present settings. *on_main_screen* returns whether
    keys reach the main screen: only it has actions.
    """

    def __init__(
        self,
        app: App[int],
        main: SessionScreen,
        live: LiveSession,
        paging: HistoryPager,
        tasks: Tasks,
        sender: PromptSender,
        status: StatusPresenter,
        notices: Notices,
        *,
        reopen: Callable[[], Awaitable[None]],
        env: Mapping[str, str],
        on_main_screen: Callable[[], bool],
    ) -> None:
        self._app = app
        self._main = main
        self._live = live
        self._paging = paging
        self._tasks = tasks
        self._sender = sender
        self._status = status
        self._notices = notices
        self._reopen = reopen
        self._env = env
        self._on_main_screen = on_main_screen
        self._modes = PermissionModeCycle()
        self._leader = keymap.LeaderKey()
        self.keys = keymap.build(actions())
        """The keys in force."""

    def set_keys(self, keybinds: Mapping[str, str], leader_seconds: float) -> None:
        """Build the keymap from the user's *keybinds*."""
        self.keys = keymap.build(actions(), keybinds)
        self._leader = keymap.LeaderKey(seconds=leader_seconds)

    def handle_key(self, key: str) -> bool:
        """Run the action of *key*; return whether the key belongs to one."""
        if not self._on_main_screen() or (key == "tab" and self._main.is_completing):
            return False
        if key not in keymap.FIXED and self._leader.consume():
            self.run(find(self.keys.after_leader.get(key, "")))
            return True
        if key == self.keys.leader:
            self._leader.press()
            return True
        action = find(self.keys.direct.get(key, ""))
        if action is None:
            return False
        if action.when and not action.when(self._live, self._main.prompt):
            return False
        self.run(action)
        return True

    def run(self, action: Action | None, argument: str = "") -> None:
        """Run *action* in a task; do nothing for None."""
        if action is None:
            return
        if not self._live.is_ready and action.group in {"Session", "Model and agent"}:
            self._notices.warn("Still starting. Try again in a moment.")
            return
        self._tasks.spawn(self._run(action, argument), action.title)

    async def _run(self, action: Action, argument: str) -> None:
        context = ActionContext(
            app=self._app,
            live=self._live,
            paging=self._paging,
            tasks=self._tasks,
            transcript=self._main.transcript,
            prompt=self._main.prompt,
            keys_of=self.keys.keys_of,
            reopen=self._reopen,
            env=self._env,
            send=self._sender.send_now,
            refresh=self._status.refresh,
            modes=self._modes,
        )
        await action.run(context, argument)
