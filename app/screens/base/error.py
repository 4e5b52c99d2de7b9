"""The dialog for an unexpected error."""

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from app.screens.base.dialog import QUIET_SECONDS, AutoDialog
from app.text.sanitize import sanitize


class ErrorScreen(AutoDialog[bool]):
    """Shows what failed and where the log is. Returns True to continue, False to quit."""

    CSS_PATH = str(Path(__file__).with_name("dialog.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,escape", "leave(False)", "Go on"),
        Binding("q", "leave(True)", "Quit"),
    ]

    def __init__(self, message: str, log: str, *, grace: float = QUIET_SECONDS) -> None:
        super().__init__(grace)
        self._message = message
        self._log = log

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -error"):
            yield Static(Content.styled("Something went wrong in opencode-py", "bold"))
            yield Static(Content(sanitize(self._message)), classes="dialog-text")
            where = f"The session is saved. Details are in {sanitize(self._log)}"
            yield Static(Content.styled(where, "$tone-muted"), classes="dialog-text")
            keys = Content.assemble(
                ("enter", "bold"),
                (" go on   ", "$tone-muted"),
                ("q", "bold"),
                (" quit", "$tone-muted"),
            )
            yield Static(keys, classes="dialog-keys")

    def action_leave(self, quit_program: bool) -> None:
        self.dismiss(not quit_program)

    def interrupt(self) -> None:
        self.dismiss(result=False)
