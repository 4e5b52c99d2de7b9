"""An editor whose cursor goes by characters as they are seen: an emoji of several joined ones,
or a letter with its accents, is one step and is deleted whole (trial WIDE-CHARS). Its keys work
in the order in which they were typed."""

from rich.cells import split_graphemes
from textual import events

from app.widgets.field import at_once
from app.widgets.textarea import Location, TextArea


def edges(line: str) -> list[int]:
    """Where a character of *line* begins, and its end."""
    if line.isascii():
        return list(range(len(line) + 1))
    return [start for start, _, _ in split_graphemes(line)[0]] + [len(line)]


class GraphemeArea(TextArea):
    """Textual's own goes by code points."""

    async def _on_key(self, event: events.Key) -> None:
        await at_once(self, self._bindings, event)

    def get_cursor_left_location(self) -> Location:
        row, column = self.cursor_location
        if column == 0:
            return super().get_cursor_left_location()
        before = (edge for edge in edges(self.document.get_line(row)) if edge < column)
        return row, max(before, default=0)

    def get_cursor_right_location(self) -> Location:
        row, column = self.cursor_location
        after = [edge for edge in edges(self.document.get_line(row)) if edge > column]
        return (row, after[0]) if after else super().get_cursor_right_location()
