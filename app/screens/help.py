"""The help page and the command palette, generated from the registry."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from textwrap import wrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content

from app.commands.registry import GROUPS, Action
from app.screens.base.dialog import Dialog
from app.screens.base.page import FluidText
from app.screens.base.picker import Picker, Row

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
    ("esc esc", "On an empty prompt: the requests of the session, to go back to one"),
    ("ctrl+c", "Interrupt; clear the prompt; twice on an empty one to leave"),
    ("ctrl+d", "Leave, on an empty prompt"),
)


PERMISSION_KEYS: tuple[tuple[str, str], ...] = (
    ("o, a, r", "Once, always, reject; esc rejects too"),
    ("left, right, then enter", "Choose an answer and give it"),
    ("c", "A word for the model, which goes with the answer"),
    ("e", "Change the command before it runs"),
    ("n p, then space", "Go to a change, and keep it or not"),
    ("up, down, page up, page down", "Scroll what is asked about"),
)
"""The keys of the permission dialog."""

LEFT_WIDTH = 36
"""Cells for keys and names, including the gap after them."""

MIN_TWO_COLUMNS = 56
"""The width below which a description is placed under its key."""


def help_text(
    actions: Sequence[Action], keys_of: Callable[[str], tuple[str, ...]], width: int
) -> Content:
    """Return all rows of the help by group, *width* cells wide."""
    lines: list[Content] = [Content.styled("Keys of the prompt", "bold")]
    for key, what in PROMPT_KEYS:
        lines += _row(key, what, "", width)
    lines += [Content(""), Content.styled("When you are asked", "bold")]
    for key, what in PERMISSION_KEYS:
        lines += _row(key, what, "", width)
    for group in GROUPS:
        shown = [known for known in actions if known.group == group]
        if shown:
            lines += [Content(""), Content.styled(group, "bold")]
        for known in shown:
            names = " ".join(f"/{name}" for name in known.slash[:1])
            argument = f" {known.argument}" if known.argument else ""
            keys = ", ".join(keys_of(known.id))
            left = "  ".join(part for part in (names + argument, keys) if part.strip())
            aliases = " ".join(f"/{name}" for name in known.slash[1:])
            lines += _row(left, known.title, aliases, width)
    return Content("\n").join(lines)


def _row(left: str, what: str, aliases: str, width: int) -> list[Content]:
    """Return the description *what* and the aliases *also* next to *left*, or below it if it is too
    long; wrapped lines keep their column."""
    indent = LEFT_WIDTH if width >= MIN_TWO_COLUMNS else 2
    text_width = max(8, width - indent)
    rows = [Content(line) for line in wrap(what, text_width)]
    if aliases and rows[-1].cell_length + len(aliases) + 3 <= text_width:
        rows[-1] += Content.styled(f"   {aliases}", "$tone-muted")
    elif aliases:
        rows += [Content.styled(line, "$tone-muted") for line in wrap(aliases, text_width)]
    rows = [Content(" " * indent) + row for row in rows]
    if len(left) + 2 <= indent:
        beside = Content.styled(left.ljust(indent), "$tone-accent")
        return [beside + rows[0][indent:], *rows[1:]]
    above = [Content.styled(line, "$tone-accent") for line in wrap(left, max(8, width))]
    return [*above, *rows]


class HelpScreen(Dialog[None]):
    """Scrolls; any of the usual keys closes it."""

    CSS_PATH = "help.tcss"
    AUTO_FOCUS = "#help-text"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter", "close", "Close")]

    def __init__(
        self, actions: Sequence[Action], keys_of: Callable[[str], tuple[str, ...]]
    ) -> None:
        super().__init__()
        self._lay_out = partial(help_text, actions, keys_of)

    def compose(self) -> ComposeResult:
        with Vertical(id="help"), VerticalScroll(id="help-text"):
            yield FluidText(self._lay_out)


class PaletteScreen(Picker):
    """Lists all actions, returns the id of the chosen one. *keys_of* returns an action's keys."""

    def __init__(
        self, actions: Sequence[Action], keys_of: Callable[[str], tuple[str, ...]]
    ) -> None:
        super().__init__(
            "Commands",
            [action_row(action, keys_of(action.id)) for action in actions if action.palette],
            enter="run",
            empty="No command fits",
        )

    def matching_rows(self, typed: str) -> Sequence[Row]:
        """Return the rows by group, or once something is typed the best match first."""
        rows = super().matching_rows(typed)
        if not typed.strip():
            return rows
        wanted = typed.strip().lower().removeprefix("/")
        return [replace(row, group="") for row in sorted(rows, key=lambda row: rank(row, wanted))]


def action_row(action: Action, keys: Sequence[str]) -> Row:
    """Return the row of an action. The user's own commands are listed by name."""
    name = f"/{action.slash[0]}" if action.slash else ""
    own = bool(action.note)
    return Row(
        key=action.id,
        title=name if own else action.title,
        note=action.title if own else name,
        group=action.group,
        right=", ".join(keys),
        hidden=" ".join(f"/{alias}" for alias in action.slash[1:]),
    )


def rank(row: Row, wanted: str) -> int:
    """Return how closely a row matches what was typed, 0 to 3: its name, its beginning, the
    beginning of a word, anything else."""
    names = [name.strip("/").lower() for name in (row.note, *row.hidden.split())]
    title = row.title.strip("/").lower()
    if wanted in (title, *names):
        return 0
    if title.startswith(wanted) or any(name.startswith(wanted) for name in names):
        return 1
    return 2 if any(word.startswith(wanted) for word in title.split()) else 3
