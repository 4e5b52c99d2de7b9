"""The preview of an undo, before it is done."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from agent.records.amounts import count
from agent.records.frozen import frozen
from app.screens.base.dialog import AutoDialog
from app.screens.base.fitted import Fitted
from app.screens.base.hints import KeyHints
from app.text.sanitize import sanitize, sanitize_line

if TYPE_CHECKING:  # imports the agent
    from agent.session.undo import UndoPlan


MAX_PATH = 40
"""The widest path, in cells, that the column of the effects makes room for."""


@frozen
class UndoChoice:
    """The parts of the plan to undo."""

    files: bool
    conversation: bool
    overwrite: bool
    """True to also restore files that were changed by something else since."""


class UndoScreen(AutoDialog[UndoChoice | None]):
    """Shows a plan and returns the parts to undo, None for nothing."""

    CSS_PATH = "base/dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose(True, True)", "Both"),
        Binding("escape", "close", "Close"),
    ]
    LETTERS: ClassVar[Mapping[str, str]] = {
        "b": "choose(True, True)",
        "c": "choose(False, True)",
        "f": "choose(True, False)",
        "o": "touched",
    }

    def __init__(self, plan: "UndoPlan", question: str = "Undo your last message?") -> None:
        super().__init__(grace=0)
        self._plan = plan
        self._question = question
        self._overwrite = False

    def compose(self) -> ComposeResult:
        plan = self._plan
        with Fitted(classes="dialog"):
            yield Static(Content.styled(self._question, "bold"))
            if plan.text:
                yield Static(Content(f"“{_short_prompt(plan.text)}”"), classes="dialog-text")
            with VerticalScroll(classes="dialog-scroll", can_focus=False):
                yield Static(Content("\n").join(list(self._lines())), id="undo-files")
            yield Static(self._keys(), classes="dialog-keys", id="undo-keys")

    def _lines(self) -> Iterator[Content]:
        plan = self._plan
        undone = [one for one in plan.files if self._overwrite or not one.modified_since]
        files = count(len(undone), "file") if undone else "no file"
        yield Content.styled(f"{count(plan.messages, 'message')} and {files}", "$tone-muted")
        rows: list[tuple[str, str, str]] = []
        for file in plan.files:
            left = file.modified_since and not self._overwrite
            tone = "$tone-warn" if file.modified_since else "$tone-muted"
            what = "changed since, will not be undone" if left else file.effect
            rows.append((file.path, what, tone))
        rows += [(path, reason, "$tone-warn") for path, reason in plan.left_paths()]
        widths = [cell_len(sanitize_line(path)) for path, _, _ in rows]
        column = max((width for width in widths if width <= MAX_PATH), default=0)
        for (path, what, tone), width in zip(rows, widths, strict=True):
            gap = " " * max(2, column + 2 - width)
            yield Content.assemble(f"  {sanitize_line(path)}{gap}", (what, tone))
        for sentence in plan.sentences():
            yield Content.styled(sanitize(sentence), "$tone-warn")

    def _keys(self) -> KeyHints:
        hints = [("enter", "undo")]
        if self._plan.files:
            hints = [("enter", "undo both"), ("c", "conversation only"), ("f", "files only")]
        if any(file.modified_since for file in self._plan.files):
            hints.append(
                ("o", "leave changed files" if self._overwrite else "also undo changed files")
            )
        hints.append(("esc", "cancel"))
        return KeyHints(*hints)

    def action_choose(self, files: bool, conversation: bool) -> None:
        if self._plan.files or conversation:
            self.dismiss(UndoChoice(files, conversation, self._overwrite))

    def action_touched(self) -> None:
        self._overwrite = not self._overwrite
        self.query_one("#undo-files", Static).update(Content("\n").join(list(self._lines())))
        self.query_one("#undo-keys", Static).update(self._keys())


def _short_prompt(text: str) -> str:
    line = sanitize_line(" ".join(text.split()))
    return line if len(line) <= 200 else f"{line[:199]}…"
