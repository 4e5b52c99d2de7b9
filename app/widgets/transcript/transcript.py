"""The transcript widget, which draws a session line by line.

Only visible lines are laid out, and only changed rows are painted. The page sticks to the bottom
until the user scrolls up; then the line that is read never moves.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

from rich.segment import Segment
from textual import events
from textual.app import App
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from agent.records.messages import AssistantMessage, Part, TextPart
from app.session_state.view import Change, SessionView
from app.text.file_links import FilePlace
from app.theme.appearance import appearance_of
from app.theme.themes import palette_of
from app.widgets.transcript.items import (
    NO_NESTED,
    Item,
    NestedSessions,
    UserRecord,
    linked_session,
)
from app.widgets.transcript.layout import Layout, earlier_messages_line
from app.widgets.transcript.lines import Page, places_of
from app.widgets.transcript.selection import copied_text, moved_selection, with_selection
from app.widgets.transcript.tool_calls import Moment
from app.widgets.transcript.viewport import RowScrollBar, Viewport, finished_strips

SPINNER_SECONDS = 1 / 8
"""Seconds between the steps of a spinner."""


class Transcript(ScrollView, can_focus=True):
    """Draws a ``SessionView``. Call ``update`` with each change, at most once a frame."""

    nested: NestedSessions = NO_NESTED
    """The sessions drawn below the calls that lead to them; call ``show`` after changing it."""
    ALLOW_SELECT = True
    DEFAULT_CSS = """
    Transcript {
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,ctrl+down", "cursor(1)", "Next block", show=False),
        Binding("k,ctrl+up", "cursor(-1)", "Previous block", show=False),
        Binding("space", "toggle_fold", "Fold or unfold", show=False),
        Binding("enter", "toggle_fold(True)", "Open, fold or unfold", show=False),
        Binding("o", "open_full", "Open in full", show=False),
        Binding("e", "edit", "Open in the editor", show=False),
    ]

    class NewBelow(Message):
        """The number of unseen new or changed items below the visible rows changed."""

        def __init__(self, count: int) -> None:
            super().__init__()
            self.count = count

    class Earlier(Message):
        """The top of the loaded messages is near: the page before it is needed."""

    class OpenSession(Message):
        """A sub-agent's session was chosen, on the row with the key *place*."""

        def __init__(self, session_id: str, place: str) -> None:
            super().__init__()
            self.session_id, self.place = session_id, place

    class OpenFull(Message):
        """A part is to be shown in full."""

        def __init__(self, part: Part) -> None:
            super().__init__()
            self.part = part

    class OpenFile(Message):
        """One of the files *places* is to be opened in the user's editor."""

        def __init__(self, places: Sequence[FilePlace]) -> None:
            super().__init__()
            self.places = places

    def __init__(
        self,
        view: SessionView | None = None,
        *,
        clock: Callable[[], float] = time.time,
        id: str | None = None,  # Textual's parameter
    ) -> None:
        super().__init__(id=id)
        self._view = view
        self._clock = clock
        self._frame = 0
        self._animated = True
        self._timer: Timer | None = None
        self._current_layout: Layout | None = None
        self._viewport = Viewport()
        self._viewports: dict[str, Viewport] = {}
        self._adjusting = False
        self._behind = False
        self._new: set[str] = set()
        self._cursor = ""
        self._cursor_pinned = False
        self._target = ("", "")
        self._older = view.older if view is not None else 0

    # --- what the rest of the app calls ---

    @property
    def view(self) -> SessionView | None:
        return self._view

    @property
    def following(self) -> bool:
        """Return whether the page sticks to the bottom."""
        return self._viewport.following

    @property
    def reading(self) -> tuple[str, str] | None:
        """Return the message and the item at the top of the visible rows; None at the bottom."""
        layout = self._current_layout
        if layout is None or self.following:
            return None
        return layout.place_at(self.scroll_offset.y)

    def show(self, view: SessionView | None) -> None:
        """Draw another session, or the same one reloaded, which keeps its position and folds."""
        previous = self._view.session_id if self._view is not None else None
        same = view is not None and view.session_id == previous
        self._view = view
        if previous is not None and not same:
            self._viewports[previous] = self._viewport
        if not same:
            # Coming back from a sub-agent's session restores the position.
            self._viewport = self._viewports.pop(view.session_id if view else "", Viewport())
        self._viewport.forget_request()
        if not same:
            self._cursor, self._cursor_pinned, self._target = "", False, ("", "")
            self._set_new(set())
        self._older = view.older if view is not None else 0
        if (layout := self._current_layout) is not None:
            folds = layout.folds
            self._current_layout = Layout(view, layout.page, self.nested)
            if same:
                self._current_layout.folds = folds
            self._refit()

    def update(self, change: Change) -> None:
        """Draw what changed in the view since the last call."""
        layout = self._current_layout
        if layout is None:
            return
        layout.moment = Moment(self._clock(), self._frame)
        keys = layout.update(change)
        self._draw()
        older = self._view.older if self._view is not None else 0
        paged, self._older = older != self._older, older
        if not self._viewport.following and keys and not paged:
            bottom = self.scroll_offset.y + self.size.height
            self._set_new(self._new | layout.keys_below(keys - self._new, bottom))
        self._run_clock()

    def _draw(self) -> None:
        """Lay out and paint what changed, a long new text in slices, with keys between them."""
        before = self.scroll_offset.y
        self._settle()
        self._paint(before)
        if self._current_layout is not None and self._current_layout.behind and not self._behind:
            self._behind = True
            # Within a message, the next one would be taken without a turn of the event loop.
            asyncio.get_running_loop().call_soon(self.call_later, self._draw_more)

    def _draw_more(self) -> None:
        self._behind = False
        if self._current_layout is not None and self._current_layout.behind:
            self._current_layout.draw_more()
            self._draw()

    @property
    def bound_keys(self) -> frozenset[str]:
        """The keys that act here while it has the focus."""
        return frozenset(self._bindings.key_to_bindings)

    def toggle_all(self, *, reasoning: bool) -> None:
        """Fold or unfold all reasoning, or all tool calls and long messages."""
        if self._current_layout is not None:
            self._current_layout.toggle_all(reasoning=reasoning)
            self._refit()

    def go_to(self, message_id: str, part_id: str = "") -> None:
        """Scroll a message or a part of it to the top and mark it, now or once it is drawn."""
        self._target = (message_id, part_id)
        self._go_to_target()
        self._settle()
        self.refresh()

    def _go_to_target(self) -> None:
        """Anchor the viewport to the target of ``go_to``, if it can be laid out now."""
        layout = self._current_layout
        if layout is None or not self.size.height or not self._target[0]:
            return
        key = layout.key_of(*self._target)
        if key is not None:
            self._target = ("", "")
            self._cursor, self._cursor_pinned = key, True
            self._viewport.anchor_to(layout, key)

    # --- Textual's hooks ---

    @property
    def vertical_scrollbar(self) -> RowScrollBar:
        bar = self._vertical_scrollbar
        if not isinstance(bar, RowScrollBar):
            bar = self._vertical_scrollbar = RowScrollBar(name="vertical")
            bar.display = False
            cast("Any", self.app)._start_widget(self, bar)  # as Textual does; nothing is public
        return bar

    def on_mount(self) -> None:
        super().on_mount()
        app = cast("App[object]", self.app)
        self._animated = app.animation_level != "none"
        self._timer = self.set_interval(
            SPINNER_SECONDS if self._animated else 1, self._tick, pause=True
        )
        app.theme_changed_signal.subscribe(self, lambda _: self._refit())

    def on_resize(self) -> None:
        self._refit()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._adjusting and round(old_value) != round(new_value):
            self._settle(round(new_value) - round(old_value))

    def scroll_to(
        self, x: float | None = None, y: float | None = None, *, animate: bool = True, **how: object
    ) -> None:
        """Scroll at once: rows are laid out as they become visible."""
        if y is not None:
            self.scroll_y = y
            self.scroll_target_y = self.scroll_y

    def scroll_end(self, **how: object) -> None:
        """Go to the bottom and stay there."""
        self._viewport.following = True
        self._viewport.going_home = False
        self._settle()

    def scroll_home(self, **how: object) -> None:
        """Go to the first message, also if it is not loaded yet."""
        before = self.scroll_offset.y
        self._viewport.following = False
        self._viewport.going_home = True
        self._settle()
        if self.scroll_offset.y != before:
            self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        return finished_strips(self._rows(crop.line_range), self, crop)

    def render_line(self, y: int) -> Strip:
        """Return a row with the offsets by which text is selected; painting does without them."""
        (strip,) = self._rows(range(y, y + 1))
        return strip.apply_offsets(0, y + self.scroll_offset.y)

    def _rows(self, visible: range) -> list[Strip]:
        """Return the rows at these places of the widget."""
        layout, (width, height), top = self._current_layout, self.size, self.scroll_offset.y
        if layout is None:
            return [Strip.blank(width, self.rich_style) for _ in visible]
        page, selection = layout.page, self.text_selection
        ground = page.palette.style()
        selected = page.palette.style("text", "selection") if selection is not None else ground
        cursor = self._cursor if self.has_focus or self._cursor_pinned else ""
        rows: list[Strip] = []
        for y in visible:
            row = y + top
            unread = y == 0 and row < layout.lead
            line = earlier_messages_line(page, self._older) if unread else layout.line(row)
            strip = line.strip
            if selection is not None:
                strip = with_selection(line, selection.get_span(row), selected)
            if cursor:
                strip = with_cursor(strip, layout, cursor, row)
            strip = strip.crop_extend(0, width, ground)
            if self._new and y == height - 1:
                strip = with_hint(strip, page, len(self._new))
            rows.append(strip)
        return rows

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        if self._current_layout is None:
            return None
        return copied_text(self._current_layout, selection), "\n"

    def on_click(self, event: events.Click) -> None:
        layout = self._current_layout
        if layout is None or self.text_selection is not None:
            return
        if self._new and event.y == self.size.height - 1:
            if event.x >= hint_start(layout.page, len(self._new)):
                self.scroll_end()
            return
        row = event.y + self.scroll_offset.y
        index = layout.find(row)
        line = layout.line(row)
        clicked = [place for at, end, place in places_of(line.strip) if at <= event.x < end]
        if clicked and layout.page.files.in_terminal and (event.ctrl or not line.toggles):
            self.post_message(self.OpenFile(clicked))
        elif index >= 0 and line.opens:
            self._open_full(layout.items[index])
        elif index >= 0 and line.toggles:
            self._activate(layout.items[index], opens=row == layout.top(index), unfolds=True)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def action_cursor(self, step: int) -> None:
        """Move to the next or previous item that can be folded or opened, or names a file."""
        layout = self._current_layout
        if layout is None or not layout.items:
            return
        index = layout.index_of(self._cursor) if self._cursor else None
        if index is None:
            index = layout.find(self.scroll_offset.y + self.size.height - 1) + 1
            step = -1
        index += step
        while 0 <= index < len(layout.items) and not _has_use(layout.items[index], layout.page):
            index += step
        if 0 <= index < len(layout.items):
            self._cursor = layout.items[index].key
            top, y = layout.top(index), self.scroll_offset.y
            if not y < top < y + self.size.height - 1:
                self.scroll_to(y=top - 1 if top <= y else top - self.size.height // 2)
            self.refresh()

    def action_toggle_fold(self, opens: bool = False) -> None:
        """Fold or unfold the item under the cursor; with *opens*, open its session instead."""
        layout = self._current_layout
        index = layout.index_of(self._cursor) if layout is not None and self._cursor else None
        if layout is not None and index is not None:
            self._activate(layout.items[index], opens=opens)

    def action_open_full(self) -> None:
        """Open the item under the cursor in full."""
        layout = self._current_layout
        index = layout.index_of(self._cursor) if layout is not None and self._cursor else None
        if layout is not None and index is not None:
            self._open_full(layout.items[index])

    def action_edit(self) -> None:
        """Open a file that the item under the cursor names in the editor."""
        layout = self._current_layout
        index = layout.index_of(self._cursor) if layout is not None and self._cursor else None
        if layout is not None and index is not None:
            layout.lay_out(index)
            lines = layout.items[index].lines or ()
            places = [place for line in lines for _, _, place in places_of(line.strip)]
            self.post_message(self.OpenFile(list(dict.fromkeys(places))))

    def _open_full(self, item: Item) -> None:
        if not isinstance(item.record, UserRecord | AssistantMessage):
            self.post_message(self.OpenFull(item.record))

    # --- layout and place ---

    def _refit(self) -> None:
        """Lay out for the current size, theme and session, and paint everything."""
        if not self.size:
            return
        app = cast("App[object]", self.app)
        width, palette = self.scrollable_content_region.width, palette_of(app.current_theme)
        looks = appearance_of(self)
        page = Page(width, palette, looks.diffs, looks.files)
        self._animated = app.animation_level != "none"
        if self._current_layout is None:
            self._current_layout = Layout(self._view, page, self.nested)
        layout = self._current_layout
        layout.resize(page)
        layout.moment = Moment(self._clock(), self._frame)
        self._go_to_target()
        self._settle()
        layout.take_first_changed_row()
        self.refresh()
        self._run_clock()

    def _settle(self, step: int | None = None) -> None:
        """Lay out the visible rows and scroll to them, *step* rows from the previous place."""
        layout, height = self._current_layout, self.size.height
        if layout is None or not height:
            return
        row = self._viewport.settle(layout, height, self.scroll_offset.y, step)
        self._set_position(layout, row)
        if self._viewport.following:
            self._set_new(set())
        if self._viewport.shift and (selection := self.text_selection) is not None:
            selected = {self: moved_selection(selection, self._viewport.shift)}
            self.screen.selections = {**self.screen.selections, **selected}
        older = self._view.older if self._view is not None else 0
        if self._viewport.needs_earlier(layout, older, height, again=step is not None):
            self.post_message(self.Earlier())

    def _set_position(self, layout: Layout, row: int) -> None:
        """Set the height and the first row. No layout of the screen is needed, because the size of
        this widget does not depend on its content."""
        size = Size(layout.page.width, layout.height)
        self.set_reactive(cast("Reactive[Size]", Widget.virtual_size), size)
        self.vertical_scrollbar.show(layout.height, row)
        if self.scroll_offset.y != row:
            self._adjusting = True
            self.scroll_y = self.scroll_target_y = row
            self._adjusting = False

    def _paint(self, before: int) -> None:
        """Paint the rows that changed; a page that scrolled is painted as a whole already."""
        layout = self._current_layout
        row = layout.take_first_changed_row() if layout is not None else None
        if layout is None or row is None or self.scroll_offset.y != before:
            return
        top = max(0, row - before)
        if top < self.size.height:
            self.refresh(Region(0, top, layout.page.width, self.size.height - top))

    def _activate(self, item: Item, *, opens: bool, unfolds: bool = False) -> None:
        """Fold an item, or with *opens* open its session or, unless it *unfolds* anyway, what is
        too long to unfold, after a click or a key."""
        layout = self._current_layout
        if layout is None:
            return
        if opens and (session_id := linked_session(item)) is not None:
            self.post_message(self.OpenSession(session_id, item.key))
            return
        if opens and not unfolds and any(line.opens for line in item.lines or ()):
            self._open_full(item)
            return
        if layout.toggle(item):
            # The clicked item stays in place, also at the end of the page.
            self._viewport.following = self._viewport.following and layout.items[-1] is item
            self._refit()

    # --- new below, cursor, clock ---

    def _set_new(self, keys: set[str]) -> None:
        if keys != self._new:
            self._new = keys
            self.post_message(self.NewBelow(len(keys)))
            self.refresh(Region(0, self.size.height - 1, self.size.width, 1))

    def _run_clock(self) -> None:
        if self._timer is not None and self._current_layout is not None:
            change = self._timer.resume if self._current_layout.running else self._timer.pause
            change()

    def _tick(self) -> None:
        layout = self._current_layout
        if layout is None:
            return
        self._frame += self._animated
        layout.moment = Moment(self._clock(), self._frame)
        for item in layout.running:
            index = layout.index_of(item.key)
            if index is not None and layout.update_clock(item):
                self.refresh_line(layout.top(index))


def _has_use(item: Item, page: Page) -> bool:
    """Return whether a key does something with *item*: text only has the files that it names."""
    if not isinstance(item.record, TextPart):
        return True
    return any(True for line in item.record.text.splitlines() for _ in page.files.find(line))


HINT_MARGIN = 2


def _hint_strip(page: Page, count: int) -> Strip:
    text = Segment(f"  {count} new below  ", page.palette.style("text", "raised", "bold"))
    key = Segment("end  ", page.palette.style("muted", "raised"))
    parts = [text, key] if page.width >= 40 else [text]
    return Strip(parts).crop(0, page.width)


def hint_start(page: Page, count: int) -> int:
    """Return the column where the hint begins."""
    return max(0, page.width - HINT_MARGIN - _hint_strip(page, count).cell_length)


def with_hint(strip: Strip, page: Page, count: int) -> Strip:
    """Return the last visible row with the hint that *count* items are new below."""
    hint, start = _hint_strip(page, count), hint_start(page, count)
    end = start + hint.cell_length
    return Strip.join([strip.crop(0, start), hint, strip.crop(end, page.width)])


def with_cursor(strip: Strip, layout: Layout, key: str, row: int) -> Strip:
    """Return *strip*, marked in the gutter if it is the first row of the item under the cursor."""
    index = layout.find(row)
    if index < 0 or layout.items[index].key != key or layout.top(index) != row:
        return strip
    mark = Segment("›", layout.page.palette.style("accent", attributes="bold"))
    return Strip.join([Strip([mark], 1), strip.crop(1, strip.cell_length)])
