"""An editor whose cursor goes by characters as they are seen: an emoji of several joined ones,
or a letter with its accents, is one step and is deleted whole (trial WIDE-CHARS). Its keys work
in the order in which they were typed."""

from textual import events

from app.widgets.input.characters import next_boundary, previous_boundary
from app.widgets.input.field import run_bound_action
from app.widgets.input.textarea import Location, TextArea


class GraphemeArea(TextArea):
    """Textual's own goes by code points."""

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
