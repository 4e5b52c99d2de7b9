"""The permission dialog (spec 4, M5 and M6): shows everything, grants nothing by accident."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from agent.display import ShellBlock
from agent.questions import JudgedNeed, PermissionReply, PermissionRequest
from app.clean import clean
from app.screens.subject import subject

Answer = Literal["once", "always", "reject"]
Outcome = PermissionReply | Literal["cancel"] | None
"""What the dialog gives back: a reply, ``cancel`` for Ctrl+C (the turn is to be cancelled),
or None when the question was withdrawn."""

QUIET = 0.4
"""Seconds for which a new dialog ignores keys, counted from the last one (spec 4, M6)."""

QUIET_LIMIT = 2.0
"""Seconds after which it listens however fast somebody types."""

SCROLLS = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10}


class Grace:
    """Decides which keys are meant for the dialog and which were typed for what was there."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._clock = clock
        self._opened = self._last = clock()

    def swallows(self) -> bool:
        """Whether the key that comes now is to be ignored."""
        now = self._clock()
        quiet_since, self._last = self._last, now
        if now - quiet_since >= self._seconds or now - self._opened >= QUIET_LIMIT:
            self._seconds = 0.0
        return self._seconds > 0.0


def need_rows(needs: tuple[JudgedNeed, ...]) -> Content:
    """One line for each part of the call: verdict, what, why."""
    shown = [clean(judged.need.shown or judged.need.pattern) for judged in needs]
    width = min(34, max((Content(text).cell_length for text in shown), default=0)) + 3

    def lines() -> Iterator[Content]:
        for judged, text in zip(needs, shown, strict=True):
            tone = {"allow": "$tone-ok", "ask": "$tone-warn", "deny": "$tone-err"}[judged.action]
            if judged.need.destructive:
                tone = "$tone-err"
            pad = " " * max(2, width - Content(text).cell_length)
            reason = clean(judged.reason or judged.need.reason)
            yield Content.assemble(
                (judged.action.ljust(6), tone), text, pad, (reason, "$tone-muted")
            )

    return Content("\n").join(list(lines()))


def reach(request: PermissionRequest, home: str) -> Content:
    """Where the call reaches: paths outside the project, the folder, how much text it is."""
    outside = [
        clean(judged.need.pattern)
        for judged in request.needs
        if judged.need.permission == "external_directory"
    ]
    folder = clean(request.folder)
    if home and (folder == home or folder.startswith(home + "/")):
        folder = "~" + folder[len(home) :]
    parts = [("outside  ", "$tone-muted"), ", ".join(outside) or "none"]
    parts += [("      folder  ", "$tone-muted"), folder]
    commands = [block.command for block in request.blocks if isinstance(block, ShellBlock)]
    if commands:
        text = "\n".join(commands)
        lines = text.count("\n") + 1
        parts += [("      lines  ", "$tone-muted"), str(lines)]
        if len(text) > 400:
            parts += [("      characters  ", "$tone-muted"), f"{len(text):,}"]
    return Content.assemble(*parts)


def offer(request: PermissionRequest) -> Content:
    """Exactly what "always" would allow."""
    if not request.always:
        return Content.styled("Always is not offered for this.", "$tone-muted")
    patterns = [
        clean(pattern if permission == request.tool else f"{permission}: {pattern}")
        for permission, pattern in request.always
    ]
    return Content.assemble(
        ("Always would allow  ", "$tone-muted"),
        ("\n                    ").join(patterns),
        ("   for this session", "$tone-muted"),
    )


