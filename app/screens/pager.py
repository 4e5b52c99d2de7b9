"""The pager: a text of any length, with search. Only visible rows are drawn."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import ClassVar, cast

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, Static

from agent.records.amounts import count
from app.screens.base.hints import KeyHints
from app.text.sanitize import sanitize_ansi, sanitize_line
from app.theme.themes import Palette, palette_of
from app.widgets.input.field import TextField
from app.widgets.transcript.blocks import ansi_text
from app.widgets.transcript.lines import fold

MAX_LINES = 500_000
"""Lines that are shown; more are for a pager of the user's own."""

_SIMPLE = re.compile(r"[ -~]*")
"""Text whose characters have one cell each."""


class PagerText(ScrollView, can_focus=True):
    """Shows *lines* (not sanitized), long ones in several rows."""

    DEFAULT_CSS = "PagerText { overflow-x: hidden; scrollbar-size-vertical: 1; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j,enter", "scroll_down", "Down", show=False),
        Binding("up,k", "scroll_up", "Up", show=False),
        Binding("pagedown,space,ctrl+f", "page_down", "Page down", show=False),
        Binding("pageup,b,ctrl+b", "page_up", "Page up", show=False),
        Binding("home,g", "scroll_home", "First line", show=False),
        Binding("end,G", "scroll_end", "Last line", show=False),
    ]

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__()
        self._lines = lines
        self._ends: list[int] = []
        self.hit: int | None = None
        """The line of the current search result."""
        self.searched = ""
        """The text that is marked, in lower case."""

    def on_resize(self) -> None:
        first = self._line_at(self.scroll_offset.y)[0]
        width = max(1, self.scrollable_content_region.width - 2)
        self._ends = list(accumulate(_rows(line, width) for line in self._lines))
        self.virtual_size = Size(width, self._ends[-1] if self._ends else 0)
        self.show_line(first)

    def show_line(self, index: int) -> None:
        """Scroll the line *index* to the top."""
        row = self._ends[index - 1] if 0 < index <= len(self._ends) else 0
        self.scroll_to(y=row, animate=False, force=True)
        self.refresh()

    @property
    def first_line(self) -> int:
        """The index of the first visible line."""
        return self._line_at(self.scroll_offset.y)[0]

    def action_scroll_home(self) -> None:
        self.scroll_home(animate=False)

    def action_scroll_end(self) -> None:
        self.scroll_end(animate=False)

    def action_page_down(self) -> None:
        self.scroll_page_down(animate=False)

    def action_page_up(self) -> None:
        self.scroll_page_up(animate=False)

    def _line_at(self, row: int) -> tuple[int, int]:
        """Return the index of the line at *row*, and the row within that line."""
        index = bisect_right(self._ends, row)
        return index, row - (self._ends[index - 1] if index else 0)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        palette = palette_of(cast("App[object]", self.app).current_theme)
        index, place = self._line_at(y + self.scroll_offset.y)
        if index >= len(self._lines):
            return Strip.blank(width, palette.style())
        text = self._text(index, palette)
        rows = list(fold(text, max(1, self.scrollable_content_region.width - 2)))
        row = rows[place][0] if place < len(rows) else []
        mark = Segment("› " if index == self.hit and not place else "  ", palette.style("accent"))
        return Strip([mark, *row]).adjust_cell_length(width, palette.style())

    def _text(self, index: int, palette: Palette) -> Text:
        (spans,) = sanitize_ansi(self._lines[index])
        text = ansi_text(spans, palette)
        text.style = palette.style("text")
        if self.searched:
            found = Style(reverse=True)
            lower = text.plain.lower()
            at = lower.find(self.searched)
            while at >= 0:
                text.stylize(found, at, at + len(self.searched))
                at = lower.find(self.searched, at + len(self.searched))
        return text


def _rows(line: str, width: int) -> int:
    """Return the rows that *line* takes in *width* cells."""
    if len(line) <= width and _SIMPLE.fullmatch(line):
        return 1
    (spans,) = sanitize_ansi(line)
    text = "".join(piece for piece, _ in spans)
    if cell_len(text) <= width:
        return 1
    return sum(1 for _ in fold(Text(text), width))


class PagerScreen(Screen[None]):
    """Shows *text* in full under *title*.

    *open_pager* shows the text in the user's own pager, *copy* copies it.
    """

    CSS_PATH = "pager.tcss"
    AUTO_FOCUS = "PagerText"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close"),
        Binding("slash", "search", "Search", priority=True),
        Binding("n", "hit(1)", "Next"),
        Binding("N", "hit(-1)", "Previous"),
        Binding("o", "pager", "Your pager"),
        Binding("y", "copy", "Copy"),
    ]

    def __init__(
        self,
        title: str,
        text: str,
        *,
        open_pager: Callable[[str], object],
        copy: Callable[[str], object],
    ) -> None:
        super().__init__()
        self._title = sanitize_line(title)
        self._text = text
        every = text.removesuffix("\n").replace("\r\n", "\n").split("\n")
        self._left = max(0, len(every) - MAX_LINES)
        self._lines = every[:MAX_LINES]
        self._open_pager = open_pager
        self._copy = copy

    def compose(self) -> ComposeResult:
        facts = f"   {count(len(self._lines), 'line')}"
        if self._left:
            facts += f", {self._left:,} more: press o"
        yield Static(
            Content.assemble((self._title, "bold"), (facts, "$tone-muted")), id="pager-title"
        )
        yield PagerText(self._lines)
        yield TextField(placeholder="Search", id="pager-search")
        yield Static(id="pager-keys")

    def on_mount(self) -> None:
        self._show_keys()

    def _show_keys(self, note: str = "") -> None:
        keys = KeyHints(
            ("/", "search"),
            ("n N", "next, back"),
            ("g G", "top, bottom"),
            ("o", "$PAGER"),
            ("y", "copy"),
            ("esc", "close"),
            note=note,
            most_lines=1,
        )
        self.query_one("#pager-keys", Static).update(keys)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Let a slash be typed in the search."""
        return action != "search" or not isinstance(self.focused, Input)

    def action_search(self) -> None:
        """Open the search at once: what follows the slash in the same read belongs to it."""
        box = self.query_one(Input)
        box.add_class("-open")
        self.set_focus(box)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = self.query_one(PagerText)
        text.searched, text.hit = event.value.lower(), None
        self._end_search()
        if text.searched:
            self.action_hit(1)
        text.refresh()

    def _end_search(self) -> None:
        self.query_one(Input).remove_class("-open")
        self.query_one(PagerText).focus()

    def action_hit(self, step: int) -> None:
        """Go to the next or previous line that contains the searched text, from the end on again
        from the beginning."""
        text = self.query_one(PagerText)
        if not text.searched:
            self._show_keys("Search with / first")
            return
        total = len(self._lines)
        start = text.hit + step if text.hit is not None else text.first_line
        for distance in range(total):
            index = (start + distance * step) % total
            if text.searched in sanitize_line(self._lines[index]).lower():
                text.hit = index
                text.show_line(index)
                self._show_keys(f"Line {index + 1:,}")
                return
        self._show_keys(f"“{sanitize_line(text.searched)}” is not in this text")

    def action_pager(self) -> None:
        self._open_pager(self._text)

    def action_copy(self) -> None:
        self._copy(self._text)

    def action_close(self) -> None:
        if self.query_one(Input).has_class("-open"):
            self._end_search()
        else:
            self.dismiss(None)

    def interrupt(self) -> None:
        self.dismiss(None)
