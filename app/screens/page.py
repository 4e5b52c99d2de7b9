"""A page of text to look at: scrolls, and any of the usual keys closes it."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from app.screens.dialog import Dialog


class PageScreen(Dialog[None]):
    """Shows *text* (cleaned by who made it) under *title*."""

    CSS_PATH = "page.tcss"
    AUTO_FOCUS = "#page-text"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "Close")]

    def __init__(self, title: str, text: Content) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical(id="page"):
            yield Static(Content.styled(self._title, "bold"), id="page-title")
            with VerticalScroll(id="page-text"):
                yield Static(self._text)
            keys = Content.assemble(("esc", "bold"), (" close", "$tone-muted"))
            yield Static(keys, id="page-keys")

    def action_close(self) -> None:
        self.dismiss(None)

    def interrupt(self) -> None:
        self.dismiss(None)
