"""The dialog of an MCP server's form: all of its fields, the fault of each below it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent.mcp.forms import form_problems, form_values, hint_of
from agent.records.requests import FormField, QuestionReply
from app.screens.base.dialog import LATER_KEY
from app.screens.base.fitted import Fitted
from app.screens.base.hints import KeyHints
from app.screens.requests.question import QuestionDialog
from app.text.sanitize import sanitize, sanitize_line
from app.widgets.input.field import TextField


class ChoiceList(OptionList):
    """The choices of a field, one or several of them marked."""

    def __init__(self, form_field: FormField) -> None:
        super().__init__(markup=False, compact=True)
        self._labels = tuple(form_field.choices)
        self.multiple = form_field.multiple
        self._marked = {label for label in form_field.default if label in form_field.choices}

    def on_mount(self) -> None:
        self._show(next((n for n, x in enumerate(self._labels) if x in self._marked), 0))

    @property
    def given(self) -> tuple[str, ...]:
        """The marked labels."""
        return tuple(label for label in self._labels if label in self._marked)

    def mark(self, *, keep: bool = False) -> None:
        """Mark the highlighted choice, or take its mark away unless *keep*."""
        at = self.highlighted or 0
        label = {self._labels[at]}
        if self.multiple:
            self._marked ^= label
        else:
            self._marked = label if keep else label - self._marked
        self._show(at)

    def enter(self) -> None:
        """Choose the highlighted one, where there is only one to choose."""
        if not self.multiple:
            self.mark(keep=True)

    def moves(self, step: int) -> bool:
        """Highlight the choice *step* below, and return whether there is one."""
        at = (self.highlighted or 0) + step
        if not 0 <= at < len(self._labels):
            return False
        self.highlighted = at
        return True

    def _show(self, at: int) -> None:
        on, off = ("[x] ", "[ ] ") if self.multiple else ("(•) ", "( ) ")
        self.set_options(
            Option(
                Content.assemble(
                    (on if label in self._marked else off, "$tone-accent"), sanitize_line(label)
                )
            )
            for label in self._labels
        )
        self.highlighted = at


class FormButton(Static, can_focus=True):
    """One of the two ways to end a form."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "press", "Press")]

    @dataclass
    class Pressed(Message):
        button: "FormButton"

    def action_press(self) -> None:
        self.post_message(self.Pressed(self))

    def on_click(self) -> None:
        self.action_press()


class FieldBox(Vertical):
    """A field with its label above and its fault below."""

    def __init__(self, form_field: FormField) -> None:
        super().__init__(classes="form-field")
        self.form_field = form_field
        self.control: ChoiceList | TextField
        self._fault = Static(classes="form-fault")

    def compose(self) -> ComposeResult:
        field = self.form_field
        need = " (required)" if field.required else ""
        note = f"  {sanitize_line(field.note)}" if field.note else ""
        yield Static(
            Content.assemble(
                (sanitize_line(field.label), "bold"),
                (need, "$tone-accent"),
                (note, "$tone-muted"),
            ),
            classes="form-label",
        )
        if field.choices:
            self.control = ChoiceList(field)
        else:
            self.control = TextField(
                sanitize_line(", ".join(field.default)),
                placeholder=sanitize_line(hint_of(field)),
                select_on_focus=False,
            )
        yield self.control
        yield self._fault

    def on_mount(self) -> None:
        self._fault.display = False

    def on_input_changed(self) -> None:
        self.show_fault("")

    @property
    def given(self) -> tuple[str, ...]:
        """The marked choices or the text."""
        control = self.control
        return control.given if isinstance(control, ChoiceList) else (control.value,)

    def show_fault(self, fault: str) -> None:
        """Show what is wrong with the field, "" for nothing."""
        self._fault.display = bool(fault)
        self._fault.update(Content.styled(f"✕ {sanitize_line(fault)}", "$tone-err"))


class FormScreen(QuestionDialog):
    """Asks for the fields of a form.

    Enter goes to the next field, and sends the form from the last one; tab and the arrows go
    through the fields too. A form with a fault stays open.
    """

    AUTO_FOCUS = "ChoiceList, TextField"
    _boxes: Sequence[FieldBox] = ()

    def compose(self) -> ComposeResult:
        self._boxes = [FieldBox(each) for each in self.question.fields]
        with Fitted(id="question"):
            yield from self.top()
            with VerticalScroll(id="form-text", can_focus=False):
                yield Static(Content(sanitize(self.question.text)))
            with VerticalScroll(id="form-fields", can_focus=False):
                yield from self._boxes
            with Horizontal(id="form-buttons"):
                yield FormButton("Send", id="form-send")
                yield FormButton("Decline", id="form-decline")
            yield Static(id="question-hints")

    @property
    def takes_text(self) -> bool:
        """Always true: what is typed belongs to a field."""
        return True

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        control = event.widget
        for box in self._boxes:
            box.set_class(box.control is control, "-focused")
        if isinstance(control.parent, FieldBox):
            scroll = self.query_one("#form-fields").scroll_to_center
            self.call_after_refresh(scroll, control.parent, animate=False, immediate=True)
        last = control is self._boxes[-1].control or isinstance(control, FormButton)
        enter = "decline" if control.id == "form-decline" else "send" if last else "next field"
        mark: list[tuple[str, str]] = []
        if isinstance(control, ChoiceList):
            mark = [("space", "mark")]
            enter = enter if control.multiple else f"mark, {enter}"
        tab = () if enter.endswith("next field") else (("tab", "next"),)
        hints = KeyHints(*mark, ("enter", enter), *tab, (LATER_KEY, "later"), ("esc", "cancel"))
        self.query_one("#question-hints", Static).update(hints)

    def on_key(self, event: events.Key) -> None:
        """Handle the keys that go through the form."""
        control = self.focused
        match event.key:
            case "escape":
                self.dismiss(QuestionReply(dismissed=True))
            case "up" | "down":
                step = 1 if event.key == "down" else -1
                if not (isinstance(control, ChoiceList) and control.moves(step)):
                    _ = self.focus_next() if step > 0 else self.focus_previous()
            case "enter" if isinstance(control, ChoiceList):
                control.enter()
                self._advance(control)
            case "space" if isinstance(control, ChoiceList):
                self._mark(control)
            case _:
                return
        event.stop()
        event.prevent_default()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._advance(event.input)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Mark the clicked choice."""
        event.stop()
        if isinstance(event.option_list, ChoiceList) and not self.is_too_early(event.time):
            self._mark(event.option_list)

    def on_form_button_pressed(self, event: FormButton.Pressed) -> None:
        event.stop()
        if self.is_too_early(event.time):
            return
        if event.button.id == "form-decline":
            self.dismiss(QuestionReply(declined=True))
        else:
            self._send()

    def _mark(self, control: ChoiceList) -> None:
        control.mark()
        for box in self._boxes:
            if box.control is control:
                box.show_fault("")

    def _advance(self, control: Widget) -> None:
        """Go to the next field, or send the form from the last one."""
        if control is self._boxes[-1].control:
            self._send()
        else:
            self.focus_next()

    def _send(self) -> None:
        """Close with the values, or show what is wrong at each field and go to the first."""
        values = form_values((box.form_field, box.given) for box in self._boxes)
        problems = form_problems(self.question.fields, values)
        if not problems:
            self.dismiss(QuestionReply(values=values))
            return
        for box in self._boxes:
            box.show_fault(problems.get(box.form_field.name, ""))
        wrong = next(box for box in self._boxes if box.form_field.name in problems)
        self.set_focus(wrong.control)
