"""What every dialog is: a modal screen that closes once."""

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

ResultT = TypeVar("ResultT")

QUIET = 0.4
"""Seconds for which a new dialog that asks ignores keys, counted from the last one (spec 4, M6)."""


class Dialog(ModalScreen[ResultT]):
    """Keys that were typed behind the answer still reach a screen that is being closed: closing
    it a second time would take away the screen below.

    Below 100 columns a dialog takes them all: what would be left beside it is of no use.
    """

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (60, "-full"), (100, "-ample")]  # noqa: RUF012 - typed by Textual
    VERTICAL_BREAKPOINTS = [(0, "-short"), (16, "-tall")]  # noqa: RUF012 - typed by Textual

    _answered = False

    def dismiss(self, result: ResultT | None = None) -> AwaitComplete:
        """Close and give *result*; does nothing once it was closed."""
        if self._answered:
            return AwaitComplete()
        self._answered = True
        return super().dismiss(result)
