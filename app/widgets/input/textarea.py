"""Textual's multi-line editor, with a cursor that moves by graphemes.

Textual's editor is imported without tree-sitter: nothing is highlighted here, and the first frame
must not wait for it. Import it only from this module.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

from textual import events

from app.widgets.input.field import next_boundary, previous_boundary, run_bound_action


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
