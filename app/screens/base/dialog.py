"""The base classes of all dialogs: one that closes once, and one that opens by itself."""

import math
from collections.abc import Callable, Mapping
from time import monotonic
from typing import ClassVar, TypeVar

from textual import events
from textual.await_complete import AwaitComplete
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from app.terminal.app_of import app_of
from app.text.sanitize import sanitize_line

ResultT = TypeVar("ResultT")

QUIET_SECONDS = 0.4
"""Seconds without a key press before a dialog that opened by itself accepts keys."""


WIDTH_CLASSES = [(0, "-narrow"), (60, "-full"), (100, "-ample")]
"""The CSS class of a dialog for each minimum width in columns."""

HEIGHT_CLASSES = [(0, "-short"), (20, "-tall")]
"""The CSS class of a dialog for each minimum height in rows."""


class Dialog(ModalScreen[ResultT]):
    """A modal screen that closes once.

    Keys typed directly after the answer still reach a screen that is closing; closing it again
    would remove the screen below. Below 100 columns a dialog fills the width.
    """

    HORIZONTAL_BREAKPOINTS = WIDTH_CLASSES
    VERTICAL_BREAKPOINTS = HEIGHT_CLASSES

    takes_early_enter = False
    """True if an Enter that was typed before the dialog was visible counts: it only chooses what to
    see or to use, and approves nothing."""

    _dismissed = False

    def expect_early_enter(self, done: Callable[[], object]) -> None:
        """Take the next Enter as one that was typed before the dialog was visible. *done* is called
        once it was acted on, or the dialog closed: what was typed after it waits for that."""
        done()

    def on_compose(self) -> None:
        """Set the breakpoint classes now. Textual sets them with the first resize, which comes
        after the first frame, and the dialog would visibly jump."""
        for length, classes in zip(app_of(self).size, (WIDTH_CLASSES, HEIGHT_CLASSES), strict=True):
            self.add_class(max(step for step in classes if step[0] <= length)[1])

    def dismiss(self, result: ResultT | None = None) -> AwaitComplete:
        """Close and return *result*; does nothing when already closed."""
        if self._dismissed:
            return AwaitComplete()
        self._dismissed = True
        return super().dismiss(result)

    def action_close(self) -> None:
        self.dismiss(None)

    def interrupt(self) -> None:
        """Close for Ctrl+C."""
        self.dismiss(None)


class GracePeriod:
    """Decides which keys are meant for a dialog and which were typed before it was visible.

    Keys are ignored until *quiet* seconds without one have passed since ``start``; 0 accepts all.
    """

    def __init__(self, quiet: float) -> None:
        self._quiet = quiet
        self.seen = self._last = math.inf

    def start(self, now: float) -> None:
        """Begin the period: the dialog is visible since *now* (monotonic seconds)."""
        self.seen = self._last = now

    def ignores(self, now: float) -> bool:
        """Return whether a key pressed at *now* is to be ignored.

        A user who keeps typing has not read the dialog, and neither has one who keeps a key down.
        """
        if now - self._last >= self._quiet:
            self._quiet = 0.0
        if not math.isinf(self._last):
            self._last = max(self._last, now)
        return self._quiet > 0.0


LATER_KEY = "ctrl+l"
"""The key that puts a request aside: it stays open and is answered later."""


def source_line(source: str) -> Static:
    """Return the first row of a dialog that another session than the open one shows."""
    text = Content.assemble(("From another session   ", "bold $tone-warn"), sanitize_line(source))
    return Static(text, classes="source")


class AutoDialog(Dialog[ResultT]):
    """A dialog that opens by itself, possibly while the user types: keys from before it was
    readable do not answer it.

    The app asks it about each key (``app.tui.type_ahead``), and gives it a key that answers only
    when it is no part of typed text; the dialog checks clicks itself.
    """

    LETTERS: ClassVar[Mapping[str, str]] = {}
    """The actions of the characters that answer."""

    def __init__(self, grace: float = QUIET_SECONDS) -> None:
        super().__init__()
        self.grace = GracePeriod(grace)

    def on_mount(self) -> None:
        """Begin the grace period with the first frame of the dialog."""
        self.call_after_refresh(self._start_grace)

    def _start_grace(self) -> None:
        self.grace.start(monotonic())

    def is_too_early(self, now: float) -> bool:
        """Return whether a key or click at *now* came too early to be meant for this dialog."""
        return self.grace.ignores(now)

    @property
    def takes_text(self) -> bool:
        """True if typed characters go to a text field of this dialog."""
        return self.focused is not None

    def answers(self, key: str) -> bool:
        """Return whether the character *key* gives an answer."""
        return key in self.LETTERS

    def on_key(self, event: events.Key) -> None:
        """Run the action of a letter. It is no binding: a letter that was held is posted here,
        where no bindings are looked for."""
        if action := self.LETTERS.get(event.key):
            event.stop()
            self.call_next(self.run_action, action)

    def moves(self, key: str) -> bool:
        """Return whether the character *key* acts at once, because it answers nothing."""
        return False

    def show_note(self, note: str) -> None:
        """Show why a key did nothing, where the dialog has a place for it."""

    def preview(self, key: str) -> None:
        """Show the answer of *key* as selected while it is held; "" shows the state as it is."""
