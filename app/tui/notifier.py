"""What the terminal around the program is told: its title, and that somebody is wanted."""

from textual.app import App

from app.text.sanitize import sanitize_line
from app.theme.preferences import NotificationStyle, appearance_of

TITLE_CELLS = 40
SAVE_TITLE, RESTORE_TITLE = "\x1b[22;2t", "\x1b[23;2t"


def title_sequence(title: str) -> str:
    """The sequence (OSC 2) that sets the terminal's title to the cleaned, cut *title*."""
    text = "".join(char for char in sanitize_line(title) if char.isprintable())
    text = text if len(text) <= TITLE_CELLS else text[: TITLE_CELLS - 1] + "…"
    return f"\x1b]2;{text}\x07"


def notify_sequence(sentence: str, way: NotificationStyle = "auto", *, tmux: bool = False) -> str:
    """What tells the user of *sentence* in this *way*; inside tmux it is passed through to the
    terminal around it."""
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
    """*sequence* for the terminal around tmux."""
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"


class TerminalNotifier:
    """Writes titles only when they change, notifications only while nobody looks."""

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
        """What gives the terminal its old title back; to be written once the app is gone."""
        return RESTORE_TITLE if self._title else ""

    def notify(self, sentence: str) -> None:
        """Tell that something waits or is done, unless the terminal has the focus."""
        if not self._app.app_focus:
            way = appearance_of(self._app).notify
            write_sequence(self._app, notify_sequence(sentence, way, tmux=self._tmux))


def write_sequence(app: App[int], sequence: str) -> None:
    """Write *sequence* to the terminal, between what Textual writes."""
    # Textual has no call for it; the driver is where its own sequences go too.
    driver = app._driver  # pyright: ignore[reportPrivateUsage] - see above
    if driver is not None:
        driver.write(sequence)
        driver.flush()
