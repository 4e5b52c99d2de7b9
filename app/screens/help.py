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
from textual.widgets import Input, Static

from app.action_registry.registry import GROUPS, Action
from app.screens.base.dialog import Dialog
from app.screens.base.hints import KeyHints
from app.screens.base.page import FluidText
from app.screens.base.picker import Picker, Row
from app.widgets.input.field import TextField

PROMPT_KEYS: tuple[tuple[str, str], ...] = (
    ("enter", "Send, or queue while the agent is working"),
    ("shift+enter, alt+enter", "New line (if your terminal supports it)"),
    ("ctrl+j, or \\ then enter", "New line, in every terminal"),
    ("up, down", "Earlier prompts that begin with what you typed"),
    ("page up, page down", "Scroll the session"),
    ("up on an empty prompt", "Edit the last queued message"),
    ("@ and a name", "A file or folder, with completion; @a.py#10-20 for lines of it"),
    ("! and a command", "Run a shell command; its output is added to the session"),
    ("# and a line", "Add the line to the project's instructions (AGENTS.md)"),
    ("? on an empty prompt", "This help"),
    ("esc", "Close a dialog, or interrupt the agent"),
    ("esc esc", "Rewind to an earlier message (empty prompt)"),
    ("ctrl+c", "Interrupt, or clear the prompt; twice on an empty prompt: exit"),
    ("ctrl+d", "Exit, on an empty prompt"),
)


PERMISSION_KEYS: tuple[tuple[str, str], ...] = (
    ("o, a, r", "Once, always, reject; esc rejects too"),
    ("w", "Once, without the sandbox, where that is offered"),
    ("left, right, then enter", "Select an answer and confirm it"),
    ("c", "Add a comment for the model"),
    ("e", "Change the command before it runs"),
    ("v", "Review the changes and comment on lines"),
    ("n p, then space", "Go to a change, then keep or reject it"),
    ("arrows, page up or down", "Scroll the details"),
)
"""The keys of the permission dialog."""

LEFT_WIDTHS = ((80, 36), (56, 26))
"""Cells for keys and names, including the gap after them, from a width on; on a narrower page a
description is placed under its key."""


def help_text(
    actions: Sequence[Action],
    keys_of: Callable[[str], tuple[str, ...]],
    width: int,
    typed: str = "",
) -> Content:
    """Return the rows of the help that contain every word *typed*, by group, *width* cells wide."""
    groups: list[tuple[str, list[tuple[str, str, str]]]] = [
        ("Prompt keys", [(key, what, "") for key, what in PROMPT_KEYS]),
        ("In a permission dialog", [(key, what, "") for key, what in PERMISSION_KEYS]),
    ]
    for group in GROUPS:
        shown = [_entry(known, keys_of) for known in actions if known.group == group]
        groups.append((group, shown))
    words = typed.lower().replace("/", " ").split()
    lines: list[Content] = []
    for heading, entries in groups:
        found = [
            entry
            for entry in entries
            if all(word in " ".join((*entry, heading)).lower() for word in words)
        ]
        if found:
            lines += [Content("")] if lines else []
            lines.append(Content.styled(heading, "bold"))
        for left, what, aliases in found:
            lines += _row(left, what, aliases, width)
    if not lines:
        lines = [Content.styled("No matching keys or commands.", "$tone-muted")]
    return Content("\n").join(lines)


def _entry(action: Action, keys_of: Callable[[str], tuple[str, ...]]) -> tuple[str, str, str]:
    """Return the command and keys of an action, its description, and the command's aliases."""
    names = " ".join(f"/{name}" for name in action.slash[:1])
    argument = f" {action.argument}" if action.argument else ""
    left = "  ".join(p for p in (names + argument, ", ".join(keys_of(action.id))) if p.strip())
    return left, action.title, " ".join(f"/{name}" for name in action.slash[1:])


def _row(left: str, what: str, aliases: str, width: int) -> list[Content]:
    """Return the description *what* and the aliases *also* next to *left*, or below it if it is too
    long; wrapped lines keep their column."""
    indent = next((left for least, left in LEFT_WIDTHS if width >= least), 2)
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
    """All keys and commands, filtered by what is typed."""

    CSS_PATH = "help.tcss"
    AUTO_FOCUS = "#help-filter"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter", "close", "Close", priority=True),
        Binding("up", "scroll('up')", "Up", priority=True),
        Binding("down", "scroll('down')", "Down", priority=True),
        Binding("pageup", "scroll('page_up')", "Page up", priority=True),
        Binding("pagedown", "scroll('page_down')", "Page down", priority=True),
        Binding("home", "scroll('home')", "First", priority=True),
        Binding("end", "scroll('end')", "Last", priority=True),
    ]

    def __init__(
        self, actions: Sequence[Action], keys_of: Callable[[str], tuple[str, ...]]
    ) -> None:
        super().__init__()
        self._lay_out = partial(help_text, actions, keys_of)

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            yield Static(Content.styled("Keys and commands", "bold"), id="help-title")
            yield TextField(placeholder="Type to filter", id="help-filter")
            with VerticalScroll(id="help-text", can_focus=False):
                yield FluidText(self._lay_out)
            keys = KeyHints(("↑↓", "scroll"), ("type", "filter"), ("esc", "close"))
            yield Static(keys, id="help-keys")

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.query_one(FluidText).show(partial(self._lay_out, typed=event.value))
        self.query_one("#help-text").scroll_home(animate=False)

    def action_scroll(self, where: str) -> None:
        text = self.query_one("#help-text")
        moves = {
            "up": text.scroll_up,
            "down": text.scroll_down,
            "page_up": text.scroll_page_up,
            "page_down": text.scroll_page_down,
            "home": text.scroll_home,
            "end": text.scroll_end,
        }
        moves[where](animate=False)


class PaletteScreen(Picker):
    """Lists all actions, returns the id of the chosen one. *keys_of* returns an action's keys."""

    def __init__(
        self, actions: Sequence[Action], keys_of: Callable[[str], tuple[str, ...]]
    ) -> None:
        super().__init__(
            "Commands",
            [action_row(action, keys_of(action.id)) for action in actions if action.palette],
            enter="run",
            empty="No matching commands",
        )

    def matching_rows(self, typed: str) -> Sequence[Row]:
        """Return the rows by group, or once something is typed the best match first."""
        rows = super().matching_rows(typed)
        if not typed.strip():
            return rows
        wanted = typed.strip().lower().removeprefix("/")
        return [replace(row, group="") for row in sorted(rows, key=lambda row: rank(row, wanted))]

    def choose_early(self) -> None:
        """Run only what was typed in full: another match has to be seen first."""
        row, typed = self.highlighted_row(), self.query_one(Input).value.strip()
        if row is not None and typed and rank(row, typed.lower().removeprefix("/")) == 0:
            self.dismiss(row.key)
        self.end_early_enter()


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
