"""The completion list that opens while a ``/command`` or ``@path`` is typed."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from agent.records.frozen import frozen
from app.text.sanitize import sanitize_line

MAX_NAME_WIDTH = 24
"""Cells of a name with which the others are aligned."""


@frozen
class SlashEntry:
    """A command as it is listed."""

    name: str
    aliases: tuple[str, ...]
    title: str


def matching_commands(entries: Sequence[SlashEntry], typed: str) -> list[SlashEntry]:
    """Return the entries for *typed* (without the slash), best match first.

    The entry with exactly this name is first, so that Enter runs what was typed in full; then names
    that begin with it, then aliases that do, then names or titles that contain it.
    """
    typed = typed.lower()

    def rank(entry: SlashEntry) -> int | None:
        if typed == entry.name or typed in entry.aliases:
            return -1
        if entry.name.startswith(typed):
            return 0
        if any(alias.startswith(typed) for alias in entry.aliases):
            return 1
        if typed in entry.name or typed in entry.title.lower():
            return 2
        return None

    ranked = [(place, entry) for entry in entries if (place := rank(entry)) is not None]
    return [entry for _, entry in sorted(ranked, key=lambda pair: pair[0])]


class CompletionList(OptionList, can_focus=False):
    """Never takes the focus: the prompt passes keys on to it."""

    def __init__(self, entries: Sequence[SlashEntry], *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False, compact=True)
        self._entries = tuple(entries)
        self.files = False
        """True if files are offered, not commands."""
        self.display = False

    def set_entries(self, entries: Sequence[SlashEntry]) -> None:
        """Replace the commands; shown when the list opens the next time."""
        self._entries = tuple(entries)

    @property
    def is_open(self) -> bool:
        return bool(self.display)

    @property
    def chosen(self) -> str | None:
        option = self.highlighted_option
        return option.id if option is not None else None

    def show_commands(self, typed: str | None) -> bool:
        """Show the commands for *typed*, None for none; return whether the list is open."""
        self.files = False
        found = matching_commands(self._entries, typed) if typed is not None else []
        if found:
            width = min(MAX_NAME_WIDTH, max(len(entry.name) for entry in found)) + 3
            self.set_options([_option(entry, width) for entry in found])
            self.highlighted = 0
        self.display = bool(found)
        return self.is_open

    def show_files(self, paths: Sequence[str], agents: Sequence[tuple[str, str]] = ()) -> bool:
        """Show *agents* and *paths*; none closes the list. Returns whether it is open."""
        self.files = True
        agent_names = {name for name, _ in agents}
        rows = [
            Option(
                Content.assemble(
                    (sanitize_line(name), "$tone-accent"),
                    (f"   {sanitize_line(what)}", "$tone-muted"),
                ),
                id=name,
            )
            for name, what in agents
        ]
        rows += [
            Option(Content(sanitize_line(path)), id=path)
            for path in paths
            if path not in agent_names
        ]
        self.set_options(rows)
        if rows:
            self.highlighted = 0
        self.display = bool(rows)
        return self.is_open

    def move(self, step: int) -> None:
        if self.option_count:
            self.highlighted = ((self.highlighted or 0) + step) % self.option_count


def _option(entry: SlashEntry, width: int) -> Option:
    aliases = "  " + " ".join(f"/{alias}" for alias in entry.aliases) if entry.aliases else ""
    line = Content.assemble(
        (f"/{sanitize_line(entry.name)}".ljust(width - 1) + " ", "bold"),
        (entry.title, "$tone-muted"),
        (aliases, "$tone-muted"),
    )
    return Option(line, id=entry.name)