class PermissionScreen(ModalScreen[Outcome]):
    """Asks one question. *waiting* counts all that wait, this one included."""

    CSS_PATH = "permission.tcss"
    AUTO_FOCUS = ""

    def __init__(
        self,
        request: PermissionRequest,
        *,
        waiting: int = 1,
        grace: float = QUIET,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.request = request
        self._waiting = waiting
        self._grace = Grace(grace, clock)
        self._answers: tuple[Answer, ...] = (
            ("once", "always", "reject") if request.always else ("once", "reject")
        )
        self._chosen: Answer | None = None

    def compose(self) -> ComposeResult:
        request = self.request
        with Vertical(id="ask"):
            with Horizontal(id="ask-top"):
                yield Static(Content.styled(clean(request.heading), "bold"), id="ask-heading")
                yield Static(self._who(), id="ask-who")
            with VerticalScroll(id="ask-subject", can_focus=False):
                yield Static(subject(request.blocks), id="ask-blocks")
            with VerticalScroll(id="ask-details", can_focus=False):
                yield Static(need_rows(request.needs), id="ask-needs")
                yield Static(reach(request, str(Path.home())), id="ask-reach")
                yield Static(offer(request), id="ask-offer")
            yield Input(placeholder="A word for the model, then enter", id="ask-comment")
            with Horizontal(id="ask-buttons"):
                for answer in self._answers:
                    yield Static(self._label(answer), id=f"ask-{answer}", classes="answer")
                yield Static(self._hints(), id="ask-hints")

    def on_mount(self) -> None:
        self.query_one("#ask-comment", Input).display = False
        self.query_one("#ask-subject").display = bool(self.request.blocks)

    def on_resize(self) -> None:
        self._fit()
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Share the height: the answers always stay, the parts above them scroll."""
        box = self.query_one("#ask")
        first = self.query_one("#ask-subject", VerticalScroll)
        second = self.query_one("#ask-details", VerticalScroll)
        fixed = box.gutter.height + sum(
            child.outer_size.height + child.styles.margin.height
            for child in box.children
            if child.display and child not in {first, second}
        )
        around = first.styles.margin.height + second.styles.margin.height
        most = self.size.height - (0 if self.has_class("-short") else 2)
        room = max(2, most - max(fixed, 2) - around)
        wanted = second.virtual_size.height if first.display else room
        below = max(1, min(wanted or room, room if not first.display else max(1, room // 2)))
        second.styles.max_height = below
        first.styles.max_height = max(1, room - below)

    def set_waiting(self, waiting: int) -> None:
        """More or fewer questions wait than before."""
        if waiting != self._waiting:
            self._waiting = waiting
            self.query_one("#ask-who", Static).update(self._who())

    def interrupt(self) -> None:
        """Ctrl+C: withdraw, and cancel the turn that asked."""
        self.dismiss("cancel")

    def on_key(self, event: events.Key) -> None:
        """All keys of the dialog. Enter does nothing until a button was chosen."""
        comment = self.query_one("#ask-comment", Input)
        if comment.has_focus:
            if event.key == "escape":
                event.stop()
                self._close_comment(keep=False)
            return
        event.stop()
        event.prevent_default()
        if self._grace.swallows():
            return
        key = event.key
        letters: dict[str, Answer] = {"o": "once", "a": "always", "r": "reject"}
        letters["escape"] = "reject"
        if key in letters and letters[key] in self._answers:
            self._answer(letters[key])
        elif key == "enter" and self._chosen is not None:
            self._answer(self._chosen)
        elif key in {"left", "right", "tab", "shift+tab"}:
            self._choose(-1 if key in {"left", "shift+tab"} else 1)
        elif key == "c":
            comment.display = True
            comment.focus()
        elif key in SCROLLS:
            self._scroll(SCROLLS[key])
        elif key in {"home", "end"}:
            self._scroll(-100_000 if key == "home" else 100_000)

    def on_click(self, event: events.Click) -> None:
        """A click on an answer gives it; a click is no stray key, but obeys the quiet time."""
        target = event.widget.id if event.widget is not None else None
        for answer in self._answers:
            if target == f"ask-{answer}" and not self._grace.swallows():
                self._answer(answer)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close_comment(keep=True)

    def _close_comment(self, *, keep: bool) -> None:
        comment = self.query_one("#ask-comment", Input)
        if not keep:
            comment.value = ""
        comment.display = bool(comment.value)
        self.set_focus(None)

    def _answer(self, answer: Answer) -> None:
        comment = self.query_one("#ask-comment", Input).value.strip()
        self.dismiss(PermissionReply(answer, comment))

    def _choose(self, step: int) -> None:
        answers = self._answers
        if self._chosen is None:
            self._chosen = answers[0] if step > 0 else answers[-1]
        else:
            self._chosen = answers[(answers.index(self._chosen) + step) % len(answers)]
        for answer in answers:
            self.query_one(f"#ask-{answer}").set_class(answer == self._chosen, "-chosen")

    def _scroll(self, lines: int) -> None:
        """Scroll the command or diff, and what is below it once its end is reached."""
        first = self.query_one("#ask-subject", VerticalScroll)
        second = self.query_one("#ask-details", VerticalScroll)
        order = (first, second) if lines > 0 else (second, first)
        for box in order:
            if (lines > 0 and box.scroll_y < box.max_scroll_y) or (lines < 0 and box.scroll_y > 0):
                box.scroll_relative(y=lines, animate=False)
                return

    def _who(self) -> Content:
        several = f"1 of {self._waiting} waiting   " if self._waiting > 1 else ""
        return Content.styled(several + clean(self.request.agent), "$tone-muted")

    @staticmethod
    def _label(answer: Answer) -> Content:
        tone = {"once": "$tone-ok", "always": "$tone-blue", "reject": "$tone-err"}[answer]
        return Content.assemble((answer[0], f"bold {tone}"), answer[1:])

    @staticmethod
    def _hints() -> Content:
        return Content.assemble(
            ("c", "bold"),
            (" comment   ", "$tone-muted"),
            ("esc", "bold"),
            (" reject", "$tone-muted"),
        )
