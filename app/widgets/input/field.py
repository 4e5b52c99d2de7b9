"""The one-line text field, and editing by graphemes with keys in the order they were typed.

A grapheme is a character as the user sees it: an emoji of several joined code points, a flag, or a
letter with its accents.

Textual's fields insert letters at once but run other keys only when these have bubbled up to the
app, so that a letter from the same read would overtake them.
"""

from rich.cells import split_graphemes
from textual import events
from textual.binding import BindingsMap
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
