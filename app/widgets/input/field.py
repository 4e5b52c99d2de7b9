"""The one-line text field, and editing by graphemes with keys in the order they were typed.

A grapheme is a character as the user sees it: an emoji of several joined code points, a flag, or a
letter with its accents.

Textual's fields insert letters at once but run other keys only when these have bubbled up to the
app, so that a letter from the same read would overtake them.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from rich.cells import split_graphemes
from textual import events
from textual.binding import BindingsMap
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input
from textual.widgets.input import Selection

_FLAGS = range(0x1F1E6, 0x1F200)
"""The letters of which two form a flag; Rich takes them for one grapheme each."""


def grapheme_boundaries(line: str) -> list[int]:
    """Return the offsets where the graphemes of *line* begin, and its end."""
    if line.isascii():
        return list(range(len(line) + 1))
    found: list[int] = []
    half = False
    for start, end, _ in split_graphemes(line)[0]:
        letter = end == start + 1 and ord(line[start]) in _FLAGS
        half = letter and not half
        if half or not letter:
            found.append(start)
    return [*found, len(line)]


def previous_boundary(line: str, at: int) -> int:
    """Return the boundary before *at*, 0 at the beginning of *line*."""
    return max((edge for edge in grapheme_boundaries(line) if edge < at), default=0)


def next_boundary(line: str, at: int) -> int:
    """Return the boundary after *at*, or the length of *line*."""
    return next((edge for edge in grapheme_boundaries(line) if edge > at), len(line))


async def run_bound_action(editor: Widget, bound: BindingsMap, event: events.Key) -> None:
    """Run the action that *editor* has *bound* to the key before the next key is handled."""
    for binding in bound.key_to_bindings.get(event.key, ()):
        if not binding.priority:
            event.stop()
            event.prevent_default()
            await editor.run_action(binding.action)
            return


SCROLL_KEYS = frozenset({"up", "down", "pageup", "pagedown"})
"""Keys that Textual's field binds to scrolling, which one line does not need: its dialog does."""


class TextField(Input):
    """A one-line input whose cursor moves by graphemes (Textual's moves by code points)."""

    async def _on_key(self, event: events.Key) -> None:
        if event.key not in SCROLL_KEYS:
            await run_bound_action(self, self._bindings, event)

    def action_cursor_left(self, select: bool = False) -> None:
        start, end = self.selection
        if select:
            self.selection = Selection(start, previous_boundary(self.value, end))
        elif self.selection.is_empty:
            self.cursor_position = previous_boundary(self.value, end)
        else:
            self.cursor_position = min(start, end)

    def action_cursor_right(self, select: bool = False) -> None:
        start, end = self.selection
        if select:
            self.selection = Selection(start, next_boundary(self.value, end))
        elif self.selection.is_empty:
            self.cursor_position = next_boundary(self.value, end)
        else:
            self.cursor_position = max(start, end)

    def action_delete_left(self) -> None:
        if self.selection.is_empty:
            self.delete(previous_boundary(self.value, self.cursor_position), self.cursor_position)
        else:
            self.delete_selection()

    def action_delete_right(self) -> None:
        if self.selection.is_empty:
            self.delete(self.cursor_position, next_boundary(self.value, self.cursor_position))
        else:
            self.delete_selection()


# Textual's multi-line editor, with a cursor that moves by graphemes.
#
# Textual's editor is imported without tree-sitter: nothing is highlighted here, and the first frame
# must not wait for it. Import it only from this module.


@contextmanager
def _without_tree_sitter() -> Generator[None]:
    """Hide tree-sitter from imports in the block, unless it is loaded already."""
    modules = cast("dict[str, object]", sys.modules)
    hidden = "tree_sitter" not in modules
    if hidden:
        modules["tree_sitter"] = None
    try:
        yield
    finally:
        if hidden:
            del modules["tree_sitter"]


with _without_tree_sitter():
    from textual.widgets import TextArea
    from textual.widgets.text_area import Location

__all__ = ["GraphemeArea", "Location", "TextArea"]


class GraphemeArea(TextArea):
    """An editor whose cursor moves by graphemes, which are deleted as a whole. Its keys work in the
    order they were typed."""

    async def _on_key(self, event: events.Key) -> None:
        await run_bound_action(self, self._bindings, event)

    def get_cursor_left_location(self) -> Location:
        row, column = self.cursor_location
        if column == 0:
            return super().get_cursor_left_location()
        return row, previous_boundary(self.document.get_line(row), column)

    def get_cursor_right_location(self) -> Location:
        row, column = self.cursor_location
        line = self.document.get_line(row)
        if column == len(line):
            return super().get_cursor_right_location()
        return row, next_boundary(line, column)


# The editor of a command in the permission dialog.

NEW_LINE = {"shift+enter", "alt+enter", "ctrl+j"}


class CommandEditor(TextArea):
    """Enter is done, shift+enter or ctrl+j inserts a line break, Esc discards the changes."""

    DEFAULT_CSS = """
    CommandEditor {
        height: auto;
        max-height: 50%;
        margin-bottom: 1;
        padding: 1 2;
        border: none;
        background: $tone-ground;
    }
    """

    @dataclass
    class Done(Message):
        """Editing ended; *command* is None if the changes were discarded."""

        command: str | None

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", soft_wrap=True, show_line_numbers=False, id=id)

    def begin(self, command: str) -> None:
        self.load_text(command)
        self.move_cursor(self.document.end)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            self.post_message(self.Done(self.text))
        elif event.key == "escape":
            self.post_message(self.Done(None))
        elif event.key in NEW_LINE:
            self.insert("\n")
        else:
            await super()._on_key(event)
            return
        event.stop()
        event.prevent_default()
