"""What was typed when a dialog opened by itself (spec 4, M6): it answers nothing, and what would
have been written in the prompt is."""

import math

from textual import events
from textual.screen import Screen

from app.screens.base.dialog import AutoDialog
from app.screens.session.screen import SessionScreen
from app.widgets.input.prompt import NEWLINE_KEYS

EDIT_KEYS = frozenset({"backspace", "delete", "left", "right", "ctrl+h", "ctrl+w", "ctrl+u"})
"""Keys beside those of characters that do nothing but write."""

LINE_ENDS = NEWLINE_KEYS | {"enter"}


TYPING_PAUSE = 1.0
"""Seconds within which a key goes on with what was being written."""


class TypeAhead:
    """Keeps keys from a dialog that nobody can have read yet. What was being written in the prompt
    of *main* goes on there, and so does what came before the dialog was seen; Enter parts lines:
    nothing is sent unseen. Anything else is a hasty answer, and no text."""

    def __init__(self, main: SessionScreen) -> None:
        self._main = main
        self._at_prompt = True
        self._wrote = -math.inf
        self._line_ended = False

    def intercept(self, event: events.Key | events.Paste, screen: "Screen[object]") -> bool:
        """Whether *event*, which is for *screen*, came too early for it; then it is dealt with."""
        key = event.key if isinstance(event, events.Key) else ""
        if key == "ctrl+c":  # ends whatever there is
            return False
        if isinstance(screen, AutoDialog) and screen.is_too_early(event.time, key):
            before = self._at_prompt and event.time < screen.grace.seen
            if before or event.time - self._wrote <= TYPING_PAUSE:
                self._write(event)
            return True
        self._at_prompt = screen is self._main
        self._wrote = event.time if self._at_prompt and _writes(event) else -math.inf
        self._line_ended = False
        return False

    def _write(self, event: events.Key | events.Paste) -> None:
        self._wrote = event.time
        if isinstance(event, events.Key) and event.key in LINE_ENDS:
            self._line_ended = bool(self._main.prompt.text)
        elif _writes(event):
            if self._line_ended:
                self._line_ended = False
                self._post(events.Key("ctrl+j", None))
            self._post(_again(event))

    def _post(self, event: events.Key | events.Paste) -> None:
        """For the prompt alone: what it leaves over would go on to the dialog."""
        event.stop()
        self._main.prompt.post_message(event)


def _writes(event: events.Key | events.Paste) -> bool:
    return isinstance(event, events.Paste) or event.is_printable or event.key in EDIT_KEYS


def _again(event: events.Key | events.Paste) -> events.Key | events.Paste:
    if isinstance(event, events.Paste):
        return events.Paste(event.text)
    return events.Key(event.key, event.character)
