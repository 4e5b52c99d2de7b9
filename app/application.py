"""The app: Textual's part of the front end. What it shows and does is the controller's.

The first frame is painted before the harness is imported; the runtime opens in a task, and
what is typed or sent meanwhile waits for it (spec 8; spec 9, Q1).
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Mapping
from typing import ClassVar, TextIO, cast

from textual import events
from textual.app import App
from textual.binding import Binding, BindingType

import app.actions  # noqa: F401  # pyright: ignore[reportUnusedImport] - fills the registry
from app.controller import Controller, Opener
from app.copying import copy_and_tell
from app.driver import TerminalDriver
from app.launch import Launch
from app.logs import start_log
from app.look import Look, background_told
from app.opening import load
from app.replies import TerminalBackground, hinted_dark
from app.screens.permission import QUIET
from app.screens.session import SessionScreen
from app.themes import register
from app.widgets.transcript.view import Transcript

log = logging.getLogger(__name__)


class OpencodeApp(App[int]):
    """*open_runtime* is awaited once, after the first frame. *grace* is how long a new
    permission dialog ignores keys, in seconds (tests set it to 0)."""

    TITLE = "opencode-py"
    ENABLE_COMMAND_PALETTE = False  # ours is a list as every other (U13)
    # From 156 columns on a diff has the room to stand side by side beside the sidebar.
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-wide"), (156, "-broad")]  # noqa: RUF012 - typed by Textual
    VERTICAL_BREAKPOINTS = [(0, "-short"), (16, "-tall")]  # noqa: RUF012 - typed by Textual
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", "Interrupt", show=False, priority=True)
    ]

    def __init__(
        self,
        launch: Launch,
        env: Mapping[str, str],
        open_runtime: Opener,
        *,
        log_path: str = "",
        grace: float = QUIET,
    ) -> None:
        super().__init__(driver_class=TerminalDriver)
        dark = hinted_dark(env.get("COLORFGBG", ""))
        register(cast("App[object]", self), dark=dark)
        self.look = Look(dark=dark)
        self._log_path = log_path
        self._env = env
        self.controller = Controller(
            self, launch, env, open_runtime, log_path=log_path, grace=grace
        )

    def on_mount(self) -> None:
        self.app_resume_signal.subscribe(self, self._resumed)  # pyright: ignore[reportUnknownMemberType] - Textual leaves it untyped
        self.push_screen(self.controller.main)
        self.call_after_refresh(self.controller.start)

    def _resumed(self, _: object) -> None:
        """After ctrl+z and fg the alternate screen is empty, whatever was painted before."""
        self.refresh(layout=True)

    async def on_event(self, event: events.Event) -> None:
        """Keys of actions come before any widget's (U15)."""
        if not self._takes(event):
            await super().on_event(event)

    def copy_to_clipboard(self, text: str) -> None:
        """Textual's, for everybody who copies; it is told how it went (V20)."""
        self._clipboard = text  # what ctrl+v in a field takes
        self.controller.tasks.spawn(copy_and_tell(self, self._env, text), "copying")

    def _takes(self, event: events.Event) -> bool:
        if not isinstance(event, events.Key) or event.is_forwarded:
            return False
        return self.controller.takes(event.key)

    def on_terminal_background(self, event: TerminalBackground) -> None:
        background_told(self, dark=event.dark)

    def on_transcript_earlier(self) -> None:
        controller = self.controller
        controller.tasks.spawn(controller.paging.read(), "reading earlier messages")

    def on_transcript_open_session(self, event: Transcript.OpenSession) -> None:
        controller = self.controller
        controller.tasks.spawn(controller.live.open(event.session_id), "opening a sub-agent")

    def on_session_screen_sent(self, event: SessionScreen.Sent) -> None:
        self.controller.send(event.text)

    def on_session_screen_called(self, event: SessionScreen.Called) -> None:
        self.controller.call(event.action, event.argument)

    def on_session_screen_files_wanted(self, event: SessionScreen.FilesWanted) -> None:
        self.controller.finding.files(event.typed)

    def on_session_screen_interrupted(self) -> None:
        if self.controller.live.busy or not self.controller.family.leave():
            self.controller.interrupting.escape()

    def on_session_screen_leaving(self) -> None:
        self.exit(0)

    def on_session_screen_resumed(self) -> None:
        self.controller.sync_questions()

    def action_interrupt(self) -> None:
        self.controller.interrupting.press()

    async def action_quit(self) -> None:
        self.exit(0)

    def resume_command(self) -> str | None:
        """The command that opens this session again, None if there is nothing to resume."""
        view = self.controller.live.view
        if view is None or not view.message_ids:
            return None
        return f"opencode-py --session {view.session_id}"

    def _fatal_error(self) -> None:
        """Textual's hook for an exception in a message handler: log it, leave in one piece."""
        log.error("the user interface failed", exc_info=sys.exc_info())
        self.controller.last_words = (
            "opencode-py stopped because of a fault of its own. The session is saved.\n"
            f"Details are in {self._log_path}"
        )
        self.panic()


def run_app(launch: Launch, env: Mapping[str, str]) -> int:
    """Run the full screen until it is left and return the exit code."""
    log_path = start_log(env)
    return asyncio.run(_run(OpencodeApp(launch, env, load, log_path=str(log_path))))


async def _run(opencode: OpencodeApp) -> int:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, opencode.exit, 128 + number, 128 + number)
    try:
        result = await opencode.run_async()
    finally:
        _tell(sys.stderr, opencode.controller.terminal.restore())
        await opencode.controller.close()
    if opencode.controller.last_words:
        _tell(sys.stderr, f"{opencode.controller.last_words}\n")
    resume = opencode.resume_command()
    _tell(sys.stdout, f"To go on: {resume}\n" if resume is not None else "")
    return opencode.return_code or result or 0


def _tell(stream: TextIO, text: str) -> None:
    """Write *text*, unless the terminal is gone: then what Python writes at its end goes nowhere
    too, and the exit code stays what it is."""
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
