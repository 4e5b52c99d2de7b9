"""The command palette: every action that has a name (spec 8, U13)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from app.commands.registry import Action
from app.screens.base.picker import Picker, Row


class PaletteScreen(Picker):
    """Gives back the id of the chosen action. *keys_of* gives an action's keys by its id."""

    def __init__(
        self, actions: Sequence[Action], keys_of: Callable[[str], tuple[str, ...]]
    ) -> None:
        super().__init__(
            "Commands",
            [action_row(known, keys_of(known.id)) for known in actions if known.palette],
            enter="run",
            empty="No command fits",
        )

    def matching_rows(self, typed: str) -> Sequence[Row]:
        """By groups; once something is typed, what begins so stands on top of the rest."""
        rows = super().matching_rows(typed)
        if not typed.strip():
            return rows
        wanted = typed.strip().lower().removeprefix("/")
        return [replace(row, group="") for row in sorted(rows, key=lambda row: rank(row, wanted))]


def action_row(known: Action, keys: Sequence[str]) -> Row:
    """What it does, its command, its keys at the right; one of the user's own is called by its
    name."""
    name = f"/{known.slash[0]}" if known.slash else ""
    own = bool(known.note)
    return Row(
        key=known.id,
        title=name if own else known.title,
        note=known.title if own else name,
        group=known.group,
        right=", ".join(keys),
        hidden=" ".join(f"/{alias}" for alias in known.slash[1:]),
    )


def rank(row: Row, wanted: str) -> int:
    """How near a row is to what was typed: its name, its beginning, a word of it."""
    names = [name.strip("/").lower() for name in (row.note, *row.hidden.split())]
    title = row.title.strip("/").lower()
    if wanted in (title, *names):
        return 0
    if title.startswith(wanted) or any(name.startswith(wanted) for name in names):
        return 1
    return 2 if any(word.startswith(wanted) for word in title.split()) else 3
