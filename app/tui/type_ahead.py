"""Type-ahead: typed text goes to the prompt, never to a dialog that it could answer, or into the
field of the screen that a command opens."""

import math
from collections.abc import Callable
from functools import partial
from weakref import WeakSet

from textual import events
from textual.screen import Screen
from textual.widgets import Input

from agent.records.frozen import frozen
from app.screens.base.dialog import LATER_KEY, AutoDialog, Dialog
from app.screens.main.screen import SessionScreen
from app.terminal.app_of import app_of
from app.widgets.input.held_keys import TypedEvent, copy_of
from app.widgets.input.prompt import NEWLINE_KEYS

EDIT_KEYS = frozenset({"backspace", "delete", "left", "right", "ctrl+h", "ctrl+w", "ctrl+u"})
"""Keys that only edit text, apart from those that type characters."""

LINE_ENDS = NEWLINE_KEYS | {"enter"}

ENTER_TYPED = "You were still typing: enter went to the prompt. Pause, then answer."
"""The note of a dialog that did not get an Enter."""

TYPING_PAUSE = 1.0
"""Seconds within which a key continues what was being typed before a dialog was visible."""

TEXT_PAUSE = 0.6
"""Seconds without a typed character after which a letter can be an answer."""

LINE_PAUSE = 3.0
"""Seconds after the last typed character within which Enter ends that text."""

SHORTEST_HOLD = 0.15
"""Seconds for which an answer is held, at least: it is text if another character follows."""

GAPS_HELD = 2.5
"""The number of gaps between the user's keys for which an answer is held."""

FIRST_GAP = TEXT_PAUSE / GAPS_HELD
"""The gap between keys in seconds that is assumed for a user who has not typed yet."""

FASTEST_GAP = 0.02
"""Seconds between two keys; programs that type are faster, users are not."""

KEPT_DOWN_GAP = 0.25
"""Seconds within which a key repeats that is kept down; slower ones are pressed again."""

INSIST_PRESSES = 3
"""Presses of the same key in a row that do not occur in text."""

GAP_WEIGHT = 0.2
"""The weight of the latest gap in the average."""

Later = Callable[[float, Callable[[], None]], Callable[[], object]]
"""Calls a function after so many seconds; returns a function that cancels that."""


class TypingRhythm:
    """The moment of the last typed character and the average gap between two of them."""

    def __init__(self) -> None:
        self.last = -math.inf
        self.presses = 0
        self._key = ""
        self._gap = FIRST_GAP

    @property
    def hold(self) -> float:
        """The seconds after which the next character of a text would have come."""
        return min(TEXT_PAUSE, max(SHORTEST_HOLD, GAPS_HELD * self._gap))

    def insists(self, key: str, now: float) -> bool:
        """Return whether *key* at *now* was pressed again and again, but is not kept down."""
        return self._presses_with(key, now) >= INSIST_PRESSES

    def _presses_with(self, key: str, now: float) -> int:
        again = bool(key) and key == self._key and now - self.last >= KEPT_DOWN_GAP
        return self.presses + 1 if again else 1

    def add(self, key: str, now: float) -> None:
        """Add a typed character; a paste has an empty *key*. A repeated key says nothing about the
        user's speed: it can be one that is kept down."""
        self.presses = self._presses_with(key, now)
        gap = now - self.last
        if key and key != self._key and FASTEST_GAP <= gap < TEXT_PAUSE:
            self._gap += GAP_WEIGHT * (gap - self._gap)
        self.last, self._key = now, key


@frozen
class HeldAnswer:
    """An answer that *screen* gets unless *cancel* is called first."""

    screen: AutoDialog[object]
    cancel: Callable[[], object]


