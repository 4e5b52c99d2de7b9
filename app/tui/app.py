"""The Textual application: the first frame, key and mouse events, the way out.

The first frame is painted before the rest of the front end and the agent are imported. The runtime
opens in a task; what is typed or sent meanwhile is queued.
"""

import asyncio
import importlib
import logging
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TextIO, cast

from rich.console import RenderableType
from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import LineFilter, NoColor
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import AwaitMount

from app.screens.base.dialog import QUIET_SECONDS
from app.screens.main.screen import SessionScreen
from app.session_state.folder_facts import Workspace, short_folder
from app.startup.launch import LaunchOptions, load_runtime, resume_command, with_command
from app.startup.logs import start_log
from app.terminal.clipboard import copy_and_notify
from app.terminal.driver import TerminalDriver, can_paint, one_write
from app.terminal.key_parser import TerminalBackground, colorfgbg_is_dark
from app.text.file_links import file_links
from app.theme.appearance import Appearance, set_terminal_background
from app.theme.themes import has_few_colors, register
from app.tui.type_ahead import Later, TypeAhead
from app.widgets.home import HomeFacts
from app.widgets.notice_line import SECONDS

if TYPE_CHECKING:  # not loaded for the first frame
    from app.tui.controller import Controller
    from app.tui.runtime_startup import OpenRuntime
    from app.widgets.transcript.transcript import Transcript

log = logging.getLogger(__name__)

# From 156 columns on, a side-by-side diff fits next to the sidebar.
_WIDTH_CLASSES = [(0, "-narrow"), (60, "-wide"), (156, "-broad")]
_HEIGHT_CLASSES = [(0, "-short"), (20, "-tall")]


