"""Notices to the user: warnings on the screen, the terminal's title, desktop notifications."""

import time
from collections.abc import Callable

from textual.app import App

from app.screens.base.questions import ErrorScreen
from app.text.sanitize import sanitize, sanitize_line
from app.theme.preferences import NotificationStyle, appearance_of

WARNING_SECONDS = 8.0
"""The time that a warning is shown."""

TITLE_CELLS = 40
"""The longest title, in cells."""
SAVE_TITLE, RESTORE_TITLE = "\x1b[22;2t", "\x1b[23;2t"


def title_sequence(title: str) -> str:
    """Return the sequence (OSC 2) that sets the terminal's title to the cleaned, shortened
    *title*."""
    text = "".join(char for char in sanitize_line(title) if char.isprintable())
    text = text if len(text) <= TITLE_CELLS else text[: TITLE_CELLS - 1] + "…"
    return f"\x1b]2;{text}\x07"


def notify_sequence(sentence: str, way: NotificationStyle = "auto", *, tmux: bool = False) -> str:
    """Return the sequence that notifies the user of *sentence*. Inside tmux it is passed through to
    the outer terminal."""
    text = "".join(char for char in sanitize_line(sentence) if char.isprintable())
    osc = ""
    if way in {"auto", "osc9"}:
        osc = f"\x1b]9;{text}\x07"
    elif way == "osc777":
        osc = f"\x1b]777;notify;opencode-py;{text.replace(';', ',')}\x07"
    return (tmux_passthrough(osc) if tmux and osc else osc) + (
        "\x07" if way in {"auto", "bell"} else ""
    )


def tmux_passthrough(sequence: str) -> str:
    """Return *sequence* wrapped for the terminal around tmux."""
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"


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


class Notices:
    """Warnings on the screen, and the dialog for a crash of the front end.

    *on_main_screen* returns whether no dialog is open. *grace* is how long the crash dialog ignores
    keys, in seconds.
    """

    def __init__(
        self, app: App[int], on_main_screen: Callable[[], bool], log_path: str, grace: float
    ) -> None:
        self._app = app
        self._on_main_screen = on_main_screen
        self._log_path = log_path
        self._grace = grace
        self._recent = Dedupe(WARNING_SECONDS)

    def warn(self, sentence: str) -> None:
        """Show a warning."""
        self._app.notify(
            sanitize(sentence), severity="warning", markup=False, timeout=WARNING_SECONDS
        )

    def warn_once(self, sentence: str) -> None:
        """Show a warning unless the same one is on the screen."""
        if self._recent.is_new(sentence):
            self.warn(sentence)

    def show_crash(self, error: BaseException) -> None:
        """Show the failure of a task, which was logged, and let the user continue or exit."""
        if self._on_main_screen():
            kind = type(error).__name__
            screen = ErrorScreen(f"{kind}: {error}", self._log_path, grace=self._grace)
            self._app.push_screen(screen, lambda go_on: None if go_on else self._app.exit(1))


class TerminalNotifier:
    """Writes titles when they change, and notifications while the terminal has no focus."""

    def __init__(self, app: App[int], *, tmux: bool = False) -> None:
        self._app = app
        self._tmux = tmux
        self._title = ""

    def set_title(self, title: str) -> None:
        if not appearance_of(self._app).title:
            if self._title:
                write_sequence(self._app, RESTORE_TITLE)
            self._title = ""
        elif title != self._title:
            first = SAVE_TITLE if not self._title else ""
            self._title = title
            write_sequence(self._app, first + title_sequence(title))

    def restore_sequence(self) -> str:
        """Return the sequence that restores the old title; write it once the app is closed."""
        return RESTORE_TITLE if self._title else ""

    def notify(self, sentence: str) -> None:
        """Notify the user of *sentence*, unless the terminal has the focus."""
        if not self._app.app_focus:
            way = appearance_of(self._app).notify
            write_sequence(self._app, notify_sequence(sentence, way, tmux=self._tmux))


def write_sequence(app: App[int], sequence: str) -> None:
    """Write *sequence* to the terminal, in between Textual's own output."""
    # Textual has no public method for it; its own sequences go through the driver too.
    driver = app._driver  # pyright: ignore[reportPrivateUsage] - see above
    if driver is not None:
        driver.write(sequence)
        driver.flush()
