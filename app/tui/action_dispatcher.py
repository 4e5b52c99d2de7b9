"""The dispatcher of actions: runs those of keys, slash commands and the palette."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from textual.app import App

from app.action_registry import keymap
from app.action_registry.context import ActionContext
from app.action_registry.registry import Action, actions, find
from app.screens.main.screen import SessionScreen
from app.session_state.live import LiveSession
from app.session_state.live_sessions import LiveSessions
from app.session_state.permission_mode import PermissionModeCycle
from app.terminal.tasks import Tasks
from app.tui.prompt_sender import PromptSender
from app.tui.status_presenter import StatusPresenter
from app.widgets.transcript.paging import HistoryPager

EARLY = frozenset(
    {
        "app.exit",
        "app.help",
        "app.palette",
        "app.suspend",
        "prompt.editor",
        "prompt.history",
        "prompt.later",
        "prompt.paste",
        "prompt.stash",
        "prompt.vim",
        "view.browse",
        "view.copy",
        "view.details",
        "view.diffs",
        "view.mouse",
        "view.sidebar",
        "view.thinking",
    }
)
"""The ids of the actions that run while the runtime is being opened; the others wait for it."""

NOT_AT_OPENCODE = frozenset(
    {
        "app.stats",
        "folder.instructions",
        "folder.memory",
        "folder.remember",
        "lsp.show",
        "mcp.list",
        "model.fallback",
        "permissions.cycle",
        "permissions.list",
        "permissions.mode",
        "session.aside",
        "session.budget",
        "session.context",
        "session.goal",
        "session.import",
        "session.loop",
        "session.pin",
        "shells.detach",
        "shells.list",
    }
)
"""The ids of the actions that a server of opencode or an older one of ours cannot do: its API lacks
them."""

ONLY_WHERE_IT_RUNS: Mapping[str, str] = {
    "folder.trust": "Trust lets the project's files run programs, so it is decided on the "
    "server's machine: start opencode-py in the folder there.",
    "model.connect": "Keys are stored where the server runs and are not sent to it: run "
    "opencode-py auth login there.",
    "session.merge": "Worktrees are on the server's machine: run /merge in opencode-py there.",
}
"""The actions that no server does, each with the reason."""

NOT_THERE = (
    "{title}: not available, because {server} is a server of opencode or of an older opencode-py."
)

ONE_AT_A_TIME = frozenset({"session.undo", "session.redo"})
"""The ids of the actions of which each waits for the one before, with its dialog."""


@dataclass(slots=True, eq=False)
class ActionDispatcher:
    """Runs each action in a task of its own.

    *reopen* opens the folder again with its present settings. *on_main_screen* returns whether
    keys reach the main screen: only it has actions.
    """

    app: App[int]
    main: SessionScreen
    live: LiveSession
    live_sessions: LiveSessions
    paging: HistoryPager
    tasks: Tasks
    sender: PromptSender
    status: StatusPresenter
    _: KW_ONLY
    reopen: Callable[[], Awaitable[None]]
    env: Mapping[str, str]
    on_main_screen: Callable[[], bool]
    take_up_requests: Callable[[], bool]
    new_worktree: Callable[[str], Awaitable[None]]
    leave_worktree: Callable[[Literal["keep", "remove"]], Awaitable[str]]
    _modes: PermissionModeCycle = field(default_factory=PermissionModeCycle, init=False)
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _leader: keymap.LeaderKey = field(default_factory=keymap.LeaderKey, init=False)
    keys: keymap.Keymap = field(default_factory=lambda: keymap.build(actions()), init=False)
    """The keys in force."""

    def set_keys(self, keybinds: Mapping[str, str], leader_seconds: float) -> None:
        """Build the keymap from the user's *keybinds*."""
        self.keys = keymap.build(actions(), keybinds)
        self._leader = keymap.LeaderKey(seconds=leader_seconds)

    def handle_key(self, key: str) -> bool:
        """Run the action of *key*; return whether the key belongs to one."""
        if not self.on_main_screen() or (key == "tab" and self.main.is_completing):
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
        if action.when and not action.when(self.live, self.main.prompt):
            return False
        self.run(action)
        return True

    def _refusal(self, action: Action) -> str:
        """Return why *action* cannot be run for a session on a server, "" if it can."""
        if not self.live.is_ready or not self.live.runtime.server:
            return ""
        runtime = self.live.runtime
        if action.id in ONLY_WHERE_IT_RUNS:
            return ONLY_WHERE_IT_RUNS[action.id]
        if action.id in NOT_AT_OPENCODE and runtime.server_controls is None:
            return NOT_THERE.format(title=action.title, server=runtime.server)
        return ""

    def run(self, action: Action | None, argument: str = "") -> None:
        """Run *action* in a task, during start-up as soon as it can; do nothing for None."""
        if action is None:
            return
        held = self.main.prompt.hold()
        running = self.tasks.spawn(self._run(action, argument), action.title)
        running.add_done_callback(lambda _: held())

    async def _run(self, action: Action, argument: str) -> None:
        if self.live.opening and action.id not in EARLY:
            await self.live.until_ready()
        if refused := self._refusal(action):
            self.app.notify(refused, markup=False)
            return
        context = ActionContext(
            app=self.app,
            live=self.live,
            live_sessions=self.live_sessions,
            paging=self.paging,
            tasks=self.tasks,
            transcript=self.main.transcript,
            prompt=self.main.prompt,
            keys_of=self.keys.keys_of,
            reopen=self.reopen,
            env=self.env,
            send=self.sender.send_now,
            refresh=self.status.refresh,
            take_up_requests=self.take_up_requests,
            new_worktree=self.new_worktree,
            leave_worktree=self.leave_worktree,
            browse=self.main.browse,
            modes=self._modes,
            notices=self.main.notices,
            see_notices=self.main.see_notices,
        )
        try:
            async with self._one_at_a_time if action.id in ONE_AT_A_TIME else nullcontext():
                await action.run(context, argument)
        finally:
            self.main.command_ended()
