"""Copy mode: the transcript stops moving, and rows are selected and copied by key."""

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.screen import Screen
from textual.selection import Selection
from textual.strip import Strip
from textual.widgets import Static

from app.screens.base.hints import KeyHints
from app.session_state.view import SessionView
from app.widgets.transcript.layout import Layout
from app.widgets.transcript.selection import copied_text
from app.widgets.transcript.transcript import Transcript

ROW_END = 100_000
"""A column beyond the end of every row."""

CursorPlace = tuple[str, int]
"""A row as the key of its item and the offset from the item's first row.

Row numbers change when items above turn out higher than estimated.
"""


class CopyTranscript(Transcript):
    """A transcript with a row cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "row(1)", "Down", show=False),
        Binding("up,k", "row(-1)", "Up", show=False),
        Binding("pagedown,ctrl+d", "page(1)", "Page down", show=False),
        Binding("pageup,ctrl+u", "page(-1)", "Page up", show=False),
        Binding("right_curly_bracket,shift+down,J", "block(1)", "Next block", show=False),
        Binding("left_curly_bracket,shift+up,K", "block(-1)", "Previous block", show=False),
        Binding("home,g", "edge(-1)", "First row", show=False),
        Binding("end,G", "edge(1)", "Last row", show=False),
        Binding("v,space", "mark", "Mark", show=False),
        Binding("b", "mark_block", "Mark the block", show=False),
        Binding("y,enter", "copy", "Copy", show=False),
    ]

    class Copied(Message):
        """The selected text was copied, or the block under the cursor."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    _cursor_place: CursorPlace | None = None
    _selection_start: CursorPlace | None = None

    @property
    def marking(self) -> bool:
        return self._selection_start is not None

    @property
    def row(self) -> int:
        """Return the cursor's row; at first the last visible one."""
        layout = self._current_layout
        if layout is None:
            return 0
        if self._cursor_place is None:
            return max(0, min(self.scroll_offset.y + self.size.height, layout.height - 1) - 1)
        return _row_of_place(layout, self._cursor_place)

    def action_row(self, step: int) -> None:
        self._move_cursor_to(self.row + step)

    def action_page(self, step: int) -> None:
        self._move_cursor_to(self.row + step * max(1, self.size.height - 2))

    def action_block(self, step: int) -> None:
        """Go to the first row of the next block, or of this block and then the previous one."""
        layout = self._current_layout
        if layout is None or not layout.items:
            return
        index = layout.find(self.row)
        if step > 0 or layout.top(index) == self.row:
            index += step
        self._move_cursor_to(layout.top(max(0, min(index, len(layout.items) - 1))))

    def action_edge(self, step: int) -> None:
        layout = self._current_layout
        self._move_cursor_to(0 if step < 0 or layout is None else layout.height - 1)

    def action_mark(self) -> None:
        """Begin a selection at the cursor, or clear it."""
        layout = self._current_layout
        self._selection_start = (
            _place_of_row(layout, self.row) if self._selection_start is None and layout else None
        )
        self._show()

    def action_mark_block(self) -> None:
        """Select the block under the cursor and move the cursor to its end."""
        layout = self._current_layout
        if layout is None or not layout.items:
            return
        index = layout.find(self.row)
        layout.lay_out(index)
        self._selection_start = (layout.items[index].key, 0)
        self._move_cursor_to(layout.top(index) + max(0, layout.items[index].height - 1))

    def action_copy(self) -> None:
        layout = self._current_layout
        if layout is None or not layout.items:
            return
        if self._selection_start is None:
            self.action_mark_block()
        selection = self._selection(layout)
        text = copied_text(layout, selection) if selection is not None else ""
        self.post_message(self.Copied(text.strip("\n")))

    def _rows(self, visible: range) -> list[Strip]:
        rows = super()._rows(visible)
        layout, place = self._current_layout, self.row - self.scroll_offset.y
        if layout is None or place not in visible:
            return rows
        index = visible.index(place)
        strip = rows[index]
        ground = Style(bgcolor=layout.page.palette.style("text", "raised").bgcolor)
        rest = strip.crop(1, strip.cell_length)
        pointer = Segment("›", layout.page.palette.style("accent", "raised", "bold"))
        marked = [Segment(part.text, (part.style or Style()) + ground) for part in rest]
        rows[index] = Strip(
            [pointer, *(rest if self._selection_start is not None else marked)], strip.cell_length
        )
        return rows

    def _move_cursor_to(self, row: int) -> None:
        layout = self._current_layout
        if layout is None or not layout.items:
            return
        row = max(layout.lead, min(row, layout.height - 1))
        index = layout.find(row)
        place = _place_of_row(layout, row)
        layout.lay_out(index)
        self._cursor_place = place
        top, height = self.scroll_offset.y, self.size.height
        if not top <= row < top + height:
            self.scroll_to(y=row if row < top else row - height + 1)
        self._show()

    def _show(self) -> None:
        layout = self._current_layout
        selection = self._selection(layout) if layout is not None else None
        self.screen.selections = {self: selection} if selection is not None else {}
        self.refresh()

    def _selection(self, layout: Layout) -> Selection | None:
        if self._selection_start is None:
            return None
        first, last = sorted((_row_of_place(layout, self._selection_start), self.row))
        return Selection(Offset(0, first), Offset(ROW_END, last))


def _place_of_row(layout: Layout, row: int) -> CursorPlace:
    index = layout.find(row)
    return (layout.items[index].key, row - layout.top(index)) if index >= 0 else ("", row)


def _row_of_place(layout: Layout, place: CursorPlace) -> int:
    index = layout.index_of(place[0])
    return layout.top(index) + place[1] if index is not None else place[1]


KEYS = (
    ("y", "copy"),
    ("v", "select"),
    ("↑↓", "line"),
    ("{ }", "block"),
    ("esc", "back"),
)


class CopyModeScreen(Screen[str | None]):
    """Returns the text to copy, or None."""

    CSS_PATH = "copy_mode.tcss"
    AUTO_FOCUS = "CopyTranscript"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Back", show=False),
    ]

    def __init__(self, view: SessionView, place: tuple[str, str] | None = None) -> None:
        super().__init__()
        self._view = view
        self._at = place

    def compose(self) -> ComposeResult:
        yield CopyTranscript(self._view, id="copy-transcript")
        title = Content.styled("Copy", "bold $tone-accent")
        yield Static(KeyHints(*KEYS, note=title, most_lines=1), id="copy-keys")

    def on_mount(self) -> None:
        if self._at is not None:
            self.query_one(CopyTranscript).go_to(*self._at)

    def on_copy_transcript_copied(self, event: CopyTranscript.Copied) -> None:
        event.stop()
        self.dismiss(event.text or None)

    def action_close(self) -> None:
        """Clear the selection, or close if there is none."""
        transcript = self.query_one(CopyTranscript)
        if transcript.marking:
            transcript.action_mark()
        else:
            self.dismiss(None)

    def interrupt(self) -> None:
        self.dismiss(None)
