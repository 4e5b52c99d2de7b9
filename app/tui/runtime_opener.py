"""Opening the folder: asks whether to trust it where that must be asked (spec 4, M9)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from textual.app import App

from app.screens.permission.trust import TrustScreen
from app.session.live import LiveSession
from app.startup.options import LaunchOptions
from app.toolkit.tasks import show_dialog

if TYPE_CHECKING:  # brings the whole harness
    from agent.commands import CommandInfo
    from agent.permission.trust.trust import AskTrust, TrustAnswer, TrustQuestion
    from agent.runtime.runtime import Runtime

OpenRuntime = Callable[[LaunchOptions, Mapping[str, str], "AskTrust"], Awaitable["Runtime"]]


class RuntimeOpener:
    """Opens the folder of *launch*, at the start and again when its settings are to be read
    anew. *settled* is told of each runtime and of its
    commands; *grace* is how long a question ignores keys."""

    def __init__(
        self,
        app: App[int],
        launch: LaunchOptions,
        env: Mapping[str, str],
        open_runtime: OpenRuntime,
        settled: Callable[["Runtime", "Sequence[CommandInfo]"], None],
        grace: float,
    ) -> None:
        self._app = app
        self._launch = launch
        self._env = env
        self._open_runtime = open_runtime
        self._settled = settled
        self._grace = grace

    async def open(self, live: LiveSession) -> "Runtime":
        """Open it for the first time, with the session that the command line asked for."""
        runtime = await self._open_runtime(self._launch, self._env, self._ask_trust)
        commands = await runtime.commands.all()
        await live.start(runtime, self._launch)
        self._settled(runtime, commands)
        return runtime

    async def reopen(self, live: LiveSession) -> None:
        """Open it with the settings that hold now, and go on with the same session."""
        before = live.runtime
        runtime = await self._open_runtime(self._launch, self._env, self._ask_trust)
        runtime.permissions.mode = before.permissions.mode
        await live.restart(runtime)
        await before.close()
        self._settled(runtime, await runtime.commands.all())

    async def _ask_trust(self, question: "TrustQuestion") -> "TrustAnswer":
        """Ask before anything of the folder is used. What is sent meanwhile waits."""
        return await show_dialog(self._app, TrustScreen(question, grace=self._grace)) or "later"
