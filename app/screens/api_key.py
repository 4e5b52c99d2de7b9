"""The dialog for a provider's API key, which is not shown while it is typed or pasted."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from app.screens.base.dialog import Dialog
from app.text.sanitize import sanitize
from app.widgets.input.field import TextField


class ApiKeyScreen(Dialog[str | None]):
    """Returns the key, or None if it was closed.

    *title* is the provider's name, *where* the page where keys are created, *error* why the last
    key was refused.
    """

    CSS_PATH = "base/dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close")]

    def __init__(self, title: str, where: str = "", error: str = "") -> None:
        super().__init__()
        self._title = title
        self._where = where
        self._fault = error

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Content.styled(f"Key of {sanitize(self._title)}", "bold"))
            lines = [f"Keys are made at {sanitize(self._where)}"] if self._where else []
            lines.append("It is kept in a file that only you can read")
            yield Static(Content.styled("\n".join(lines), "$tone-muted"), classes="dialog-text")
            yield TextField(password=True, placeholder="Paste the key", classes="dialog-input")
            error = Static(Content.styled(sanitize(self._fault), "$tone-err"), id="key-fault")
            error.display = bool(self._fault)
            yield error
            keys = Content.assemble(
                ("enter", "bold"),
                (" keep it   ", "$tone-muted"),
                ("esc", "bold"),
                (" close", "$tone-muted"),
            )
            yield Static(keys, classes="dialog-keys")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if key := event.value.strip():
            self.dismiss(key)

    def action_close(self) -> None:
        self.dismiss(None)

    def interrupt(self) -> None:
        self.dismiss(None)
