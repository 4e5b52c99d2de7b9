"""The trust dialog: everything that a folder would run or change; the default answer is no."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from agent.records.amounts import count
from app.screens.base.dialog import QUIET_SECONDS, AutoDialog
from app.screens.base.fitted import Fitted
from app.screens.base.hints import KeyHints
from app.screens.requests.permission import SCROLL_STEPS
from app.terminal.app_of import app_of
from app.text.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:  # not needed for the first frame
    from agent.permission.trust.project_files import ProjectProgram, SteeringSource
    from agent.permission.trust.trust import TrustAnswer, TrustQuestion, TrustStatus

HEADINGS: dict["TrustStatus", str] = {
    "open": "Do you trust this folder?",
    "trusted": "This folder is trusted",
    "refused": "This folder is not trusted",
    "nothing": "There is nothing here to trust",
}
KEYS: dict["TrustStatus", tuple[tuple[str, str], ...]] = {
    "open": (("y", "trust"), ("n", "don't trust"), ("esc", "ask next time")),
    "trusted": (("r", "revoke"), ("esc", "close")),
    "refused": (("y", "trust"), ("esc", "close")),
    "nothing": (("y", "trust subfolders too"), ("esc", "close")),
}
ANSWERS: dict["TrustStatus", dict[str, "TrustAnswer"]] = {
    "open": {"y": "trust", "n": "refuse"},
    "trusted": {"r": "refuse"},
    "refused": {"y": "trust"},
    "nothing": {"y": "trust"},
}
EXPLAINED = (
    "Anything you trust runs with your permissions. Without trust, none of this is used except the "
    "folder's ask and deny rules. You are asked again when what would run changes."
)
OTHER_ROWS = 15
"""Rows of the dialog besides the list."""
STEER_LABELS: dict[str, str] = {
    "instructions": "instructions",
    "command": "commands",
    "agent": "agents",
    "skill": "skills",
    "settings": "settings",
}


def trust_text(question: "TrustQuestion") -> Content:
    """Return everything that was found, grouped by its effect."""
    found = question.found
    runs = [entry for entry in found.runs if entry.kind != "allowed without asking"]
    allowed = [entry for entry in found.runs if entry.kind == "allowed without asking"]
    sections: list[list[Content]] = []
    if question.changed:
        names = ", ".join(sanitize_line(name) for name in question.changed)
        sections.append([Content.styled(f"Changed since you last answered: {names}", "$tone-warn")])
    if runs:
        heading = Content.styled("Runs or connects to (as you)", "bold")
        sections.append([heading, *_program_lines(runs)])
    if allowed:
        heading = Content.styled("Allows without asking", "bold")
        sections.append([heading, *map(_allowed_line, allowed)])
    if found.steers:
        heading = Content.styled("Instructs the agent through", "bold")
        sections.append([heading, *_steering_lines(found.steers)])
    if not found:
        sections.append([Content("No file here would run anything or steer the agent.")])
    return Content("\n\n").join([Content("\n").join(section) for section in sections])


def _program_lines(runs: Iterable["ProjectProgram"]) -> Iterator[Content]:
    """Yield two lines for each program: its source, then what would run."""
    for entry in runs:
        yield Content.assemble(
            "  ",
            (entry.kind, "$tone-muted"),
            f" {sanitize_line(entry.name)}",
            (f"   {sanitize_line(entry.source)}", "$tone-faint"),
        )
        if entry.text:
            shown = sanitize(entry.text).replace("\n", "\n      ")
            yield Content.assemble("      ", (shown, "$tone-warn"))


def _allowed_line(rule: "ProjectProgram") -> Content:
    return Content.assemble(
        "  ",
        (sanitize_line(rule.name), "$tone-muted"),
        (f" {sanitize_line(rule.detail)}", "$tone-warn"),
        (f"   {sanitize_line(rule.source)}", "$tone-faint"),
    )


def _steering_lines(steers: Iterable["SteeringSource"]) -> Iterator[Content]:
    by_kind: dict[str, list[str]] = {}
    for entry in steers:
        by_kind.setdefault(entry.kind, []).append(sanitize_line(entry.name))
    for kind, names in by_kind.items():
        for index, name in enumerate(names):
            word = STEER_LABELS[kind] if index == 0 else ""
            yield Content.assemble("  ", (word.ljust(14), "$tone-muted"), name)


class TrustScreen(AutoDialog["TrustAnswer"]):
    """Asks whether to trust a folder, or shows its trust status."""

    CSS_PATH = "trust.tcss"
    AUTO_FOCUS = ""

    def __init__(
        self,
        question: "TrustQuestion",
        *,
        status: "TrustStatus" = "open",
        grace: float = QUIET_SECONDS,
    ) -> None:
        super().__init__(grace)
        self._question = question
        self._status: TrustStatus = status

    def compose(self) -> ComposeResult:
        with Fitted(id="trust"):
            yield Static(Content.styled(HEADINGS[self._status], "bold"), id="trust-heading")
            yield Static(Content(sanitize_line(self._question.folder)), id="trust-folder")
            with VerticalScroll(id="trust-found", can_focus=False):
                yield Static(trust_text(self._question), id="trust-list")
            yield Static(id="trust-below")
            yield Static(Content.styled(EXPLAINED, "$tone-muted"), id="trust-explained")
            yield Static(self._keys(), id="trust-keys")

    def on_key(self, event: events.Key) -> None:
        """Answer only with an answer's letter; esc and enter give the default."""
        event.stop()
        event.prevent_default()
        answer = ANSWERS[self._status].get(event.key)
        if answer is not None:
            self.dismiss(answer)
        elif event.key in {"escape", "enter"}:
            self.interrupt()
        elif event.key in SCROLL_STEPS:
            self._scroll(SCROLL_STEPS[event.key])

    def answers(self, key: str) -> bool:
        return key in ANSWERS[self._status]

    def preview(self, key: str) -> None:
        self.query_one("#trust-keys", Static).update(self._keys(key))

    def interrupt(self) -> None:
        self.dismiss("later")

    def on_mount(self) -> None:
        self.watch(self.query_one("#trust-found"), "scroll_y", self._count_below, init=False)

    def on_compose(self) -> None:
        super().on_compose()
        self._set_tight(app_of(self).size.height)

    def _set_tight(self, height: int) -> None:
        """Leave out empty rows where the list would not fit otherwise."""
        rows = trust_text(self._question).plain.count("\n") + OTHER_ROWS
        self.set_class(rows > height, "-tight")

    def on_resize(self) -> None:
        self._set_tight(self.size.height)
        self.query_one("#trust-below").display = False
        self.call_after_refresh(self._count_below)

    def _count_below(self) -> None:
        """Show how many lines are still below the end of the list."""
        scroll = self.query_one("#trust-found", VerticalScroll)
        line = self.query_one("#trust-below", Static)
        if not line.display and not scroll.max_scroll_y:
            return
        left = scroll.max_scroll_y - round(scroll.scroll_y)
        left += not line.display  # it takes a row of the list
        line.display = True
        text = f"↓ {count(left, 'more line')}" if left else ""
        line.update(Content.styled(text, "$tone-warn"))

    def _scroll(self, lines: int) -> None:
        self.query_one("#trust-found", VerticalScroll).scroll_relative(y=lines, animate=False)

    def show_note(self, note: str) -> None:
        self.query_one("#trust-keys", Static).update(self._keys(note=note))

    def _keys(self, selected: str = "", note: str = "") -> KeyHints:
        return KeyHints(*KEYS[self._status], selected=selected, note=note)