class TypeAhead:
    """Keeps typed text from answering a dialog.

    What was being typed in the prompt of *main* continues there, and so does what came before the
    dialog was visible. Enter starts a new line: nothing is sent unseen. Any other key before the
    dialog was visible is a hasty answer, and is dropped.

    In a visible dialog an answer is one character by itself: none came shortly before, and none
    follows while the answer is held (*later* ends that). Other characters are text for the prompt
    until the user pauses. With *guards* false only the dialog's own grace period counts.

    A screen that a command opened gets what was typed since the command, if it has a field for it
    (``hand_over``). Enter acts on nothing that was not visible yet, apart from lists that only
    choose (``takes_early_enter``); what was typed after it waits until they have their rows.
    """

    def __init__(self, main: SessionScreen, later: Later, *, guards: bool) -> None:
        self._main = main
        self._later = later
        self._guards = guards
        self._at_prompt = True
        self._last_typed = -math.inf
        self._line_ended = False
        self._rhythm = TypingRhythm()
        self._unsorted: list[events.Key] = []
        self._held: HeldAnswer | None = None
        self._seen = WeakSet[Screen[object]]()
        self._opening: Screen[object] | None = None
        self._typed_early: list[TypedEvent] = []

    def hand_over(self, screen: "Screen[object]") -> None:
        """Give *screen*, which a command opened, what was typed since then, once it is ready."""
        if screen in self._seen or not self._main.prompt.is_holding or not self._covers(screen):
            return
        self._seen.add(screen)
        self._opening = screen
        if not screen.call_after_refresh(self._main.prompt.call_later, self._give, screen):
            self._give(screen)  # it is closing

    def _covers(self, screen: "Screen[object]") -> bool:
        """Return whether *screen* covers the main one directly, and did not open by itself."""
        below = app_of(self._main).screen_stack[-2:-1] if screen.is_current else []
        return below == [self._main] and not isinstance(screen, AutoDialog)

    def _give(self, screen: "Screen[object]") -> None:
        """Type what was typed early into the field of *screen*, up to an Enter, and the rest into
        the prompt. This runs in the prompt, after all keys for it."""
        if self._opening is not screen:
            return
        self._opening = None
        early, self._typed_early = self._typed_early, []
        field = screen.focused if screen.is_current else None
        if isinstance(field, Input):
            text, entered = self._main.prompt.take_held()
            for character in text:
                field.post_message(_key_of(character))
            while early and not entered:
                event = early.pop(0)
                entered = _ends_line(event)
                if not entered:
                    field.post_message(copy_of(event))
            if entered and isinstance(screen, Dialog) and screen.takes_early_enter:
                self._opening, self._typed_early = screen, early
                screen.expect_early_enter(partial(self._main.prompt.call_later, self._end, screen))
                field.call_later(field.action_submit)  # after these keys
                return
        for event in early:
            self._type(event)

    def _end(self, screen: "Screen[object]") -> None:
        """Type what came after an Enter that *screen* has acted on."""
        if self._opening is screen:
            self._opening = None
            early, self._typed_early = self._typed_early, []
            for event in early:
                self._type(event)

    def _is_opening(self, event: events.Key | events.Paste, screen: "Screen[object]") -> bool:
        """Return whether *event* is kept until *screen* is ready."""
        self.hand_over(screen)
        if self._opening is not None and self._opening is not screen:
            self._give(self._opening)
        if self._opening is None or not (_edits(event) or _ends_line(event)):
            return False
        self._typed_early.append(event)
        return True

    def intercept(self, event: events.Key | events.Paste, screen: "Screen[object]") -> bool:
        """Return whether *event* is not for *screen*, or not yet; then it is handled here."""
        if self._is_opening(event, screen):
            return True
        key = event.key if isinstance(event, events.Key) else ""
        again = self._rhythm.insists(key, event.time)
        if again and self._held is not None:
            self._add_to_rhythm(event)
            return True
        held = self._cancel_held()
        if key == "ctrl+c" or (key == LATER_KEY and _is_visible(screen, event)):
            return False  # one always interrupts, the other grants nothing
        if isinstance(screen, AutoDialog) and screen.is_too_early(event.time):
            before = self._at_prompt and event.time < screen.grace.seen
            if before or event.time - self._last_typed <= TYPING_PAUSE:
                self._type(event)
            self._add_to_rhythm(event)
            _explain_enter(key, screen)
            return True
        alone = again or event.time - max(self._rhythm.last, self._last_typed) >= TEXT_PAUSE
        self._add_to_rhythm(event)
        if alone or not isinstance(screen, AutoDialog):
            self._unsorted.clear()
        if self._guards and isinstance(screen, AutoDialog):
            if _is_text(event):
                kept = self._keeps_text(event, screen, alone=alone)
            else:
                kept = self._keeps_key(event, screen, held=held)
            if kept:
                return True
        self._at_prompt = screen is self._main
        self._last_typed = event.time if self._at_prompt and _edits(event) else -math.inf
        self._line_ended = False
        return False

    def _keeps_text(
        self, event: events.Key | events.Paste, screen: AutoDialog[object], *, alone: bool
    ) -> bool:
        """Return whether a character or paste is kept from *screen*: as text, or to be held."""
        if screen.takes_text:
            self._unsorted.clear()
            return False
        if isinstance(event, events.Paste) or (self._is_typing(event) and not alone):
            self._type_all(event)
            return True
        only_moves = self._only_moves(screen)
        self._unsorted.append(event)
        if screen.moves(event.key) and only_moves:
            return False
        if alone and screen.answers(event.key):
            self._hold(event, screen)
        elif len({key.key for key in self._unsorted}) > 1:  # not one key that is kept down
            self._type_all()
        return True

    def _keeps_key(
        self, event: events.Key | events.Paste, screen: AutoDialog[object], *, held: bool
    ) -> bool:
        """Return whether a key that types no character is kept from *screen*, as part of text."""
        key = event.key if isinstance(event, events.Key) else ""
        if screen.focused is not None or key == "escape":
            self._unsorted.clear()
            return False
        if held and key not in LINE_ENDS:  # another answer is chosen, or this one is taken back
            self._unsorted.clear()
            return key in EDIT_KEYS - {"left", "right"}
        if not self._is_typing(event) and self._only_moves(screen):
            return False
        self._type_all(event)
        _explain_enter(key, screen)
        return True

    def _only_moves(self, screen: AutoDialog[object]) -> bool:
        return all(screen.moves(key.key) for key in self._unsorted)

    def _is_typing(self, event: events.Key | events.Paste) -> bool:
        """Return whether *event* continues the text that is typed into the prompt. Before Enter, a
        user can stop to read what they typed."""
        ends = _ends_line(event) and not self._line_ended
        return event.time - self._last_typed < (LINE_PAUSE if ends else TEXT_PAUSE)

    def _hold(self, event: events.Key, screen: AutoDialog[object]) -> None:
        """Give the answer *event* to *screen* unless another key follows soon."""

        def give() -> None:
            self._cancel_held()
            self._unsorted.clear()
            self._at_prompt = False
            self._last_typed = -math.inf
            self._rhythm.presses = 0
            if screen.is_current:
                screen.post_message(copy_of(event))

        screen.preview(event.key)
        self._held = HeldAnswer(screen, self._later(self._rhythm.hold, give))

    def _cancel_held(self) -> bool:
        """Drop the held answer; return whether there was one."""
        held, self._held = self._held, None
        if held is None:
            return False
        held.cancel()
        if held.screen.is_mounted:
            held.screen.preview("")
        return True

    def _add_to_rhythm(self, event: events.Key | events.Paste) -> None:
        if _is_text(event):
            self._rhythm.add(event.key if isinstance(event, events.Key) else "", event.time)

    def _type_all(self, last: events.Key | events.Paste | None = None) -> None:
        """Type the keys of which it was not known that they are text, then *last*."""
        keys = [*self._unsorted, *([last] if last is not None else [])]
        self._unsorted.clear()
        for key in keys:
            self._type(key)

    def _type(self, event: events.Key | events.Paste) -> None:
        self._last_typed = event.time
        if _ends_line(event):
            self._line_ended = bool(self._main.prompt.text)
        elif _edits(event):
            if self._line_ended:
                self._line_ended = False
                self._post(events.Key("ctrl+j", None))
            self._post(event)

    def _post(self, event: events.Key | events.Paste) -> None:
        """Post *event* to the prompt alone: it must not bubble to the dialog."""
        self._main.prompt.post_message(copy_of(event))


def _is_visible(screen: "Screen[object]", event: events.Key | events.Paste) -> bool:
    """Return whether *screen* is a dialog that was visible when *event* came."""
    return isinstance(screen, AutoDialog) and event.time >= screen.grace.seen


def _explain_enter(key: str, screen: AutoDialog[object]) -> None:
    if key in LINE_ENDS:
        screen.show_note(ENTER_TYPED)


def _is_text(event: events.Key | events.Paste) -> bool:
    return isinstance(event, events.Paste) or event.is_printable


def _ends_line(event: events.Key | events.Paste) -> bool:
    return isinstance(event, events.Key) and event.key in LINE_ENDS


def _edits(event: events.Key | events.Paste) -> bool:
    return _is_text(event) or (isinstance(event, events.Key) and event.key in EDIT_KEYS)


def _key_of(character: str) -> events.Key:
    """Return the key that types *character* into a field of one line."""
    shown = " " if character == "\n" else character
    return events.Key(shown, shown)