class OpencodeApp(App[int]):
    """The full-screen program.

    *open_runtime* is awaited once, after the first frame. *grace* is how long the keyboard must be
    quiet before a dialog that opens by itself takes keys, in seconds; tests set it to 0, and then
    typed text is not told from answers either. *later* is the timer of answers that are held.
    """

    TITLE = "opencode-py"
    # Read before the first screen, so that its rules are parsed once.
    CSS_PATH = str(Path(__file__).parents[1] / "screens" / "main" / "main.tcss")
    ENABLE_COMMAND_PALETTE = False  # the palette is a screen of this program
    HORIZONTAL_BREAKPOINTS = _WIDTH_CLASSES
    VERTICAL_BREAKPOINTS = _HEIGHT_CLASSES
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "interrupt", "Interrupt", show=False, priority=True)
    ]

    def __init__(
        self,
        launch: LaunchOptions,
        env: Mapping[str, str],
        open_runtime: "OpenRuntime",
        *,
        log_path: str = "",
        grace: float = QUIET_SECONDS,
        later: Later | None = None,
    ) -> None:
        super().__init__(driver_class=TerminalDriver)
        dark = colorfgbg_is_dark(env.get("COLORFGBG", ""))
        few = has_few_colors(env)
        register(cast("App[object]", self), dark=dark, few_colors=few)
        files = file_links(launch.directory, socket.gethostname(), env)
        self.appearance = Appearance(dark=dark, few_colors=few, files=files)
        self._log_path = log_path
        self._env = env
        self._launch = launch
        self._open_runtime = open_runtime
        self._grace = grace
        self._controller: Controller | None = None
        self._crash_message = ""
        self._in_dialog: tuple[str, SeverityLevel, float] = ("", "information", -math.inf)
        """The last notice that came while a dialog was open, with its time in monotonic seconds."""
        self.terminal_focused = True
        """False while the terminal reports that another window has the focus."""
        workspace = Workspace(short_folder(launch.directory, env.get("HOME", "")))
        self._main = SessionScreen(HomeFacts(workspace=workspace))
        self._type_ahead = TypeAhead(self._main, later or self._call_in, guards=grace > 0)

    @property
    def controller(self) -> "Controller":
        """The controller: created after the first frame, or earlier for a key that needs it."""
        if self._controller is None:
            from app.tui.controller import Controller  # not loaded for the first frame

            self._controller = Controller(
                self,
                self._main,
                self._launch,
                self._env,
                self._open_runtime,
                log_path=self._log_path,
                grace=self._grace,
                has_focus=lambda: self.terminal_focused,
            )
        return self._controller

    def get_default_screen(self) -> SessionScreen:
        """Return the main screen, so that Textual lays out no empty one below it."""
        return self._main

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Override Textual's filters: grays cannot be made of the terminal's own colors."""
        without = self.no_color and self.native_ansi_color
        return [NoColor()] if without else super().get_line_filters()

    def refresh_css(self, animate: bool = True) -> None:
        """Override Textual's refresh for another theme: before there is a screen, nothing is styled
        and no rule is parsed."""
        if self.screen_stack:
            super().refresh_css(animate)
        else:
            self.stylesheet.set_variables(self.get_css_variables())

    def on_mount(self) -> None:
        self.app_resume_signal.subscribe(self, self._resumed)  # pyright: ignore[reportUnknownMemberType] - Textual leaves it untyped
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        """Import the rest in a thread, now that the first frame is painted: keys echo meanwhile."""
        loop = asyncio.get_running_loop()
        loading = loop.run_in_executor(None, importlib.import_module, "app.tui.controller")
        loading.add_done_callback(lambda _: self.call_later(self._begin))

    def _begin(self) -> None:
        self.controller.start()

    def _resumed(self, _: object) -> None:
        """Paint everything again: after ctrl+z and fg the alternate screen is empty."""
        self.refresh(layout=True)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        """Override Textual's paint: skip the frame while the terminal has not read earlier ones."""
        if not can_paint(self):
            return
        with one_write(self):
            super()._display(screen, renderable)  # pyright: ignore[reportUnknownMemberType] - Textual leaves it untyped

    async def on_event(self, event: events.Event) -> None:
        """Offer keys to actions before any widget. Input before the prompt exists is queued."""
        if isinstance(event, events.Key):
            self.terminal_focused = True  # whatever the terminal reports, or does not
        if not self._main.first_frame_ready and isinstance(event, events.InputEvent | events.Paste):
            await AwaitMount(self._main, [self._main])
        if not self._handle_early(event):
            await super().on_event(event)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = True,
    ) -> None:
        """Override Textual's toasts: the main screen has a line for notices, which covers nothing.
        A dialog still gets a toast. All notices are listed."""
        if self.screen_stack and self.screen is not self._main:
            self._main.notices.add(message, severity)
            self._in_dialog = (message, severity, time.monotonic())
            super().notify(message, title=title, severity=severity, timeout=timeout, markup=markup)
        else:
            self._main.add_notice(message, severity, timeout)

    def copy_to_clipboard(self, text: str) -> None:
        """Override Textual's copy, for every widget, and show how it went."""
        self._clipboard = text  # for ctrl+v in a field
        self.controller.tasks.spawn(copy_and_notify(self, self._env, text), "copying")

    def _call_in(self, seconds: float, action: Callable[[], None]) -> Callable[[], None]:
        return self.set_timer(seconds, action).stop

    def _handle_early(self, event: events.Event) -> bool:
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            return False
        if self._type_ahead.intercept(event, self.screen):
            return True
        if isinstance(event, events.Paste):
            return False
        if self._controller is None and event.is_printable:
            return False  # no action has a printable key, and no leader key was pressed yet
        return self.controller.actions.handle_key(event.key)

    def on_terminal_background(self, event: TerminalBackground) -> None:
        set_terminal_background(self, dark=event.dark)

    def on_app_focus(self) -> None:
        self.terminal_focused = True
        if self._controller is not None:  # the user can come from another program of this one
            self._controller.tasks.spawn(self._controller.live.catch_up(), "reading changes")

    def on_app_blur(self, event: events.AppBlur) -> None:
        """Note that the terminal lost the focus. Textual would take it from the prompt too, and not
        give it back if no widget had it yet: what is typed would be lost."""
        event.prevent_default()
        self.terminal_focused = False

    def on_escape_begun(self) -> None:
        if self._controller is not None:
            self._controller.interrupt.begin_escape()

    def on_escape_taken_back(self) -> None:
        if self._controller is not None:
            self._controller.interrupt.take_back_escape()
            self._controller.show_status()

    def on_transcript_earlier(self) -> None:
        controller = self.controller
        controller.tasks.spawn(controller.paging.read(), "reading earlier messages")

    def on_transcript_open_session(self, event: "Transcript.OpenSession") -> None:
        controller = self.controller
        controller.tasks.spawn(controller.live.open(event.session_id), "opening a sub-agent")

    def on_transcript_open_full(self, event: "Transcript.OpenFull") -> None:
        controller = self.controller
        controller.tasks.spawn(controller.show_full(event.part), "opening an output")

    def on_transcript_open_file(self, event: "Transcript.OpenFile") -> None:
        controller = self.controller
        controller.tasks.spawn(controller.open_file(event.places), "opening a file")

    def on_session_screen_sent(self, event: SessionScreen.Sent) -> None:
        self.controller.sender.send(event.text)

    def on_session_screen_called(self, event: SessionScreen.Called) -> None:
        self.controller.actions.run(event.action, event.argument)
        event.handled()

    def on_session_screen_covered(self) -> None:
        self._type_ahead.hand_over(self.screen)

    def on_session_screen_entered_early(self, event: SessionScreen.EnteredEarly) -> None:
        controller = self.controller
        controller.tasks.spawn(controller.submit_when_ready(event.text), "waiting for the start")

    def on_session_screen_files_wanted(self, event: SessionScreen.FilesWanted) -> None:
        self.controller.mention_search.search(event.typed)

    def on_session_screen_interrupted(self) -> None:
        if self.controller.live.busy or not self.controller.leave_subagent():
            self.controller.interrupt.escape()

    def on_session_screen_leaving(self) -> None:
        self.exit(0)

    def on_session_screen_resumed(self) -> None:
        """Move the last notice from a dialog that was closed to the line above the prompt."""
        message, severity, at = self._in_dialog
        if time.monotonic() - at < SECONDS[severity]:
            self._in_dialog = ("", severity, -math.inf)
            self.clear_notifications()
            self._main.widgets.notices.show(message, severity)
        if self._controller is not None:
            self._controller.sync_requests()

    def action_interrupt(self) -> None:
        self.controller.interrupt.press()

    async def action_quit(self) -> None:
        self.exit(0)

    @property
    def exit_message(self) -> str:
        """The message for the terminal once the screen is closed, empty for none."""
        message = self._controller.exit_message if self._controller is not None else ""
        return self._crash_message or message

    async def close(self) -> None:
        """Restore the terminal's title and close the agent.

        Call it once the screen is closed. A user who leaves before the first frame has neither.
        """
        if self._controller is not None:
            _write(sys.stderr, self._controller.terminal.restore_sequence())
            await self._controller.close()

    def resume_command(self) -> str | None:
        """Return the command that opens this session again, None if there is nothing to resume."""
        view = self._controller.live.view if self._controller is not None else None
        if view is None or not view.message_ids:
            return None
        server = self.controller.live.runtime.server
        return resume_command(view.session_id, *(("attach", server) if server else ()))

    def interrupted_text(self) -> str:
        """Return a line for each session that was working when the program was closed."""
        states = self._controller.interrupted if self._controller is not None else ()
        return "".join(
            with_command(
                f"Interrupted: “{one.title}”. To continue:", resume_command(one.session.id)
            )
            + "\n"
            for one in states
        )

    def _fatal_error(self) -> None:
        """Override Textual's hook for an exception: log it and exit cleanly."""
        log.error("the user interface failed", exc_info=sys.exc_info())
        self._crash_message = (
            f"opencode-py crashed. The session is saved.\nDetails are in {self._log_path}"
        )
        self.panic()


def run_app(
    launch: LaunchOptions, env: Mapping[str, str], open_runtime: "OpenRuntime" = load_runtime
) -> int:
    """Run the full screen until the user leaves and return the exit code."""
    log_path = start_log(env)
    return asyncio.run(_run(OpencodeApp(launch, env, open_runtime, log_path=str(log_path))))


async def _run(opencode: OpencodeApp) -> int:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, opencode.exit, 128 + number, 128 + number)
    try:
        result = await opencode.run_async()
    finally:
        await opencode.close()
    if opencode.exit_message:
        _write(sys.stderr, f"{opencode.exit_message}\n")
    _write(sys.stdout, opencode.interrupted_text())
    resume = opencode.resume_command()
    _write(sys.stdout, f"{with_command('To continue:', resume)}\n" if resume is not None else "")
    return opencode.return_code or result or 0


def _write(stream: TextIO, text: str) -> None:
    """Write *text* unless the terminal is gone. Then Python's own output at exit is discarded too,
    and the exit code stays as it is."""
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
