"""The command palette: every action that has a title."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from app.commands.registry import Action
from app.screens.base.picker import Picker, Row


class PaletteScreen(Picker):
    """Returns the id of the chosen action. *keys_of* returns an action's keys by its id."""

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
    """Return the row of an action: its title, command and keys. The user's own commands are listed
    by name."""
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
