"""A yes-or-no dialog that cannot be confirmed by accident."""

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from app.screens.base.dialog import Dialog
from app.text.sanitize import sanitize


class ConfirmScreen(Dialog[bool]):
    """Asks *question*; only y confirms, everything else that closes it does not."""

    CSS_PATH = str(Path(__file__).with_name("dialog.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape", "answer(False)", "No"),
    ]

    def __init__(self, question: str, detail: str = "") -> None:
        super().__init__()
        self._question = question
        self._detail = detail

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Content.styled(sanitize(self._question), "bold"))
            if self._detail:
                yield Static(Content(sanitize(self._detail)), classes="dialog-text")
            keys = Content.assemble(
                ("y", "bold"), (" yes   ", "$tone-muted"), ("n", "bold"), (" no", "$tone-muted")
            )
            yield Static(keys, classes="dialog-keys")

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)

    def interrupt(self) -> None:
        self.dismiss(result=False)
