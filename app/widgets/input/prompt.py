"""The prompt: a multi-line editor where Enter sends (spec 8, U7)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from app.widgets.input.paste import PastedTexts, mentions_of_dropped
from app.widgets.input.textarea import GraphemeArea

if TYPE_CHECKING:  # for those who want them
    from app.widgets.input.vim.keys import Mode, Vim

PLACEHOLDER = "Ask for anything, @ for files, / for commands"

NEWLINE_KEYS = frozenset({"shift+enter", "alt+enter", "ctrl+enter", "ctrl+j", "newline"})
"""Every name under which terminals deliver a newline key (spec trial KEY-ENCODING)."""

JOINERS = frozenset("\u200c\u200d")
"""Text that Python calls unprintable: it holds emoji together and parts letters in Persian."""


class Prompt(GraphemeArea):
    """Posts ``Submitted`` with the text that was in it; keeps the history of prompts; grows
    with its text.

    While a popup of completions is open (*completing*), the keys that steer it are posted
    as ``Steer`` instead of being acted on.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+b", "cursor_left", show=False),
        Binding("ctrl+f", "cursor_right", show=False),
        Binding("alt+b,alt+left", "cursor_word_left", show=False),
        Binding("alt+f,alt+right", "cursor_word_right", show=False),
        Binding("alt+d", "delete_word_right", show=False),
        Binding("ctrl+underscore,ctrl+minus", "undo", show=False),
    ]

    @dataclass
    class Submitted(Message):
        text: str

    @dataclass
    class CompletionKey(Message):
        """A key for the popup: up, down, accept (enter) or complete (tab)."""

        move: str

    @dataclass
    class ModeChanged(Message):
        """Vim's mode is another one."""

        mode: "Mode"

    class EditQueued(Message):
        """Up on an empty prompt while messages wait: the newest is to be edited."""

    class Leave(Message):
        """Ctrl+D on an empty prompt."""

    class Page(Message):
        """Page up or down: the transcript's business."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, *, id: str | None = None) -> None:  # Textual's own name
        super().__init__(
            id=id,
            soft_wrap=True,
            compact=True,
            highlight_cursor_line=False,
            placeholder=PLACEHOLDER,
            tab_behavior="focus",
        )
        self.cursor_blink = False  # a blinking cursor is a timer (spec 9, Q1: idle)
        self.is_completing = False
        self.has_queued_messages = False
        """Whether messages wait that were sent during the turn."""
        self.vim: Vim | None = None
        """Vim's keys, where the settings want them."""
        self.stashed: list[str] = []
        self.directory = Path()
        """The opened folder: what is dropped is named from there."""
        self._pasted = PastedTexts()
        self._history: tuple[str, ...] = ()
        self._place: int | None = None
        self._draft = ""
        self._recalled = ""

    def set_history(self, prompts: Sequence[str]) -> None:
        """The prompts sent before, newest first, over all sessions."""
        self._history = tuple(prompts)
        self._place = None

    def remember(self, text: str) -> None:
        """Put *text* at the front of the history, once."""
        if text.strip():
            self._history = (text, *(old for old in self._history if old != text))

    def take_text(self) -> str:
        """The text, leaving the prompt empty."""
        text = self.text
        self.set_text("")
        return text

    def set_text(self, text: str, *, recalled: bool = False) -> None:
        """Replace the text, with the cursor at its end. Can be undone. One that is *recalled*
        goes as it came while nothing was changed in it: whole, whatever its lines."""
        self._place = None
        self._show(text)
        self._recalled = text if recalled else ""

    def expand_pastes(self, text: str) -> str:
        """*text* with what was pasted into it, whole (U9)."""
        return self._pasted.unfold(text)

    def use_vim(self, *, on: bool) -> None:
        """Give the prompt Vim's keys, or take them away."""
        if on == (self.vim is not None):
            return
        from app.widgets.input.vim.keys import Vim  # for those who want them

        self.vim = Vim() if on else None
        self.post_message(self.ModeChanged("insert"))

    def stash(self) -> bool:
        """Put the text aside, or bring the last one put aside back into the empty prompt.
        False if there is nothing to do either with."""
        if self.text.strip():
            self.stashed.append(self.take_text())
        elif self.stashed:
            self.set_text(self.stashed.pop())
        else:
            return False
        return True

    @property
    def sent_prompts(self) -> tuple[str, ...]:
        """The prompts sent before, newest first."""
        return self._history

    @property
    def before_cursor(self) -> str:
        """The text of the cursor's line up to the cursor."""
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    def replace_before_cursor(self, count: int, text: str) -> None:
        """Put *text* in the place of the last *count* characters before the cursor."""
        row, column = self.cursor_location
        result = self.replace(text, (row, column - count), (row, column))
        self.move_cursor(result.end_location)

    def _show(self, text: str) -> None:
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
        self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        """Keys with a meaning of their own; the rest is the editor's."""
        if self._vim_takes(event) or self._handled(event.key):
            event.stop()
            event.prevent_default()
        elif event.is_printable:
            self._place = None
        elif event.character in JOINERS:
            self._insert(event.character)

    def _vim_takes(self, event: events.Key) -> bool:
        """Whether the key is Vim's; then it is done."""
        vim = self.vim
        if vim is None or (self.is_completing and vim.mode == "insert"):
            return False
        mode, text = vim.mode, self.text
        row, column = self.cursor_location
        at = sum(len(line) + 1 for line in text.split("\n")[:row]) + column
        change = vim.press(event.key, event.character, text, at)
        if vim.mode != mode:
            self.post_message(self.ModeChanged(vim.mode))
        if change is None:
            return False
        self._place = None
        if change.command:
            self.action_undo() if change.command == "undo" else self.action_redo()
            return True
        if change.start != change.end or change.insert:
            start, end = _location(text, change.start), _location(text, change.end)
            self.replace(change.insert, start, end)
        self.move_cursor(_location(self.text, change.cursor))
        return True

    def _handled(self, key: str) -> bool:
        if self.is_completing and key in {"up", "down", "enter", "tab", "ctrl+n"}:
            self.post_message(self.CompletionKey({"ctrl+n": "down"}.get(key, key)))
        elif key in NEWLINE_KEYS:
            self._insert("\n")
        elif key == "enter":
            self._enter()
        elif key == "up" and self.has_queued_messages and not self.text:
            self.post_message(self.EditQueued())
        elif key == "up":
            return self._older()
        elif key == "down":
            return self._newer()
        elif key in {"pageup", "pagedown"} or (key in {"home", "end"} and not self.text):
            self.post_message(self.Page(key))
        elif key == "ctrl+d" and not self.text:
            self.post_message(self.Leave())
        elif key == "ctrl+u" and self.text and self.text == self._recalled:
            self.set_text("")
        elif key == "backspace" and (label := self._pasted.label_before(self.before_cursor)):
            self.replace_before_cursor(len(label), "")
        else:
            return False
        return True

    def _insert(self, text: str) -> None:
        result = self.replace(text, *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def _enter(self) -> None:
        """Send what is there, unless a backslash right before the cursor asks for a new line."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        if before.endswith("\\"):
            self.replace("\n", (row, column - 1), (row, column))
            self.move_cursor((row + 1, 0))
        else:
            # Taken at once: what is typed before the message is read is no part of it.
            self.post_message(self.Submitted(self.take_text()))

    async def _on_paste(self, event: events.Paste) -> None:
        """A paste is one unit, whatever line ends it came with."""
        event.stop()
        event.prevent_default()
        self._place = None
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        self._insert(mentions_of_dropped(text, self.directory) or self._pasted.fold(text))
        self.focus()

    def _cursor_row(self) -> int:
        return self.wrapped_document.location_to_offset(self.cursor_location).y

    def _older(self) -> bool:
        """Up on the first line: the next older prompt that begins like what was typed."""
        if self._cursor_row() > 0:
            return False
        if self._place is None:
            self._draft = self.text
        start = -1 if self._place is None else self._place
        for place in range(start + 1, len(self._history)):
            if self._history[place].startswith(self._draft) and self._history[place] != self.text:
                self._place = place
                self._show(self._history[place])
                self._recalled = self.text
                self.move_cursor((0, len(self.document.get_line(0))))
                break
        return True

    def _newer(self) -> bool:
        """Down on the last line: newer prompts, then the draft."""
        if self._cursor_row() < self.wrapped_document.height - 1 or self._place is None:
            return False
        for place in range(self._place - 1, -1, -1):
            if self._history[place].startswith(self._draft):
                self._place = place
                self._show(self._history[place])
                self._recalled = self.text
                return True
        self._place = None
        self._show(self._draft)
        return True


def _location(text: str, at: int) -> tuple[int, int]:
    """The row and column of a place in *text*."""
    before = text[:at]
    return before.count("\n"), len(before) - before.rfind("\n") - 1
