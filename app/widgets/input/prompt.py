"""The prompt: a multi-line editor in which Enter sends."""

import mimetypes
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal
from urllib.parse import unquote, urlsplit

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.timer import Timer

from agent.records.amounts import count
from app.terminal.painting import PaintedScreen
from app.text.mentions import mention_of
from app.widgets.input.field import GraphemeArea
from app.widgets.input.held_keys import HeldKeys, TypedEvent

if TYPE_CHECKING:  # only with Vim keys
    from app.widgets.input.vim import Mode, Vim


PLACEHOLDER = "Ask for anything, @ files, / commands, ? help"
SHORTER_PLACEHOLDERS = ("@ files, / commands, ? help", "Ask for anything")
"""The same for a terminal of 40 columns."""

NEWLINE_KEYS = frozenset({"shift+enter", "alt+enter", "ctrl+enter", "ctrl+j", "newline"})
"""All names under which terminals deliver a newline key."""

CompletionKey = Literal["up", "down", "enter", "tab"]

COMPLETION_KEYS: dict[str, CompletionKey] = {
    "up": "up",
    "down": "down",
    "ctrl+n": "down",
    "enter": "enter",
    "tab": "tab",
}
"""The keys for the completion list while it is open: next, previous, accept, complete."""

JOINERS = frozenset("\u200c\u200d")
"""Characters that Python considers unprintable although emoji and Persian need them."""


MAX_LINES = 5
"""Lines up to which pasted text is shown in full."""

MAX_CHARACTERS = 1_000
"""Characters up to which it is shown in full: long single lines fold too."""

MAX_PATH = 4_096
"""Characters above which pasted text is not tried as a path (Linux' PATH_MAX)."""

MEDIA = ("image/", "application/pdf")

_ESCAPED = re.compile(r"\\.")


KEY_PAUSE = 0.002
"""Seconds between a frame and that of a key at least."""

HOLD_SECONDS = 5.0
"""Seconds for which keys are held back at most: what takes longer is not waited for."""


@dataclass(slots=True)
class PastedTexts:
    """The full texts of the labels in prompts.

    They are kept as long as the program runs, because a label can come back from the prompt
    history.
    """

    _texts: dict[str, str] = field(default_factory=dict[str, str])

    def fold(self, text: str) -> str:
        """Return *text* itself if it is short, else a label for it."""
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= MAX_LINES and len(text) <= MAX_CHARACTERS:
            return text
        for label, text_ in self._texts.items():
            if text_ == text:
                return label
        size = count(lines, "line") if lines > 1 else f"{len(text):,} characters"
        label = f"[Pasted {len(self._texts) + 1}: {size}]"
        self._texts[label] = text
        return label

    def unfold(self, text: str) -> str:
        """Return *text* with its labels replaced by the full texts."""
        for label, text_ in self._texts.items():
            text = text.replace(label, text_)
        return text

    def label_before(self, text: str) -> str:
        """Return the label that *text* ends with, "" if none."""
        return next((label for label in self._texts if text.endswith(label)), "")


def mentions_of_dropped(text: str, directory: Path) -> str | None:
    """Return the mentions for a paste that consists only of paths of existing files, else None.

    Images and PDFs are accepted in any spelling, other files only in the forms in which terminals
    write a dropped file (quoted, escaped or as a URL): a bare path can be part of a sentence.
    """
    text = text.strip()
    if not text or len(text) > MAX_PATH or "\n" in text:
        return None
    explicit = text[0] in "'\"" or text.startswith("file://") or bool(_ESCAPED.search(text))
    found = [_existing_file(word) for word in _split_paths(text)]
    if not found or any(path is None for path in found):
        return None
    paths = [path for path in found if path is not None]
    if not explicit and not all(_is_media(path) for path in paths):
        return None
    return " ".join(mention_of(_relative_path(path, directory)) for path in paths) + " "


