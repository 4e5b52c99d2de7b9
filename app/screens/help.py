"""Keys and commands, generated from the registry (spec 8, U13)."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from app.commands import GROUPS, Action
from app.screens.dialog import Dialog

PROMPT_KEYS: tuple[tuple[str, str], ...] = (
    ("enter", "Send; while the agent works it waits its turn"),
    ("shift+enter, alt+enter", "New line, where the terminal tells them apart"),
    ("ctrl+j, or \\ then enter", "New line, everywhere"),
    ("up, down", "Earlier prompts that begin like this one"),
    ("page up, page down", "Scroll the session"),
    ("up on an empty prompt", "Edit the newest message that waits"),
    ("@ and a name", "A file or folder, with completion; @a.py#10-20 for lines of it"),
    ("! and a command", "Run it yourself; what it prints joins the session"),
    ("# and a line", "Add the line to the project's instructions (AGENTS.md)"),
    ("esc", "Close what is open, else interrupt"),
    ("ctrl+c", "Interrupt; clear the prompt; twice on an empty one to leave"),
    ("ctrl+d", "Leave, on an empty prompt"),
)


LEFT = 34
"""Cells for keys and names."""


def help_text(actions: Sequence[Action], keys_of: Callable[[str], tuple[str, ...]]) -> Content:
    """All rows of the help, by group."""
    lines: list[Content] = [Content.styled("Keys of the prompt", "bold")]
    lines += [_row(key, what) for key, what in PROMPT_KEYS]
    for group in GROUPS:
        shown = [known for known in actions if known.group == group]
        if shown:
            lines += [Content(""), Content.styled(group, "bold")]
        for known in shown:
            names = " ".join(f"/{name}" for name in known.slash[:1])
            argument = f" {known.argument}" if known.argument else ""
            keys = ", ".join(keys_of(known.id))
            left = "  ".join(part for part in (names + argument, keys) if part.strip())
            also = ", ".join(f"/{name}" for name in known.slash[1:])
            lines.append(_row(left, known.title, also))
    return Content("\n").join(lines)


def _row(left: str, what: str, also: str = "") -> Content:
    return Content.assemble(
        (f"{left:<{LEFT}}  ", "$tone-accent"), what, (f"   {also}" if also else "", "$tone-muted")
    )


class HelpScreen(Dialog[None]):
    """Scrolls; any of the usual keys closes it."""

    CSS_PATH = "help.tcss"
    AUTO_FOCUS = "#help-text"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "Close")]

    def __init__(
        self, actions: Sequence[Action], keys_of: Callable[[str], tuple[str, ...]]
    ) -> None:
        super().__init__()
        self._text = help_text(actions, keys_of)

    def compose(self) -> ComposeResult:
        with Vertical(id="help"), VerticalScroll(id="help-text"):
            yield Static(self._text)

    def action_close(self) -> None:
        self.dismiss(None)

    def interrupt(self) -> None:
        self.dismiss(None)
