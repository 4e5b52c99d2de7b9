"""Copy mode: the transcript stands still, rows are marked by key and copied (spec 8, U15)."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from app.session.view import SessionView
from app.widgets.transcript.copy_cursor import CopyTranscript

KEYS = (
    ("↑↓", "line"),
    ("{ }", "block"),
    ("v", "mark"),
    ("y", "copy"),
    ("esc", "back"),
)


class CopyModeScreen(Screen[str | None]):
    """Gives back the text to copy, None if nothing is."""

    CSS_PATH = "copy_mode.tcss"
    AUTO_FOCUS = "CopyTranscript"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back", show=False),
    ]

    def __init__(self, view: SessionView, place: tuple[str, str] | None = None) -> None:
        super().__init__()
        self._view = view
        self._at = place

    def compose(self) -> ComposeResult:
        yield CopyTranscript(self._view, id="copy-transcript")
        parts: list[tuple[str, str]] = [("Copy", "bold $tone-accent")]
        for key, what in KEYS:
            parts += [(f"   {key}", "bold"), (f" {what}", "$tone-muted")]
        yield Static(Content.assemble(*parts), id="copy-keys", markup=False)

    def on_mount(self) -> None:
        if self._at is not None:
            self.query_one(CopyTranscript).go_to(*self._at)

    def on_copy_transcript_copied(self, event: CopyTranscript.Copied) -> None:
        event.stop()
        self.dismiss(event.text or None)

    def action_close(self) -> None:
        """Mark nothing any more, then leave."""
        reader = self.query_one(CopyTranscript)
        if reader.marking:
            reader.action_mark()
        else:
            self.dismiss(None)

    def interrupt(self) -> None:
        self.dismiss(None)
