"""The server of a running full screen: editors read its sessions and fill in its prompt."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.records.errors import OpencodePyError
from agent.records.json import JsonObject
from app.action_registry.registry import find
from app.screens.main.screen import SessionScreen
from app.session_state.live import LiveSession
from app.terminal.tasks import Tasks
from app.text.sanitize import sanitize_line
from app.tui.action_dispatcher import ActionDispatcher
from app.tui.notifier import Notices

if TYPE_CHECKING:  # loads the agent package
    from agent.runtime.runtime import Runtime
    from app.server.folders import Folders

ACTIONS = {
    "session.new": "session.new",
    "session.list": "session.list",
    "session.select": "session.list",
    "session.undo": "session.undo",
    "session.redo": "session.redo",
    "session.compact": "session.compact",
    "agent.cycle": "agent.cycle",
    "help.show": "app.help",
    "model.list": "model.list",
    "theme.list": "view.theme",
}
"""Commands of the API and the actions that they run."""

SCROLL_KEYS = {
    "session.page.up": "pageup",
    "session.page.down": "pagedown",
    "session.half.page.up": "pageup",
    "session.half.page.down": "pagedown",
    "session.first": "home",
    "session.last": "end",
}

NO_SHARING = "An editor wants to share the session, which is not supported. Use /export."

UNKNOWN = "An editor asked for the command {command}, which is not available."


@dataclass(slots=True, eq=False)
class RemoteControl:
    """Serves the API on *port* of this machine from the first runtime on."""

    main: SessionScreen
    live: LiveSession
    dispatcher: ActionDispatcher
    tasks: Tasks
    notices: Notices
    interrupt: Callable[[], None]
    env: Mapping[str, str]
    port: int | None
    """None to serve nothing, 0 for a free port."""
    address: str = field(default="", init=False)
    """The address of the server once it listens."""
    _folders: "Folders | None" = field(default=None, init=False)
    _ends: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def follow(self, runtime: "Runtime") -> None:
        """Serve *runtime* from now on, in place of an earlier one of the same folder."""
        if runtime.follow_editors is not None:
            runtime.follow_editors(self._handle)
        if self._folders is not None:
            self.tasks.spawn(self._folders.serve(runtime), "serving the folder")
        elif self.port is not None:
            self.tasks.spawn(self._serve(runtime, self.port), "serving editors")

    async def close(self) -> None:
        """End the streams and the server."""
        self._ends.set()
        if self._folders is not None:
            await self._folders.close()

    async def _serve(self, runtime: "Runtime", port: int) -> None:
        from agent.installation import VERSION  # with --port only, as the next ones
        from agent.runtime.pool import RuntimePool
        from app.server.access import LOOPBACK, Access, load_token
        from app.server.folders import Folders
        from app.server.serving import listen, serving, web_app

        try:
            secret = self.env.get("OPENCODE_SERVER_PASSWORD") or load_token(runtime.paths.data)
            listening = listen("127.0.0.1", port)
        except OpencodePyError as error:
            self.notices.warn(error.message)
            return
        pool = RuntimePool(self.env, "text")
        folders = self._folders = Folders(pool, str(runtime.directory), VERSION)
        folders.on_screen_event = self._handle
        await folders.serve(runtime)
        access = Access(frozenset({secret}), LOOPBACK)
        async with serving(web_app(folders, access), listening):
            self.address = f"http://127.0.0.1:{listening.getsockname()[1]}"
            await self._ends.wait()

    def _handle(self, kind: str, properties: JsonObject) -> None:
        """Do what an editor wants of the screen."""
        match kind, properties:
            case "tui.prompt.append", {"text": str(text)}:
                self.main.prompt.set_text(self.main.prompt.text + text)
            case "tui.toast.show", {"message": str(message)}:
                self.notices.warn(message)
            case "tui.session.select", {"sessionID": str(session_id)}:
                self.tasks.spawn(self.live.open(session_id), "opening a session")
            case "tui.command.execute", {"command": str(command)}:
                self._execute(command)
            case _:
                pass

    def _execute(self, command: str) -> None:
        if command == "prompt.clear":
            self.main.prompt.set_text("")
        elif command == "prompt.submit":
            self.main.submit(self.main.prompt.take_text())
        elif command == "session.interrupt":
            self.interrupt()
        elif command in SCROLL_KEYS:
            self.main.action_page(SCROLL_KEYS[command])
        elif (action := find(ACTIONS.get(command, ""))) is not None:
            self.dispatcher.run(action)
        else:
            said = NO_SHARING if command == "session.share" else UNKNOWN
            self.notices.warn(said.format(command=sanitize_line(command)))
