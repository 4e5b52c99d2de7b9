"""The layout: items in order, their lines drawn when first visible, and the map from rows to items.
No Textual widget in here.

Rows count from 0 at the top of the transcript. Until an item is visible its height is an estimate;
``lay_out`` makes it exact. Messages of pages that are not loaded have rows too, ``lead`` in total,
also estimated. Whoever moves rows while the user reads has to scroll accordingly, which is the
widget's task.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rich.segment import Segment
from textual.strip import Strip

from agent.records.messages import AssistantMessage, ReasoningPart, ReportPart, TextPart, ToolPart
from app.session_state.view import Change, Entry, SessionView
from app.widgets.transcript.items import (
    NO_NESTED,
    Item,
    NestedSessions,
    UserRecord,
    asking_sessions,
    blank_rows_above,
    estimate_height,
    items_of,
    messages_of_calls,
    nested_items,
)
from app.widgets.transcript.lines import Line, Page, blank, cut, gutter, make_line
from app.widgets.transcript.markdown import MarkdownView
from app.widgets.transcript.message_lines import (
    end_lines,
    note_lines,
    reasoning_lines,
    reasoning_view,
    user_lines,
)
from app.widgets.transcript.tool_calls import Moment, tool_lines, tool_row

MAX_CACHED = 600
"""Items whose lines are kept; beyond that, lines far from the visible ones are dropped."""
KEPT_AROUND = 150
"""Items on either side of the visible ones that keep their lines."""


SLICE = 600
"""Characters by which a drawn text grows at once: a key does not wait for more."""

NESTED_INDENT = 2
"""Cells of indentation for each level."""


@dataclass(slots=True)
class FoldState:
    """The items that are unfolded: a switch for reasoning, one for the rest, and single items."""

    reasoning: bool = False
    details: bool = False
    single: dict[str, bool] = field(default_factory=dict[str, bool])

    def is_open(self, item: Item) -> bool:
        switch = self.reasoning if item.kind == "reasoning" else self.details
        return self.single.get(item.key, switch)

    def toggle(self, item: Item) -> None:
        self.single[item.key] = not self.is_open(item)


def draw_item(item: Item, page: Page, moment: Moment, *, unfolded: bool) -> list[Line]:
    """Return the lines of *item*; set on it if it can be folded and which lines changed."""
    lines = _draw(item, nested_page(page, item.depth), moment, unfolded=unfolded)
    return indent_nested(lines, page, item.depth) if item.depth else lines


def _draw(item: Item, page: Page, moment: Moment, *, unfolded: bool) -> list[Line]:
    record = item.record
    if isinstance(record, UserRecord):
        lines, item.foldable = user_lines(
            record.message, record.parts, page, queue_note=record.queue_note, unfolded=unfolded
        )
        return lines
    if isinstance(record, AssistantMessage):
        return end_lines(record, page)
    if isinstance(record, TextPart):
        item.view = item.view or MarkdownView(page)
        item.changed = _grow(item, item.view, record.text)
        return item.view.lines
    if isinstance(record, ReasoningPart):
        return _draw_reasoning(item, record, page, moment, unfolded=unfolded)
    if isinstance(record, ToolPart):
        lines, item.foldable = tool_lines(record, page, moment, unfolded=unfolded)
        return lines
    lines, item.foldable = note_lines(record, page, unfolded=unfolded)
    return lines


def _draw_reasoning(
    item: Item, record: ReasoningPart, page: Page, moment: Moment, *, unfolded: bool
) -> list[Line]:
    item.foldable = record.ended is not None
    body: list[Line] = []
    if unfolded or record.ended is None:
        item.view = item.view or reasoning_view(page)
        first = _grow(item, item.view, record.text)
        item.changed = 0 if item.final else first + 1
        body = item.view.lines
    else:
        item.view = None
    return reasoning_lines(record, page, moment, body, unfolded=unfolded)


def _grow(item: Item, view: MarkdownView, text: str) -> int:
    """Let *view* show more of a streamed *text*; return the index of the first changed line."""
    limit = view.length + SLICE
    long = view.length > 0 and len(text) > limit
    if view.unfinished or (long and (item.behind or not item.final)):
        end = text.rfind("\n", view.length, limit) + 1 or limit if long else len(text)
        first = view.update(text[:end], final=False)
        item.behind = True
    else:
        first = view.update(text, final=item.final)
        item.behind = view.unfinished
    return first


def draw_first_line(item: Item, page: Page, moment: Moment, *, unfolded: bool) -> Line | None:
    """Return the first row of an item that shows a spinner or a clock."""
    record, inner = item.record, nested_page(page, item.depth)
    if isinstance(record, ToolPart):
        line = tool_row(record, inner, moment)
    elif isinstance(record, ReasoningPart):
        line = reasoning_lines(record, inner, moment, (), unfolded=unfolded)[0]
    else:
        return None
    return indent_nested((line,), page, item.depth)[0] if item.depth else line


def nested_page(page: Page, depth: int) -> Page:
    """Return the page that is left at *depth* levels."""
    return (
        replace(page, width=max(NESTED_INDENT, page.width - NESTED_INDENT * depth))
        if depth
        else page
    )


def indent_nested(lines: Sequence[Line], page: Page, depth: int) -> list[Line]:
    """Return *lines*, drawn for ``nested_page``, with a rule before them for each level."""
    rule = Segment(" │" * depth, page.palette.style("faint"))
    cells = NESTED_INDENT * depth
    shifted: list[Line] = []
    for line in lines:
        inner = line.strip.crop(0, page.width - cells)
        strip = Strip([rule, *inner], cells + inner.cell_length)
        stop = None if line.stop is None else line.stop + cells
        shifted.append(replace(line, strip=strip, skip=line.skip + cells, stop=stop))
    return shifted


class Layout:
    """The items of one session on one page, with those of the nested sessions below their calls."""

    def __init__(
        self, view: SessionView | None, page: Page, nested: NestedSessions = NO_NESTED
    ) -> None:
        self.page = page
        self.nested = nested
        self.moment = Moment()
        """The time that clocks show."""
        self.folds = FoldState()
        self.items: list[Item] = []
        self._view = view
        self._starts: dict[str, int] = {}
        self._last_key = (False, 0)
        self._tops: list[int] = []
        self._changed: dict[str, Item] = {}
        self._running: dict[str, Item] = {}
        self._behind: dict[str, Item] = {}
        self._all_changed = False
        self._drawn_items = 0
        self._lead: tuple[int, int] = (0, 0)
        self._blank = blank(page)
        self._requests = asking_sessions(view)
        self._rebuild()

    # --- what is in it ---

    def resize(self, page: Page) -> None:
        """Lay out for another width or theme; heights become estimates again."""
        if page == self.page:
            return
        self.page = page
        self._blank = blank(page)
        for item in self.items:
            self._drop_lines(item, guess=True)
        self._lead = (self._lead[0], _estimate_rows(self._lead[0], self.items, len(self._starts)))
        self._tops.clear()

    def update(self, change: Change) -> set[str]:
        """Apply a change of the view; return the keys of new and changed items."""
        if self._view is not None and self._view.older != self._lead[0]:
            self._rebuild()
            return set(self._changed)
        before, self._requests = self._requests, asking_sessions(self._view)
        calling = messages_of_calls(self.items, before.keys() ^ self._requests.keys())
        for message_id in sorted(change.messages | change.parts_of | calling):
            if self._refresh(message_id):
                break
        return set(self._changed)

    def _refresh(self, message_id: str) -> bool:
        """Update one message; return True if that rebuilt everything."""
        if self.nested:  # nested items are between the items of the message
            self._rebuild()
            return True
        view = self._view
        entry = view.entry(message_id) if view is not None else None
        start = self._starts.get(message_id)
        found = list(items_of(view, entry)) if view is not None and entry is not None else []
        if start is None and not found:
            return False
        if entry is None or not found or (start is None and _sort_key(entry) < self._last_key):
            self._rebuild()
            return True
        if start is None:
            start = len(self.items)
            self._starts[message_id] = start
            self._last_key = _sort_key(entry)
        end = start
        while end < len(self.items) and self.items[end].message_id == message_id:
            end += 1
        inner = end < len(self.items)
        if (inner and end - start != len(found)) or self._queue_changed(found[0], start):
            self._rebuild()
            return True
        held = {item.key: item for item in self.items[start:end]}
        self.items[start:end] = [self._merge(item, held) for item in found]
        self._all_changed = self._all_changed or len(found) < end - start
        del self._tops[start:]
        return False

    def _queue_changed(self, item: Item, start: int) -> bool:
        """Return whether a message left or joined the queue, which is drawn last."""
        before = self.items[start].record if start < len(self.items) else None
        now = item.record
        if isinstance(before, ReportPart) and isinstance(now, ReportPart):
            return before.facts != now.facts
        if not isinstance(before, UserRecord) or not isinstance(now, UserRecord):
            return False
        queued = bool(before.queue_note), bool(now.queue_note)
        return queued[0] != queued[1] or before.message.turn_id != now.message.turn_id

    def _rebuild(self) -> None:
        """Rebuild the list of items; unchanged ones keep their lines."""
        view = self._view
        held = {item.key: item for item in self.items}
        entries = [entry for i in view.message_ids if (entry := view.entry(i))] if view else []
        entries.sort(key=_sort_key)
        self.items = []
        self._starts = {}
        self._running = {}
        self._last_key = (False, 0)
        for entry in entries:
            found = list(nested_items(view, entry, self.nested)) if view is not None else []
            if found:
                self._starts[entry.message.id] = len(self.items)
                self._last_key = _sort_key(entry)
            self.items += [self._merge(item, held) for item in found]
        self._tops.clear()
        self._all_changed = True
        older = view.older if view is not None else 0
        if older != self._lead[0]:
            self._lead = (older, _estimate_rows(older, self.items, len(self._starts)))

    def _merge(self, item: Item, held: dict[str, Item]) -> Item:
        """Return *item*, or the known one with its record updated."""
        known = held.get(item.key)
        if known is None:
            known = item
            known.height = estimate_height(item, self.page)
            self._changed[known.key] = known
        elif known.record != item.record or known.final != item.final:
            known.record, known.final = item.record, item.final
            self._drop_lines(known, guess=False)
            self._changed[known.key] = known
        if known.running:
            self._running[known.key] = known
        else:
            self._running.pop(known.key, None)
        return known

    def _drop_lines(self, item: Item, *, guess: bool) -> None:
        """Drop the lines of *item*, with *guess* its height and Markdown state too."""
        if item.lines is not None:
            self._drawn_items -= 1
        item.lines = None
        item.exact = False
        item.changed = 0
        if guess:
            item.view = None
            item.height = estimate_height(item, self.page)

    # --- where it is ---

    @property
    def lead(self) -> int:
        """Return the estimated rows of messages that are not loaded yet, before the first item."""
        return self._lead[1]

    @property
    def height(self) -> int:
        """Return the total number of rows, with one blank row above and below."""
        if not self.items:
            return 0
        last = len(self.items) - 1
        return self.top(last) + self.items[last].height + 1

    def top(self, index: int) -> int:
        tops, items = self._tops, self.items
        while len(tops) <= index:
            at = len(tops)
            before = items[at - 1] if at else None
            end = tops[-1] + before.height if before is not None else self.lead
            tops.append(end + blank_rows_above(before, items[at]))
        return tops[index]

    def find(self, row: int) -> int:
        """Return the index of the item at *row*, or the last one above it; -1 without items."""
        if not self.items:
            return -1
        self.top(len(self.items) - 1)
        return max(0, bisect_right(self._tops, row) - 1)

    def index_of(self, key: str) -> int | None:
        """Return the index of an item by its key, searching from the end."""
        for index in range(len(self.items) - 1, -1, -1):
            if self.items[index].key == key:
                return index
        return None

    def keys_below(self, keys: set[str], bottom: int) -> set[str]:
        """Return those of *keys* whose items end below the row *bottom*."""
        found: set[str] = set()
        for key in keys:
            index = self.index_of(key)
            if index is not None and self.top(index) + self.items[index].height > bottom:
                found.add(key)
        return found

    def place_at(self, row: int) -> tuple[str, str] | None:
        """Return the ids of the message and the item at *row*, None if there is none."""
        index = self.find(row)
        return (self.items[index].message_id, self.items[index].key) if index >= 0 else None

    def key_of(self, message_id: str, part_id: str) -> str | None:
        """Return the key of the item of a part, else of the first item of its message."""
        found = [item for item in self.items if item.message_id == message_id]
        part = next((item.key for item in found if item.key == part_id), None)
        return part or (found[0].key if found else None)

    def line(self, row: int) -> Line:
        """Return the line at *row*: blank between items and in what is not laid out yet."""
        index = self.find(row)
        if index < 0:
            return self._blank
        item = self.items[index]
        place = row - self._tops[index]
        if self.lead and row == self.lead - 1:
            return earlier_messages_line(self.page, self._lead[0])
        if item.lines is None or not 0 <= place < len(item.lines):
            following = self.items[index + 1].depth if index + 1 < len(self.items) else 0
            depth = min(item.depth, following)
            return indent_nested((self._blank,), self.page, depth)[0] if depth else self._blank
        return item.lines[place]

    def lay_out(self, index: int) -> bool:
        """Draw one item; return True if its height changed, so that later items moved."""
        item = self.items[index]
        if item.lines is not None:
            return False
        height, body = item.height, item.body
        unfolded = self.folds.is_open(item)
        item.lines = draw_item(item, self.page, self.moment, unfolded=unfolded)
        item.height = len(item.lines)
        item.body = item.height > 1
        item.exact = True
        self._drawn_items += 1
        if item.behind:
            self._behind[item.key] = item
        else:
            self._behind.pop(item.key, None)
        moved = height != item.height or body != item.body
        if moved:
            del self._tops[index + 1 :]
        if moved and (height == 0 or item.height == 0):
            del self._tops[index:]
        return moved

    @property
    def behind(self) -> list[Item]:
        """Return the drawn items whose text goes on."""
        return [item for item in self._behind.values() if item.lines is not None]

    def draw_more(self) -> None:
        """Let the texts that are behind be drawn further."""
        for item in self.behind:
            self._drop_lines(item, guess=False)
            self._changed[item.key] = item

    # --- folding, clocks, what to paint ---

    def toggle(self, item: Item) -> bool:
        """Fold or unfold *item*; return False if it cannot be folded."""
        if not item.foldable:
            return False
        self.folds.toggle(item)
        self._drop_lines(item, guess=False)
        self._changed[item.key] = item
        return True

    def toggle_all(self, *, reasoning: bool) -> None:
        """Fold or unfold all reasoning, or everything else, single items included."""
        if reasoning:
            self.folds.reasoning = not self.folds.reasoning
        else:
            self.folds.details = not self.folds.details
        for item in self.items:
            if (item.kind == "reasoning") is reasoning and item.kind != "text":
                self.folds.single.pop(item.key, None)
                self._drop_lines(item, guess=False)
        self._all_changed = True

    @property
    def running(self) -> list[Item]:
        """Return the items whose rows show a spinner or a clock."""
        return list(self._running.values())

    def update_clock(self, item: Item) -> bool:
        """Update the clock in an item's first row; return False if it is not laid out."""
        if not item.lines:
            return False
        unfolded = self.folds.is_open(item)
        line = draw_first_line(item, self.page, self.moment, unfolded=unfolded)
        if line is not None:
            item.lines[0] = line
        return line is not None

    def take_first_changed_row(self) -> int | None:
        """Return the first row that changed since the last call, or None."""
        if self._all_changed:
            self._all_changed = False
            self._changed.clear()
            return 0
        if not self._changed:
            return None
        rows: list[int] = []
        for index in range(len(self.items) - 1, -1, -1):
            item = self.items[index]
            if self._changed.pop(item.key, None) is not None:
                rows.append(self.top(index) + item.changed)
                item.changed = 0
            if not self._changed:
                break
        self._changed.clear()
        return min(rows, default=0)

    def trim(self, first: int, last: int) -> None:
        """Drop the lines of items far from those between *first* and *last*; heights stay."""
        if self._drawn_items <= MAX_CACHED:
            return
        for index, item in enumerate(self.items):
            if item.lines is not None and not first - KEPT_AROUND <= index <= last + KEPT_AROUND:
                item.lines = None
                item.view = None
                self._drawn_items -= 1


def earlier_messages_line(page: Page, older: int) -> Line:
    """Return the row above everything that is loaded, while there are earlier messages."""
    word = "message" if older == 1 else "messages"
    text = cut(f"… {older:,} earlier {word}", page.columns(page.left))
    return make_line(
        [Segment(text, page.palette.style("faint"))],
        prefix=gutter(page, page.left),
        skip=0,
        join="",
    )


def _estimate_rows(older: int, items: Sequence[Item], messages: int) -> int:
    """Estimate the rows of *older* messages from the *messages* of *items*."""
    if not older or not messages:
        return 0
    return max(1, older * sum(item.height + 1 for item in items) // messages)


def _sort_key(entry: Entry) -> tuple[bool, int]:
    """Return the sort key of messages: by place, those in the queue (without a turn) last."""
    return (entry.message.turn_id is None, entry.number)
