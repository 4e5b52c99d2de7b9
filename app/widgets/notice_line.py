"""The line above the prompt: the newest notice for a while, then how many there are."""

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from agent.records.amounts import count
from app.session_state.notices import Level, NoticeLog
from app.text.sanitize import sanitize

TONES: dict[Level, str] = {
    "information": "$tone-muted",
    "warning": "$tone-warn",
    "error": "$tone-err",
}
SECONDS: dict[Level, float] = {"information": 5.0, "warning": 8.0, "error": 20.0}
"""The time for which each kind of notice is shown."""


def count_text(unseen: int) -> Content:
    """Return how many notices there are and where they are listed."""
    if not unseen:
        return Content("")
    return Content.assemble((f"{count(unseen, 'notice')}, ", "$tone-warn"), ("/status", "bold"))


class NoticeLine(Static):
    """Shows a notice of *log*, then their number; hidden while there are none."""

    def __init__(self, log: NoticeLog, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self.display = False
        self._log = log
        self._timer: Timer | None = None

    def show(self, text: str, level: Level, seconds: float | None = None) -> None:
        """Show *text* for some seconds, by default those of its level."""
        self._stop()
        others = self._log.unseen - (level != "information")
        more = Content.assemble("  ", count_text(others)) if others > 0 else Content("")
        self._display(Content.styled(sanitize(text).strip(), TONES[level]) + more)
        self._timer = self.set_timer(seconds or SECONDS[level], self.show_count)

    def show_count(self) -> None:
        """Show how many notices there are."""
        self._stop()
        self._display(count_text(self._log.unseen))

    def _display(self, content: Content) -> None:
        self.update(content)
        self.display = bool(content)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
