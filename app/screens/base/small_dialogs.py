"""Small dialogs: yes or no, one line of text, an API key, a server, an unexpected error."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import ClassVar, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Static

from app.screens.base.dialog import QUIET_SECONDS, AutoDialog, Dialog
from app.screens.base.hints import KeyHints
from app.text.sanitize import sanitize
from app.widgets.input.field import TextField

ResultT = TypeVar("ResultT")

LETTER_NEEDED = "Press y or n."
FIELD_WIDTH = 60
"""Characters that a field shows at least, in a terminal of 80 columns."""
STYLE_SHEET = str(Path(__file__).with_name("dialog.tcss"))


def _keys(*pairs: tuple[str, str]) -> Static:
    return Static(KeyHints(*pairs), classes="dialog-keys")


class ConfirmScreen(AutoDialog[bool]):
    """Asks *question*; only y confirms, everything else that closes it does not.

    The user has asked for it, and yet can go on typing before it is visible.
    """

    CSS_PATH = STYLE_SHEET
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "answer(False)", "No"),
    ]
    LETTERS: ClassVar[Mapping[str, str]] = {"y": "answer(True)", "n": "answer(False)"}

    def __init__(
        self, question: str, detail: str = "", *, yes: str = "yes", destructive: bool = False
    ) -> None:
        """*yes* says what y does; *destructive* if it cannot be undone."""
        super().__init__(grace=0)
        self._question = question
        self._detail = detail
        self._keys = (("y", yes), ("n", "no" if yes == "yes" else "cancel"))
        self._destructive = destructive

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -error" if self._destructive else "dialog"):
            yield Static(Content.styled(sanitize(self._question), "bold"))
            if self._detail:
                yield Static(Content(sanitize(self._detail)), classes="dialog-text")
            yield _keys(*self._keys)

    def on_key(self, event: events.Key) -> None:
        """Show that a letter answers, which ``AutoDialog.on_key`` takes: Enter does not."""
        self.show_note(LETTER_NEEDED if event.key == "enter" else "")

    def show_note(self, note: str) -> None:
        hints = KeyHints(*self._keys, note=note)
        self.query_one(".dialog-keys", Static).update(hints)

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)


class ErrorScreen(AutoDialog[bool]):
    """Shows what failed and where the log is. Returns True to continue, False to quit."""

    CSS_PATH = STYLE_SHEET
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,escape", "leave(False)", "Continue"),
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
            yield _keys(("enter", "continue"), ("q", "quit"))

    def action_leave(self, quit_program: bool) -> None:
        self.dismiss(not quit_program)


class TextScreen(Dialog[str | None]):
    """Returns one line of text, or None if it was closed or left empty. The hints name what *enter*
    and *escape* do; a *value* that is longer than the field is shown above it as a whole."""

    CSS_PATH = STYLE_SHEET
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close")]

    def __init__(
        self, question: str, value: str = "", *, enter: str = "continue", escape: str = "cancel"
    ) -> None:
        super().__init__()
        self._question = question
        self._value = value
        self._hints = (("enter", enter), ("esc", escape))

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Content.styled(sanitize(self._question), "bold"))
            if len(self._value) > FIELD_WIDTH:
                text = Content.styled(sanitize(self._value), "$tone-muted")
                yield Static(text, classes="dialog-text")
            yield TextField(sanitize(self._value), select_on_focus=False, classes="dialog-input")
            yield _keys(*self._hints)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip() or None)


Check = Callable[[], Awaitable[str]]
"""Checks what was entered: returns why it is refused, "" if it is accepted."""


class CheckedDialog(Dialog[ResultT]):
    """A dialog whose result is checked before it closes; *error* is the fault of the last one."""

    CSS_PATH = STYLE_SHEET
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "Close")]

    def __init__(self, error: str = "") -> None:
        super().__init__()
        self._error = error

    def fault_line(self) -> Static:
        """Return the line that shows the error."""
        line = Static(Content.styled(sanitize(self._error), "$tone-err"), id="key-fault")
        line.display = bool(self._error)
        return line

    def say(self, sentence: str, tone: str = "$tone-err") -> None:
        """Show *sentence* below the fields."""
        line = self.query_one("#key-fault", Static)
        line.update(Content.styled(sanitize(sentence), tone))
        line.display = bool(sentence)

    def submit(self, result: ResultT, check: Check) -> None:
        """Close with *result* if *check* accepts it, else show the reason and ask again."""
        self.run_worker(self._submit(result, check), exclusive=True)

    async def _submit(self, result: ResultT, check: Check) -> None:
        self.say("Checking", "$tone-muted")
        for field in self.query(Input):
            field.disabled = True
        if not (fault := await check()):
            self.dismiss(result)
            return
        self.say(fault)
        for field in self.query(Input):
            field.disabled = False
            if field.password:
                field.value = ""
        self.query(Input).first().focus()


class ApiKeyScreen(CheckedDialog[str | None]):
    """Returns a provider's API key, which is not shown while it is typed or pasted, or None if it
    was closed.

    *title* is the provider's name, *where* the page where keys are created, *error* why the last
    key was refused. A key that *check* refuses is not returned.
    """

    def __init__(
        self,
        title: str,
        where: str = "",
        error: str = "",
        check: Callable[[str], Awaitable[str]] | None = None,
    ) -> None:
        super().__init__(error)
        self._title = title
        self._where = where
        self._check = check

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Content.styled(f"API key for {sanitize(self._title)}", "bold"))
            lines = [f"Create one at {sanitize(self._where)}"] if self._where else []
            lines.append("It is stored in a file that only you can read")
            yield Static(Content.styled("\n".join(lines), "$tone-muted"), classes="dialog-text")
            yield TextField(password=True, placeholder="Paste the key", classes="dialog-input")
            yield self.fault_line()
            yield _keys(("enter", "save"), ("esc", "close"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        key, check = event.value.strip(), self._check
        if not key:
            return
        if check is None:
            self.dismiss(key)
        else:
            self.submit(key, lambda: check(key))


class OwnServerScreen(CheckedDialog[tuple[str, str] | None]):
    """Returns the address and the key ("" for none) of an OpenAI-compatible server, or None if it
    was closed. *check* gets both and returns why they are refused."""

    def __init__(self, check: Callable[[str, str], Awaitable[str]]) -> None:
        super().__init__()
        self._check = check

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Content.styled("An OpenAI-compatible server", "bold"))
            yield Static(Content.styled("Address", "$tone-muted"), classes="dialog-text")
            yield TextField(
                placeholder="http://192.168.1.5:8000/v1", id="server-url", classes="dialog-input"
            )
            yield Static(
                Content.styled("Key, if it needs one", "$tone-muted"), classes="dialog-text"
            )
            yield TextField(
                password=True,
                placeholder="Paste it, or leave this empty",
                id="server-key",
                classes="dialog-input",
            )
            yield self.fault_line()
            yield _keys(("enter", "next field, then connect"), ("esc", "close"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        url = self.query_one("#server-url", Input).value.strip()
        if event.input.id == "server-url" or not url:
            self.query_one("#server-key" if url else "#server-url").focus()
            return
        key = event.value.strip()
        self.submit((url, key), lambda: self._check(url, key))
