"""A dialog that asks for one line of text."""

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from app.screens.base.dialog import Dialog
from app.text.sanitize import sanitize
from app.widgets.input.field import TextField


class TextScreen(Dialog[str | None]):
    """Returns the text, or None if it was closed or left empty."""

    CSS_PATH = str(Path(__file__).with_name("dialog.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close")]

    def __init__(self, question: str, value: str = "") -> None:
        super().__init__()
        self._question = question
        self._value = value

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Content.styled(sanitize(self._question), "bold"))
            yield TextField(sanitize(self._value), select_on_focus=False, classes="dialog-input")
            keys = Content.assemble(
                ("enter", "bold"),
                (" go on   ", "$tone-muted"),
                ("esc", "bold"),
                (" close", "$tone-muted"),
            )
            yield Static(keys, classes="dialog-keys")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip() or None)

    def action_close(self) -> None:
        self.dismiss(None)

    def interrupt(self) -> None:
        self.dismiss(None)
