"""Small dialogs: yes or no, one line of text, an API key, an unexpected error."""

from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from app.screens.base.dialog import QUIET_SECONDS, AutoDialog, Dialog
from app.text.sanitize import sanitize
from app.widgets.input.field import TextField

STYLE_SHEET = str(Path(__file__).with_name("dialog.tcss"))


def _keys(key: str, what: str, other_key: str, other: str) -> Static:
    text = Content.assemble(
        (key, "bold"),
        (f" {what}   ", "$tone-muted"),
        (other_key, "bold"),
        (f" {other}", "$tone-muted"),
    )
    return Static(text, classes="dialog-keys")


class ConfirmScreen(AutoDialog[bool]):
    """Asks *question*; only y confirms, everything else that closes it does not.

    The user has asked for it, and yet can go on typing before it is visible.
    """

    CSS_PATH = STYLE_SHEET
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,escape", "answer(False)", "No"),
    ]

    def __init__(self, question: str, detail: str = "") -> None:
        super().__init__(grace=0)
        self._question = question
        self._detail = detail

    def answers(self, key: str) -> bool:
        return key in {"y", "n"}

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Content.styled(sanitize(self._question), "bold"))
            if self._detail:
                yield Static(Content(sanitize(self._detail)), classes="dialog-text")
            yield _keys("y", "yes", "n", "no")

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)


class ErrorScreen(AutoDialog[bool]):
    """Shows what failed and where the log is. Returns True to continue, False to quit."""

    CSS_PATH = STYLE_SHEET
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
            yield _keys("enter", "go on", "q", "quit")

    def action_leave(self, quit_program: bool) -> None:
        self.dismiss(not quit_program)


class TextScreen(Dialog[str | None]):
    """Returns one line of text, or None if it was closed or left empty."""

    CSS_PATH = STYLE_SHEET
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close")]

    def __init__(self, question: str, value: str = "") -> None:
        super().__init__()
        self._question = question
        self._value = value

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Content.styled(sanitize(self._question), "bold"))
            yield TextField(sanitize(self._value), select_on_focus=False, classes="dialog-input")
            yield _keys("enter", "go on", "esc", "close")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip() or None)


class ApiKeyScreen(Dialog[str | None]):
    """Returns a provider's API key, which is not shown while it is typed or pasted, or None if it
    was closed.

    *title* is the provider's name, *where* the page where keys are created, *error* why the last
    key was refused.
    """

    CSS_PATH = STYLE_SHEET
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
            yield _keys("enter", "keep it", "esc", "close")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if key := event.value.strip():
            self.dismiss(key)
