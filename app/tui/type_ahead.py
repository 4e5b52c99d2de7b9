"""Type-ahead: keys pressed before a dialog was visible go to the prompt, never to the dialog."""

import math

from textual import events
from textual.screen import Screen

from app.screens.base.dialog import AutoDialog
from app.screens.session.screen import SessionScreen
from app.widgets.input.prompt import NEWLINE_KEYS

EDIT_KEYS = frozenset({"backspace", "delete", "left", "right", "ctrl+h", "ctrl+w", "ctrl+u"})
"""Keys that only edit text, apart from those that type characters."""

LINE_ENDS = NEWLINE_KEYS | {"enter"}


TYPING_PAUSE = 1.0
"""Seconds within which a key continues what was being typed."""


class TypeAhead:
    """Keeps keys from a dialog that the user cannot have read yet.

    What was being typed in the prompt of *main* continues there, and so does what came before the
    dialog was visible. Enter starts a new line: nothing is sent unseen. Any other key is a hasty
    answer, and is dropped.
    """

    def __init__(self, main: SessionScreen) -> None:
        self._main = main
        self._at_prompt = True
        self._last_typed = -math.inf
        self._line_ended = False

    def intercept(self, event: events.Key | events.Paste, screen: "Screen[object]") -> bool:
        """Return whether *event* came too early for *screen*; then it is handled here."""
        key = event.key if isinstance(event, events.Key) else ""
        if key == "ctrl+c":  # always interrupts
            return False
        if isinstance(screen, AutoDialog) and screen.is_too_early(event.time, key):
            before = self._at_prompt and event.time < screen.grace.seen
            if before or event.time - self._last_typed <= TYPING_PAUSE:
                self._type(event)
            return True
        self._at_prompt = screen is self._main
        self._last_typed = event.time if self._at_prompt and _edits(event) else -math.inf
        self._line_ended = False
        return False

    def _type(self, event: events.Key | events.Paste) -> None:
        self._last_typed = event.time
        if isinstance(event, events.Key) and event.key in LINE_ENDS:
            self._line_ended = bool(self._main.prompt.text)
        elif _edits(event):
            if self._line_ended:
                self._line_ended = False
                self._post(events.Key("ctrl+j", None))
            self._post(_copy_of(event))

    def _post(self, event: events.Key | events.Paste) -> None:
        """Post *event* to the prompt alone: it must not bubble to the dialog."""
        event.stop()
        self._main.prompt.post_message(event)


def _edits(event: events.Key | events.Paste) -> bool:
    return isinstance(event, events.Paste) or event.is_printable or event.key in EDIT_KEYS


def _copy_of(event: events.Key | events.Paste) -> events.Key | events.Paste:
    if isinstance(event, events.Paste):
        return events.Paste(event.text)
    return events.Key(event.key, event.character)
