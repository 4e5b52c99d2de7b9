"""Notices to the user: warnings on the screen, the terminal's title, desktop notifications."""

import time
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Literal

from textual.app import App

from app.screens.base.small_dialogs import ErrorScreen
from app.terminal.driver import tmux_passthrough, write_sequence
from app.text.sanitize import sanitize, sanitize_line
from app.theme.appearance import NotificationStyle, appearance_of

WARNING_SECONDS = 8.0
"""Seconds within which the same warning is shown once."""

TITLE_CELLS = 40
"""The longest title, in cells."""
ProgressState = Literal["", "works", "waits"]
PROGRESS: dict[ProgressState, str] = {
    "": "\x1b]9;4;0\x07",
    "works": "\x1b]9;4;3\x07",
    "waits": "\x1b]9;4;4;100\x07",
}
"""Sequences (OSC 9;4) for no progress, progress of unknown length, and a warning."""
SAVE_TITLE, RESTORE_TITLE = "\x1b[22;2t", "\x1b[23;2t"


def title_sequence(title: str) -> str:
    """Return the sequence (OSC 2) that sets the terminal's title, cleaned and shortened."""
    text = "".join(char for char in sanitize_line(title) if char.isprintable())
    text = text if len(text) <= TITLE_CELLS else text[: TITLE_CELLS - 1] + "…"
    return f"\x1b]2;{text}\x07"


def notify_sequence(sentence: str, way: NotificationStyle = "auto", *, tmux: bool = False) -> str:
    """Return the sequence that notifies the user; it passes through tmux."""
    text = "".join(char for char in sanitize_line(sentence) if char.isprintable())
    osc = ""
    if way in {"auto", "osc9"}:
        osc = f"\x1b]9;{text}\x07"
    elif way == "osc777":
        osc = f"\x1b]777;notify;opencode-py;{text.replace(';', ',')}\x07"
    return (tmux_passthrough(osc) if tmux and osc else osc) + (
        "\x07" if way in {"auto", "bell"} else ""
    )


class Dedupe:
    """Lets each notice through once within *seconds*: many failing operations raise the same one,
    such as writes to a full disk."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._shown: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._shown)

    def is_new(self, notice: str) -> bool:
        """Return whether *notice* was not shown within the last seconds, and remember it."""
        now = self._clock()
        self._shown = {shown: at for shown, at in self._shown.items() if now - at < self._seconds}
        if notice in self._shown:
            return False
        self._shown[notice] = now
        return True


@dataclass(slots=True, eq=False)
class Notices:
    """Warnings on the screen, and the dialog for a crash of the front end.

    *on_main_screen* returns whether no dialog is open. *grace* is how long the crash dialog ignores
    keys, in seconds.
    """

    app: App[int]
    on_main_screen: Callable[[], bool]
    log_path: str
    grace: float
    _recent: Dedupe = field(default_factory=lambda: Dedupe(WARNING_SECONDS), init=False)

    def warn(self, sentence: str) -> None:
        self.app.notify(sanitize(sentence), severity="warning", markup=False)

    def fail(self, sentence: str) -> None:
        """Show what the user wanted and did not get."""
        self.app.notify(sanitize(sentence), severity="error", markup=False)

    def warn_once(self, sentence: str, *, failed: bool = False) -> None:
        """Show a warning, or that something *failed*, unless the same is on the screen."""
        if self._recent.is_new(sentence):
            (self.fail if failed else self.warn)(sentence)

    def show_crash(self, error: BaseException) -> None:
        """Show the failure of a task, which was logged, and let the user continue or exit."""
        if self.on_main_screen():
            kind = type(error).__name__
            screen = ErrorScreen(f"{kind}: {error}", self.log_path, grace=self.grace)
            self.app.push_screen(screen, lambda go_on: None if go_on else self.app.exit(1))


@dataclass(slots=True, eq=False)
class TerminalNotifier:
    """Writes titles when they change, and notifications while the terminal does not have the focus
    (*has_focus*)."""

    app: App[int]
    has_focus: Callable[[], bool]
    _: KW_ONLY
    tmux: bool = False
    _title: str = field(default="", init=False)
    _progress: ProgressState = field(default="", init=False)

    def set_title(self, title: str) -> None:
        if not appearance_of(self.app).title:
            if self._title:
                write_sequence(self.app, RESTORE_TITLE)
            self._title = ""
        elif title != self._title:
            first = SAVE_TITLE if not self._title else ""
            self._title = title
            write_sequence(self.app, first + title_sequence(title))

    def set_progress(self, state: ProgressState) -> None:
        """Show in the terminal's tab or task bar, where it can, that the agent works or waits."""
        if state != self._progress and appearance_of(self.app).title:
            self._progress = state
            sequence = PROGRESS[state]
            write_sequence(self.app, tmux_passthrough(sequence) if self.tmux else sequence)

    def restore_sequence(self) -> str:
        """Return the sequence that restores the old title and removes the progress; write it once
        the app is closed."""
        progress = PROGRESS[""] if self._progress else ""
        if progress and self.tmux:
            progress = tmux_passthrough(progress)
        return progress + (RESTORE_TITLE if self._title else "")

    def notify(self, sentence: str) -> None:
        """Notify the user of *sentence*, unless the terminal has the focus."""
        if not self.has_focus():
            way = appearance_of(self.app).notify
            write_sequence(self.app, notify_sequence(sentence, way, tmux=self.tmux))
