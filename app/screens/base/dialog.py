"""What every dialog is: a modal screen that closes once."""

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.geometry import Size
from textual.screen import ModalScreen

ResultT = TypeVar("ResultT")

QUIET_SECONDS = 0.4
"""Seconds for which a new dialog that asks ignores keys, counted from the last one (spec 4, M6)."""


class Dialog(ModalScreen[ResultT]):
    """Keys that were typed behind the answer still reach a screen that is being closed: closing
    it a second time would take away the screen below.

    Below 100 columns a dialog takes them all: what would be left beside it is of no use.
    """

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-full"), (100, "-ample")]  # noqa: RUF012 - typed by Textual
    VERTICAL_BREAKPOINTS = [(0, "-short"), (16, "-tall")]  # noqa: RUF012 - typed by Textual

    _dismissed = False

    def on_compose(self) -> None:
        """Textual tells the classes above with the first resize, which is after the first frame:
        a dialog would be seen to jump to its place."""
        size: Size = self.app.size  # pyright: ignore[reportUnknownMemberType] - Textual leaves it untyped
        steps = (self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS)
        for length, names in zip(size, steps, strict=True):
            self.add_class(max(step for step in names or () if step[0] <= length)[1])

    def dismiss(self, result: ResultT | None = None) -> AwaitComplete:
        """Close and give *result*; does nothing once it was closed."""
        if self._dismissed:
            return AwaitComplete()
        self._dismissed = True
        return super().dismiss(result)
