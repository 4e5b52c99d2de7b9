"""The permission dialog: it shows everything and grants nothing by accident."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from agent.records.blocks import DiffBlock, ShellBlock
from agent.records.requests import PermissionReply, PermissionRequest
from agent.session.review.reviewed_file import ReviewedFile
from app.screens.base.dialog import LATER_KEY, QUIET_SECONDS, AutoDialog, source_line
from app.screens.base.fitted import Fitted, Wrapped
from app.screens.base.hints import KeyHints
from app.screens.base.page import FluidText
from app.screens.requests.permission_details import (
    always_text,
    hanging_indent,
    needs_text,
    scope_text,
)
from app.terminal.app_of import app_of
from app.text.sanitize import sanitize
from app.widgets.input.field import CommandEditor, TextField
from app.widgets.permission_subject import PermissionSubject

if TYPE_CHECKING:  # only for a review
    from agent.records.review_comment import ReviewComment
    from app.screens.review.changes import ReviewState

Answer = Literal["once", "always", "unsandboxed", "reject"]
Outcome = PermissionReply | Literal["cancel", "later"] | None
"""The result of the dialog: a reply, ``cancel`` for Ctrl+C (cancel the turn), ``later`` if the
request is to wait, or None if it was withdrawn."""

LABELS: dict[Answer, str] = {
    "once": "once",
    "always": "always",
    "unsandboxed": "without sandbox",
    "reject": "reject",
}
"""The words on the answers; the first letter is the key."""

TONES: dict[Answer, str] = {
    "once": "$tone-ok",
    "always": "$tone-blue",
    "unsandboxed": "$tone-warn",
    "reject": "$tone-err",
}

PAGE = 1_000
"""The number of lines that means one page, whose height is that of the scrolled box."""

SCROLL_STEPS = {"up": -1, "down": 1, "pageup": -PAGE, "pagedown": PAGE}
SHORT_OFFER = 200
"""The length in characters up to which the "always" offer is shown next to the answers and does not
scroll."""

OTHER_ROWS = 16
"""Rows of the dialog besides its subject and the parts of the call."""

HUNK_STEPS = {"n": 1, "j": 1, "p": -1, "k": -1}


NOTHING_SELECTED = "Select an answer first: ← →, or its letter."
EDITED_NOTE = "You changed the command: it is checked again before it runs."


class PermissionScreen(AutoDialog[Outcome]):
    """Asks for one permission. *pending* counts all open requests, this one included. *source*
    names the session that asks if it is not the open one. Without *can_wait* it has to be answered
    now."""

    CSS_PATH = "permission.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(LATER_KEY, "later", "Answer later", priority=True)
    ]

    def __init__(
        self,
        request: PermissionRequest,
        *,
        pending: int = 1,
        grace: float = QUIET_SECONDS,
        source: str = "",
        can_wait: bool = True,
    ) -> None:
        super().__init__(grace)
        self.request = request
        self.source = source
        self._can_wait = can_wait
        self._pending = pending
        self._answers = _answers_to(request, always=bool(request.always))
        self._chosen: Answer | None = None
        self._note = ""
        shells = [block for block in request.blocks if isinstance(block, ShellBlock)]
        self._editable_shell = shells[0] if len(shells) == 1 and request.tool == "bash" else None
        self._edited_command: str | None = None
        self._comments: tuple[ReviewComment, ...] = ()
        self._offer = partial(always_text, request)

    @property
    def key(self) -> str:
        return self.request.id

    def compose(self) -> ComposeResult:
        request = self.request
        changes = any(isinstance(block, DiffBlock) for block in request.blocks)
        with Fitted(id="ask", classes="-changes" if changes else ""):
            if self.source:
                yield source_line(self.source)
            with Horizontal(id="ask-top"):
                yield Static(Content.styled(sanitize(request.heading), "bold"), id="ask-heading")
                yield Static(self._side_note(), id="ask-who")
            with VerticalScroll(id="ask-subject", can_focus=False):
                losing = frozenset(
                    one.need.pattern.split(" ", 1)[0]
                    for one in request.needs
                    if one.need.destructive
                )
                yield PermissionSubject(request.blocks, destructive=losing, id="ask-blocks")
            yield CommandEditor(id="ask-edit")
            with VerticalScroll(id="ask-details", can_focus=False):
                above = any(isinstance(block, ShellBlock) for block in request.blocks)
                yield FluidText(partial(needs_text, request.needs, above=above), id="ask-needs")
                yield FluidText(partial(scope_text, request, str(Path.home())), id="ask-reach")
                yield FluidText(self._offer, classes="offer", id="ask-offer-below")
            yield FluidText(self._offer, classes="offer", id="ask-offer")
            yield TextField(placeholder="Comment for the model, then enter", id="ask-comment")
            with Wrapped(id="ask-bottom"):
                with Horizontal(id="ask-buttons"):
                    for answer in self._answers:
                        yield Static(self._label(answer), id=f"ask-{answer}", classes="answer")
                yield Static(id="ask-hints")

    def on_mount(self) -> None:
        if not self.query("#ask"):  # withdrawn before it was composed
            return
        self.query_one("#ask-comment", Input).display = False
        self.query_one(CommandEditor).display = False
        self.query_one("#ask-subject").display = bool(self.request.blocks)
        self.query_one("#ask-who", Static).update(
            self._side_note()
        )  # more can be open than at compose
        self._place_offer()

    def on_compose(self) -> None:
        super().on_compose()
        self.set_class(self._is_tight(app_of(self).size.height), "-tight")

    def _is_tight(self, height: int) -> bool:
        """Return whether *height* rows are too few to show everything with empty rows between."""
        blocks = self.request.blocks
        hunks = [h for block in blocks if isinstance(block, DiffBlock) for h in block.hunks]
        commands = [block.command for block in blocks if isinstance(block, ShellBlock)]
        rows = sum(len(hunk.lines) + 2 for hunk in hunks)
        rows += sum(command.count("\n") + 1 for command in commands)
        return rows + len(self.request.needs) + OTHER_ROWS > height

    def on_resize(self) -> None:
        self.set_class(self._is_tight(self.size.height), "-tight")
        self._fit()
        self.call_after_refresh(self._fit)

    def _place_offer(self) -> None:
        """Place what "always" would allow next to the answers if there is enough space, else
        above."""
        beside = (
            not self.has_class("-short") and len(self._offer(10 * SHORT_OFFER).plain) <= SHORT_OFFER
        )
        self.query_one("#ask-offer").display = beside
        self.query_one("#ask-offer-below").display = not beside

    def _fit(self) -> None:
        """Update what depends on the size and on the focus: the offer's place, the note beside the
        heading and the hints."""
        self._place_offer()
        self.query_one("#ask-who", Static).update(self._side_note())
        self.query_one("#ask-hints", Static).update(self._hints())

    def set_pending(self, waiting: int) -> None:
        """Update the number of open requests."""
        if waiting != self._pending:
            self._pending = waiting
            # Another request can arrive before this screen is composed or while it closes.
            for who in self.query("#ask-who").results(Static):
                who.update(self._side_note())

    def interrupt(self) -> None:
        """Close for Ctrl+C: cancel the turn that asked."""
        self.dismiss("cancel")

    def action_later(self) -> None:
        if self._can_wait:
            self.dismiss("later")

    def on_key(self, event: events.Key) -> None:
        """Handle all keys of the dialog. Enter answers only once an answer was selected."""
        comment = self.query_one("#ask-comment", Input)
        if comment.has_focus:
            if event.key == "escape":
                event.stop()
                self._close_comment(keep=False)
            return
        if self.query_one(CommandEditor).has_focus:
            return
        event.stop()
        event.prevent_default()
        key = event.key
        self.show_note(NOTHING_SELECTED if key == "enter" and self._chosen is None else "")
        if key in self._letters:
            self._answer(self._letters[key])
        elif key == "escape":
            self._answer("reject")
        elif key == "enter" and self._chosen is not None:
            self._answer(self._chosen)
        elif key in {"left", "right", "tab", "shift+tab"}:
            self._choose(-1 if key in {"left", "shift+tab"} else 1)
        elif key == "c":
            comment.display = True
            comment.focus()
        elif key == "e" and self._editable_shell is not None:
            self._edit(self._editable_shell)
        elif key == "v" and self._diffs:
            self._review()
        elif self._is_hunk_key(key):
            self._change_hunk(key)
        elif key in SCROLL_STEPS:
            self._scroll(SCROLL_STEPS[key])
        elif key in {"home", "end"}:
            self._scroll(-100_000 if key == "home" else 100_000)

    @property
    def _letters(self) -> dict[str, Answer]:
        return {LABELS[answer][0]: answer for answer in self._answers}

    def answers(self, key: str) -> bool:
        return key in self._letters

    def moves(self, key: str) -> bool:
        return key in {"c", "e", "v"} or self._is_hunk_key(key)

    def show_note(self, note: str) -> None:
        if note != self._note:
            self._note = note
            self._fit()

    def preview(self, key: str) -> None:
        self._mark(self._letters[key] if key else self._chosen)

    def _is_hunk_key(self, key: str) -> bool:
        return self._subject.choice.offered and (key in HUNK_STEPS or key == "space")

    def on_click(self, event: events.Click) -> None:
        """Give the clicked answer. Clicks are deliberate but still subject to the grace period."""
        target = event.widget.id if event.widget is not None else None
        for answer in self._answers:
            if target == f"ask-{answer}" and not self.is_too_early(event.time):
                self._answer(answer)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close_comment(keep=True)

    def on_descendant_focus(self) -> None:
        """Refit: other keys apply while the user types."""
        self._fit()

    def on_descendant_blur(self) -> None:
        self._fit()

    def _close_comment(self, *, keep: bool) -> None:
        comment = self.query_one("#ask-comment", Input)
        if not keep:
            comment.value = ""
        comment.display = bool(comment.value)
        self.set_focus(None)

    def _answer(self, answer: Answer) -> None:
        comment = self.query_one("#ask-comment", Input).value.strip()
        hunks = None if answer == "reject" else self._subject.choice.accepted
        if hunks == frozenset():  # refusing all hunks is a rejection
            self.dismiss(PermissionReply("reject", comment))
            return
        edited = None if answer == "reject" else self._edited_command
        if answer == "unsandboxed":
            self.dismiss(PermissionReply("once", comment, hunks, edited, unsandboxed=True))
        else:
            self.dismiss(PermissionReply(answer, comment, hunks, edited))

    @property
    def _subject(self) -> PermissionSubject:
        return self.query_one(PermissionSubject)

    def _change_hunk(self, key: str) -> None:
        """Go to the next or previous change, or accept or refuse the current one."""
        subject = self._subject
        region = subject.toggle() if key == "space" else subject.move(HUNK_STEPS[key])
        self.query_one("#ask-subject", VerticalScroll).scroll_to_region(
            region.translate(subject.virtual_region.offset), animate=False
        )

    @property
    def _diffs(self) -> list[DiffBlock]:
        return [block for block in self.request.blocks if isinstance(block, DiffBlock)]

    def _review(self) -> None:
        """Show the changes on a screen of their own, to mark hunks and comment on lines."""
        from app.screens.review.changes import (  # only for a review
            NO_CHOICE,
            REJECT,
            ChangesScreen,
            ReviewState,
        )

        choice = self._subject.choice
        refused = {
            block.path: frozenset(h.index for h in block.hunks if not choice.keeps(h.index))
            for block in self._diffs
        }
        screen = ChangesScreen(
            self.request.heading,
            [ReviewedFile(block) for block in self._diffs],
            labels=REJECT if choice.offered else NO_CHOICE,
            state=ReviewState(self._comments, refused),
        )
        app_of(self).push_screen(screen, self._reviewed)

    def _reviewed(self, state: "ReviewState | None") -> None:
        """Take over what was marked; the comments go with the answer."""
        if state is None:
            return
        self._comments = state.comments
        self._subject.refuse(frozenset[int]().union(*(state.reverted or {}).values()))
        field = self.query_one("#ask-comment", Input)
        if state.comments:
            field.value = "; ".join(f"{each.place}: {each.text}" for each in state.comments)
        field.display = bool(field.value)
        self.call_after_refresh(self._fit)

    def _edit(self, shell: ShellBlock) -> None:
        editor = self.query_one(CommandEditor)
        editor.begin(self._edited_command if self._edited_command is not None else shell.command)
        self.query_one("#ask-subject").display = False
        editor.display = True
        editor.focus()
        self._fit()

    def on_command_editor_done(self, event: CommandEditor.Done) -> None:
        """Take the edited command; None leaves it unchanged."""
        event.stop()
        self.query_one(CommandEditor).display = False
        self.query_one("#ask-subject").display = True
        self.set_focus(None)
        if event.command is not None and self._editable_shell is not None:
            changed = event.command.strip() != self._editable_shell.command.strip()
            self._edited_command = event.command if changed and event.command.strip() else None
            self._subject.show(
                (
                    replace(
                        self._editable_shell,
                        command=self._edited_command or self._editable_shell.command,
                    ),
                )
            )
            self._offer_always(allowed=self._edited_command is None)
        self.call_after_refresh(self._fit)

    def _offer_always(self, *, allowed: bool) -> None:
        """Show or hide what was judged and "always": both hold for the command as the model sent
        it."""
        self.query_one("#ask-needs").display = allowed
        offered = bool(self.request.always) and allowed
        self._answers = _answers_to(self.request, always=offered)
        self._chosen = None
        for button in self.query(".answer"):
            button.remove_class("-chosen")
            button.display = button.id != "ask-always" or offered
        self._offer = partial(always_text, self.request) if allowed else _edited_command
        for place in self.query(".offer").results(FluidText):
            place.show(self._offer)

    def _choose(self, step: int) -> None:
        answers = self._answers
        if self._chosen is None:
            self._chosen = answers[0] if step > 0 else answers[-1]
        else:
            self._chosen = answers[(answers.index(self._chosen) + step) % len(answers)]
        self._mark(self._chosen)

    def _mark(self, selected: Answer | None) -> None:
        """Show *selected* as the selected answer."""
        for answer in self._answers:
            self.query_one(f"#ask-{answer}").set_class(answer == selected, "-chosen")

    def _scroll(self, lines: int) -> None:
        """Scroll the command or diff, and the details once its end is reached."""
        first = self.query_one("#ask-subject", VerticalScroll)
        second = self.query_one("#ask-details", VerticalScroll)
        order = (first, second) if lines > 0 else (second, first)
        for box in order:
            if (lines > 0 and box.scroll_y < box.max_scroll_y) or (lines < 0 and box.scroll_y > 0):
                page = max(1, box.size.height - 1)
                step = lines if abs(lines) != PAGE else page if lines > 0 else -page
                box.scroll_relative(y=step, animate=False)
                return

    def _side_note(self) -> Content:
        several = f"1 of {self._pending}" if self._pending > 1 else ""
        if self._is_tiny:
            return Content.styled(several, "$tone-muted")
        several += " waiting   " if several else ""
        callers = self.request.callers
        working = f", working for {callers[0]}" if callers else ""
        later = Content.assemble("   ", (LATER_KEY, "bold"), " later") if self._can_wait else ""
        asking = f"agent {sanitize(self.request.agent + working)}"
        note = Content(several + asking) + later
        return note.stylize("$tone-muted")

    @property
    def _is_tiny(self) -> bool:
        """True if there is space for little more than the subject and the answers."""
        return self.has_class("-short") and self.has_class("-narrow")

    @staticmethod
    def _label(answer: Answer) -> Content:
        label = LABELS[answer]
        return Content.assemble((label[0], f"bold {TONES[answer]}"), label[1:])

    def _hints(self) -> KeyHints | Content:
        if self.query_one(CommandEditor).display:
            return KeyHints(("enter", "done"), ("esc", "cancel"))
        if self.query_one("#ask-comment", Input).has_focus:
            return KeyHints(("enter", "keep"), ("esc", "discard"))
        hints: list[tuple[str, str]] = []
        if self._subject.choice.offered:
            hints += [("space", "toggle"), ("n p", "move")]
        if self._diffs:
            hints.append(("v", "review"))
        if self._editable_shell is not None:
            hints.append(("e", "edit"))
        hints.append(("c", "comment"))
        if self._is_tiny and self._note:
            return Content.styled(self._note, "$tone-warn")
        if self._is_tiny:
            later = [(LATER_KEY, "later")] if self._can_wait else []
            return KeyHints(*hints, *later, note=self._note, gap=2, most_lines=1)
        return KeyHints(*hints, ("esc", "reject"), note=self._note)


def _answers_to(request: PermissionRequest, *, always: bool) -> tuple[Answer, ...]:
    """Return the answers that the user can give; *always* if that one is offered."""
    offered: dict[Answer, bool] = {
        "once": True,
        "always": always,
        "reject": True,
        "unsandboxed": request.can_leave_sandbox,
    }
    return tuple(answer for answer, given in offered.items() if given)


def _edited_command(width: int) -> Content:
    return hanging_indent(Content(""), Content.styled(EDITED_NOTE, "$tone-warn"), width)
