"""A tiny app that holds nothing but a transcript."""

from textual.app import App, ComposeResult

from app import themes
from app.state import SessionView
from app.widgets.transcript.view import Transcript
from tests.support.records import START


class TranscriptApp(App[None]):
    """*now* is the time that clocks in the transcript show."""

    def __init__(self, view: SessionView | None = None, *, theme: str = themes.DARK) -> None:
        super().__init__()
        themes.register(self)
        self.theme = theme
        self.animation_level = "none"
        self.now = START + 4
        self.messages: list[object] = []
        self.transcript = Transcript(view, clock=lambda: self.now)

    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_transcript_new_below(self, message: Transcript.NewBelow) -> None:
        self.messages.append(message)

    def on_transcript_open_session(self, message: Transcript.OpenSession) -> None:
        self.messages.append(message)