def _split_paths(text: str) -> list[str]:
    if _existing_file(text) is not None:  # contains spaces without quotes
        return [text]
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _existing_file(word: str) -> Path | None:
    if word.startswith("file://"):
        word = unquote(urlsplit(word).path)
    try:
        path = Path(word).expanduser()
        return path if path.is_absolute() and path.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _is_media(path: Path) -> bool:
    kind = mimetypes.guess_type(path.name)[0] or ""
    return kind.startswith(MEDIA)


def _relative_path(path: Path, directory: Path) -> str:
    """Return the path for the prompt: relative if it is inside the opened folder."""
    return str(path.relative_to(directory)) if path.is_relative_to(directory) else str(path)


class Prompt(GraphemeArea):
    """The prompt editor with history, paste folding and optional Vim keys. It grows with its text.

    While the completion list is open (*is_completing*), the keys for it are passed to *complete*,
    which says whether it used them.

    Enter is held back while a command runs (``hold``): text that is typed right after one can be
    for the screen that it opens.
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
        """Enter was pressed on *text*."""

        text: str
        handled: Callable[[], None]
        """Call it once the text is handled: until then, keys are held back."""
        restored: str = ""
        """The restored message that a slash was typed after, if there is one."""

    @dataclass
    class ModeChanged(Message):
        """Vim's mode changed."""

        mode: "Mode"

    class EditQueued(Message):
        """Up was pressed on an empty prompt with queued messages: the newest is to be edited."""

    @dataclass
    class HelpWanted(Message):
        """A question mark was typed into an empty prompt."""

        handled: Callable[[], None]
        """As in ``Submitted``."""

    class Leave(Message):
        """Ctrl+D was pressed on an empty prompt."""

    class ScrollKey(Message):
        """A key that scrolls the transcript was pressed."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, *, id: str | None = None) -> None:  # Textual's parameter
        super().__init__(
            id=id,
            soft_wrap=True,
            compact=True,
            highlight_cursor_line=False,
            placeholder=PLACEHOLDER,
            tab_behavior="focus",
        )
        self.cursor_blink = False  # a blinking cursor would need a timer while idle
        self.is_completing = False
        self.complete: Callable[[CompletionKey], bool] = lambda _: False
        """Handles a completion key. It is called, not sent a message: characters that were typed
        right after the key would be in the text when the message is handled."""
        self.is_command: Callable[[str], bool] = lambda _: False
        """Returns whether a text calls a command."""
        self.has_queued_messages = False
        """True while messages that were sent during the turn are queued."""
        self.vim: Vim | None = None
        self.stashed: list[str] = []
        self.directory = Path()
        """The opened folder; paths of dropped files are relative to it."""
        self._pasted = PastedTexts()
        self._history: tuple[str, ...] = ()
        self._history_index: int | None = None
        self._draft = ""
        self._recalled = ""
        self._restored = ""
        self._held: HeldKeys | None = None
        self._hold_end: Timer | None = None

    def on_resize(self) -> None:
        texts = (PLACEHOLDER, *SHORTER_PLACEHOLDERS)
        fitting = (text for text in texts if len(text) < self.size.width)
        self.placeholder = next(fitting, texts[-1])

    def set_history(self, prompts: Sequence[str]) -> None:
        """Set the prompts sent before, newest first, over all sessions."""
        self._history = tuple(prompts)
        self._history_index = None

    def remember(self, text: str) -> None:
        """Add *text* to the front of the history, without duplicates."""
        if text.strip():
            self._history = (text, *(old for old in self._history if old != text))

    def take_text(self) -> str:
        text = self.text
        self.set_text("")
        return text

    def set_text(self, text: str, *, recalled: bool = False) -> None:
        """Replace the text and move the cursor to its end; can be undone.

        A *recalled* text, such as one from the history, is deleted as a whole by ctrl+u while it is
        unchanged.
        """
        self._history_index = None
        self._replace_all(text)
        self._recalled = text if recalled else ""
        if self._held is not None:
            self._held.begin(self.text, self._place)

    def restore(self, text: str) -> None:
        """Bring back the *text* of an undone message, unless something else is being typed: then
        it is in the history only. A command typed right after it stays one (``Submitted``)."""
        if not self.text.strip():
            self.set_text(text, recalled=True)
            self._restored = text

    def discard_restored(self) -> None:
        """Remove the restored text again if it was not changed."""
        if self._restored and self.text == self._restored:
            self.take_text()

    def hold(self) -> Callable[[], None]:
        """Hold keys back until the returned function is called: what is typed from now on can be
        for a screen that is about to open."""
        held = self._held
        if held is None:
            held = self._held = HeldKeys(self.text, self._place)
            self._hold_end = self.set_timer(HOLD_SECONDS, lambda: self._let_go(held))
        holder = object()
        held.holders.add(holder)

        def release() -> None:
            held.holders.discard(holder)
            if not held.holders:
                self._let_go(held)

        return release

    @property
    def is_holding(self) -> bool:
        return self._held is not None

    def cover(self) -> None:
        """Note that another screen covers this one: Enter that was typed before sends no prompt."""
        if self._held is not None:
            self._held.covered = True

    def take_held(self) -> tuple[str, bool]:
        """Remove and return the text that was typed for the screen that opened, and whether an
        Enter ended it. What was typed after that stays here."""
        held = self._held
        if held is None:
            return "", False
        if typed := held.typed(self.text):
            end = held.at + len(typed)
            self.replace("", _location(self.text, held.at), _location(self.text, end))
        held.begin(self.text, self._place)
        entered = bool(held.kept)
        self.call_next(self._replay, held.take_kept(sends=False)[1:])
        return self._pasted.unfold(typed), entered

    def _let_go(self, held: HeldKeys) -> None:
        """End holding; a prompt that was entered meanwhile is sent now, unless a screen opened that
        it may have been meant for."""
        if self._held is held:
            self._held = None
            if self._hold_end is not None:
                self._hold_end.stop()
            sends = not held.covered or self.is_command(held.typed(self.text))
            self.call_next(self._replay, held.take_kept(sends=sends))

    async def _replay(self, kept: Sequence[TypedEvent]) -> None:
        for event in kept:
            await self.on_event(event)

    def expand_pastes(self, text: str) -> str:
        """Return *text* with the labels of pasted text replaced by the full text."""
        return self._pasted.unfold(text)

    def use_vim(self, *, on: bool) -> None:
        if on == (self.vim is not None):
            return
        from app.widgets.input.vim import Vim  # only with Vim keys

        self.vim = Vim() if on else None
        self.post_message(self.ModeChanged("insert"))

    def stash(self) -> bool:
        """Stash the text, or restore the last stashed one into the empty prompt."""
        if self.text.strip():
            self.stashed.append(self.take_text())
        elif self.stashed:
            self.set_text(self.stashed.pop())
        else:
            return False
        return True

    @property
    def sent_prompts(self) -> tuple[str, ...]:
        return self._history

    @property
    def before_cursor(self) -> str:
        """Return the text of the cursor's line up to the cursor."""
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    def replace_before_cursor(self, count: int, text: str) -> None:
        """Replace the last *count* characters before the cursor with *text*."""
        row, column = self.cursor_location
        result = self.replace(text, (row, column - count), (row, column))
        self.move_cursor(result.end_location)

    def _replace_all(self, text: str) -> None:
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
        self.move_cursor(self.document.end)

    async def on_event(self, event: events.Event) -> None:
        """Have what a key changed painted at once."""
        await super().on_event(event)
        if isinstance(event, events.Key) and isinstance(screen := self.screen, PaintedScreen):
            screen.paint(KEY_PAUSE)

    async def _on_key(self, event: events.Key) -> None:
        """Handle the prompt's own keys; the rest is the editor's."""
        kept = self._held is not None and self._held.keep(event)
        if kept or self._handle_vim(event) or self._handle_key(event.key):
            event.stop()
            event.prevent_default()
        elif event.is_printable:
            self._history_index = None
        elif event.character in JOINERS:
            self._insert(event.character)

    def _handle_vim(self, event: events.Key) -> bool:
        """Pass the key to Vim; return whether it was handled."""
        vim = self.vim
        if vim is None or (self.is_completing and vim.mode == "insert"):
            return False
        mode, text = vim.mode, self.text
        change = vim.press(event.key, event.character, text, self._place)
        if vim.mode != mode:
            self.post_message(self.ModeChanged(vim.mode))
        if change is None:
            return False
        self._history_index = None
        if change.command:
            self.action_undo() if change.command == "undo" else self.action_redo()
            return True
        if change.start != change.end or change.insert:
            start, end = _location(text, change.start), _location(text, change.end)
            self.replace(change.insert, start, end)
        self.move_cursor(_location(self.text, change.cursor))
        return True

    def _handle_key(self, key: str) -> bool:
        if key in COMPLETION_KEYS and self.complete(COMPLETION_KEYS[key]):
            return True
        if key in NEWLINE_KEYS:
            self._insert("\n")
        elif key == "enter":
            self._submit_or_break()
        elif key == "up" and self.has_queued_messages and not self.text:
            self.post_message(self.EditQueued())
        elif key == "up":
            return self._show_older()
        elif key == "down":
            return self._show_newer()
        elif key in {"pageup", "pagedown"} or (key in {"home", "end"} and not self.text):
            self.post_message(self.ScrollKey(key))
        elif key == "question_mark" and not self.text:
            self.post_message(self.HelpWanted(self.hold()))
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

    def _submit_or_break(self) -> None:
        """Send the text, unless a backslash directly before the cursor asks for a line break."""
        row, column = self.cursor_location
        before = self.document.get_line(row)[:column]
        if before.endswith("\\"):
            self.replace("\n", (row, column - 1), (row, column))
            self.move_cursor((row + 1, 0))
        else:
            restored = self._restored if self.text.startswith(f"{self._restored}/") else ""
            # Taken at once: text typed before the message is handled is not part of it.
            text = self.take_text()
            self.post_message(self.Submitted(text, self.hold(), restored))

    async def _on_paste(self, event: events.Paste) -> None:
        """Insert a paste as one unit, with any kind of line endings."""
        event.stop()
        event.prevent_default()
        if self._held is not None and self._held.keep(event):
            return
        self._history_index = None
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        self._insert(mentions_of_dropped(text, self.directory) or self._pasted.fold(text))
        self.focus()

    @property
    def _place(self) -> int:
        """The offset of the cursor in the text."""
        row, column = self.cursor_location
        return sum(len(line) + 1 for line in self.text.split("\n")[:row]) + column

    def _cursor_row(self) -> int:
        return self.wrapped_document.location_to_offset(self.cursor_location).y

    def _show_older(self) -> bool:
        """Handle up on the first line: show the previous prompt that begins with what was typed."""
        if self._cursor_row() > 0:
            return False
        if self._history_index is None:
            self._draft = self.text
        start = -1 if self._history_index is None else self._history_index
        for index in range(start + 1, len(self._history)):
            if self._history[index].startswith(self._draft) and self._history[index] != self.text:
                self._history_index = index
                self._replace_all(self._history[index])
                self._recalled = self.text
                self.move_cursor((0, len(self.document.get_line(0))))
                break
        return True

    def _show_newer(self) -> bool:
        """Handle down on the last line: show newer prompts, then the draft."""
        if self._cursor_row() < self.wrapped_document.height - 1 or self._history_index is None:
            return False
        for index in range(self._history_index - 1, -1, -1):
            if self._history[index].startswith(self._draft):
                self._history_index = index
                self._replace_all(self._history[index])
                self._recalled = self.text
                return True
        self._history_index = None
        self._replace_all(self._draft)
        return True


def _location(text: str, at: int) -> tuple[int, int]:
    """Return the row and column of an offset in *text*."""
    before = text[:at]
    return before.count("\n"), len(before) - before.rfind("\n") - 1
