"""What every dialog is: a modal screen that closes once."""

import math
from time import monotonic
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


INSIST_SECONDS = 2.0
"""Seconds after which one key that is pressed again and again is heard."""

INSIST_PRESSES = 3
"""Presses of one key in a row that no text has."""


class GracePeriod:
    """Decides which keys are meant for a dialog and which were typed for what was there. *quiet*
    (seconds) must pass without one, counted from when it ``begins`` to be *seen*; 0 hears all."""

    def __init__(self, quiet: float) -> None:
        self._quiet = quiet
        self.seen = self._last = math.inf
        self._pressed = ("", 0)

    def start(self, now: float) -> None:
        """The dialog can be seen since *now* (seconds of the monotonic clock)."""
        self.seen = self._last = now

    def ignores(self, now: float, key: str = "") -> bool:
        """Whether *key*, pressed at *now*, is to be ignored. Whoever goes on typing has not read
        the dialog; whoever insists on one key has."""
        before, times = self._pressed
        self._pressed = (key, times + 1 if key == before else 1)
        insists = self._pressed[1] >= INSIST_PRESSES and now - self.seen >= INSIST_SECONDS
        if insists or now - self._last >= self._quiet:
            self._quiet = 0.0
        if not math.isinf(self._last):
            self._last = max(self._last, now)
        return self._quiet > 0.0


class AutoDialog(Dialog[ResultT]):
    """Opens by itself, maybe amid what somebody types: what comes before it could be read answers
    nothing. The app asks it of each key (``app.tui.type_ahead``); of clicks it asks itself."""

    def __init__(self, grace: float = QUIET_SECONDS) -> None:
        super().__init__()
        self.grace = GracePeriod(grace)

    def on_mount(self) -> None:
        """The quiet time begins with the first frame of the dialog."""
        self.call_after_refresh(self._start_grace)

    def _start_grace(self) -> None:
        self.grace.start(monotonic())

    def is_too_early(self, now: float, key: str = "") -> bool:
        """Whether *key* (or a click) of *now* came too early to be meant for this dialog."""
        return self.grace.ignores(now, key)
