"""The dialog of the ``question`` tool: choose options or type an answer."""

from typing import ClassVar, Literal

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent.records.requests import Question, QuestionOption, QuestionReply
from app.screens.base.dialog import LATER_KEY, QUIET_SECONDS, AutoDialog, source_line
from app.screens.base.fitted import Fitted
from app.screens.base.hints import KeyHints
from app.text.sanitize import sanitize, sanitize_line
from app.widgets.input.field import TextField

QuestionOutcome = QuestionReply | Literal["cancel", "later"] | None
"""The result of the dialog: an answer (``dismissed`` for Esc), ``cancel`` for Ctrl+C (cancel the
turn), ``later`` if the question is to wait, or None if it was withdrawn."""

MAX_LABEL = 24
"""The widest label, in cells, that the column of the descriptions makes room for."""

PAGE_STEPS = {"pageup": -5, "pagedown": 5}

DIALOG_KEYS = frozenset({"escape", "up", "down", *PAGE_STEPS})
"""Keys for the dialog even while the answer field has the focus."""


class QuestionDialog(AutoDialog[QuestionOutcome]):
    """The base of the dialogs that ask *question*. *pending* counts all open requests, this one
    included. *source* names the session that asks if it is not the open one."""

    CSS_PATH = "question.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(LATER_KEY, "later", "Answer later", priority=True)
    ]

    def __init__(
        self,
        question: Question,
        *,
        pending: int = 1,
        grace: float = QUIET_SECONDS,
        source: str = "",
    ) -> None:
        super().__init__(grace)
        self.question = question
        self.source = source
        self._pending = pending

    @property
    def key(self) -> str:
        return self.question.id

    def top(self) -> ComposeResult:
        """The first lines: the subject, and who asks."""
        if self.source:
            yield source_line(self.source)
        heading = sanitize_line(self.question.header) or "A question"
        yield Horizontal(
            Static(Content.styled(heading, "bold"), id="question-heading"),
            Static(self._side_note(), id="question-who"),
            id="question-top",
        )

    def set_pending(self, waiting: int) -> None:
        """Update the number of open requests."""
        if waiting != self._pending:
            self._pending = waiting
            # Another request can arrive before this screen is composed or while it closes.
            for who in self.query("#question-who").results(Static):
                who.update(self._side_note())

    def interrupt(self) -> None:
        """Close for Ctrl+C: cancel the turn that asked."""
        self.dismiss("cancel")

    def action_later(self) -> None:
        self.dismiss("later")

    def _side_note(self) -> Content:
        question = self.question
        parts = [
            f"question {question.number} of {question.total}" if question.total > 1 else "",
            f"{self._pending} waiting" if self._pending > 1 else "",
            f"agent {sanitize_line(question.agent)}" if question.agent else "",
        ]
        return Content.styled("   ".join(part for part in parts if part), "$tone-muted")


class QuestionScreen(QuestionDialog):
    """Asks a question with options, or for an answer of the user's own.

    Typing fills the answer field; up and down highlight an option, space marks several where that
    is allowed, Enter answers.
    """

    def compose(self) -> ComposeResult:
        question = self.question
        self._marked: set[int] = set()
        with Fitted(id="question"):
            yield from self.top()
            with VerticalScroll(id="question-scroll", can_focus=False):
                yield Static(Content(sanitize(question.text)), id="question-text")
            yield OptionList(id="question-options", markup=False, compact=True)
            yield TextField(
                placeholder=self._placeholder(), select_on_focus=False, id="question-answer"
            )
            yield Static(self._hints(), id="question-hints")

    def on_mount(self) -> None:
        if not self.query("#question"):  # withdrawn before it was composed
            return
        options = self.query_one(OptionList)
        options.can_focus = False
        options.display = bool(self.question.options)
        self._fill()
        if self.question.options:
            options.highlighted = 0

    def on_key(self, event: events.Key) -> None:
        """Handle the keys that the answer field does not take."""
        self.show_note("")
        answer = self.query_one(Input)
        if answer.has_focus and event.key not in DIALOG_KEYS:
            return  # the field's own keys reach their bindings through here
        event.stop()
        match event.key:
            case "escape" if answer.value:
                answer.value = ""
            case "escape":
                self.dismiss(QuestionReply(dismissed=True))
            case "up" | "down":
                self._move(-1 if event.key == "up" else 1)
            case "pageup" | "pagedown":
                scroll = self.query_one("#question-scroll", VerticalScroll)
                scroll.scroll_relative(y=PAGE_STEPS[event.key], animate=False)
            case "enter":
                self._answer()
            case "space" if self.question.multiple and not answer.value:
                self._mark()
            case _ if event.is_printable and event.character is not None:
                self.set_focus(answer)
                answer.insert_text_at_cursor(event.character)
            case _:
                pass

    @property
    def takes_text(self) -> bool:
        """Always true: the first typed character gives the focus to the answer field."""
        return True

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        answer = self.query_one(Input)
        if not answer.has_focus:
            self.set_focus(answer)
            answer.insert_text_at_cursor(" ".join(event.text.split()))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Give the focus back to the options when the answer field is emptied."""
        event.stop()
        if not event.value:
            self.set_focus(None)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._answer()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Choose the clicked option, or mark it where several can be chosen."""
        event.stop()
        if self.is_too_early(event.time):
            return
        if self.question.multiple:
            self._mark()
        else:
            self._answer()

    def _move(self, step: int) -> None:
        options = self.query_one(OptionList)
        if options.option_count:
            at = options.highlighted if options.highlighted is not None else -step
            options.highlighted = max(0, min(options.option_count - 1, at + step))

    def _mark(self) -> None:
        at = self.query_one(OptionList).highlighted
        if at is not None:
            self._marked ^= {at}
            self._fill(at)

    def _answer(self) -> None:
        """Answer with what is marked and typed, or else with the highlighted option."""
        text = self.query_one(Input).value.strip()
        chosen = sorted(self._marked)
        at = self.query_one(OptionList).highlighted
        if not text and not chosen and at is not None:
            chosen = [at]
        if text or chosen:
            labels = tuple(self.question.options[n].label for n in chosen)
            self.dismiss(QuestionReply(labels, text))

    def _fill(self, at: int | None = None) -> None:
        options = self.query_one(OptionList)
        options.set_options([self._option(n, o) for n, o in enumerate(self.question.options)])
        options.highlighted = at

    def _option(self, number: int, option: QuestionOption) -> Option:
        mark = ("[x] " if number in self._marked else "[ ] ") if self.question.multiple else ""
        label, note = sanitize_line(option.label), sanitize_line(option.description)
        if note:
            label += " " * (max(0, self._label_width - cell_len(label)) + 3)
        return Option(Content.assemble((mark, "$tone-accent"), label, (note, "$tone-muted")))

    @property
    def _label_width(self) -> int:
        """The width of the labels before the column of the descriptions, 0 for no column."""
        described = (each.label for each in self.question.options if each.description)
        widths = (cell_len(sanitize_line(label)) for label in described)
        fitting = (width for width in widths if width <= MAX_LABEL)
        return 0 if self.has_class("-narrow") else max(fitting, default=0)

    def _placeholder(self) -> str:
        return "or type your own answer" if self.question.options else "Type your answer"

    def show_note(self, note: str) -> None:
        self.query_one("#question-hints", Static).update(self._hints(note))

    def _hints(self, note: str = "") -> KeyHints:
        mark = [("space", "mark")] if self.question.multiple else []
        keys = (*mark, ("enter", "answer"), (LATER_KEY, "later"), ("esc", "close and stop"))
        return KeyHints(*keys, note=note)
