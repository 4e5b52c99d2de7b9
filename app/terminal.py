"""What the terminal around the program is told: its title, and that somebody is wanted."""

from textual.app import App

from app.clean import clean_line

TITLE_CELLS = 40
SAVE_TITLE, RESTORE_TITLE = "\x1b[22;2t", "\x1b[23;2t"


def title_sequence(title: str) -> str:
    """The sequence (OSC 2) that sets the terminal's title to the cleaned, cut *title*."""
    text = "".join(char for char in clean_line(title) if char.isprintable())
    text = text if len(text) <= TITLE_CELLS else text[: TITLE_CELLS - 1] + "…"
    return f"\x1b]2;{text}\x07"


def notify_sequence(sentence: str) -> str:
    """A desktop notification (OSC 9) and the bell."""
    text = "".join(char for char in clean_line(sentence) if char.isprintable())
    return f"\x1b]9;{text}\x07\x07"


class Terminal:
    """Writes titles only when they change, notifications only while nobody looks."""

    def __init__(self, app: App[int]) -> None:
        self._app = app
        self._title = ""

    def title(self, title: str) -> None:
        if title != self._title:
            first = SAVE_TITLE if not self._title else ""
            self._title = title
            self._write(first + title_sequence(title))

    def restore(self) -> str:
        """What gives the terminal its old title back; to be written once the app is gone."""
        return RESTORE_TITLE if self._title else ""

    def want(self, sentence: str) -> None:
        """Tell that something waits or is done, unless the terminal has the focus."""
        if not self._app.app_focus:
            self._write(notify_sequence(sentence))

    def _write(self, sequence: str) -> None:
        # Textual has no call for the title; the driver is where its own sequences go too.
        driver = self._app._driver  # pyright: ignore[reportPrivateUsage] - see above
        if driver is not None:
            driver.write(sequence)
            driver.flush()
