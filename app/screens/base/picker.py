"""A filterable list to choose from: type to filter, Enter chooses, Esc closes."""

import re
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.css.styles import RulesMap
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent.records.frozen import frozen
from app.screens.base.dialog import Dialog
from app.screens.base.fitted import Fitted
from app.screens.base.hints import KeyHints
from app.terminal.tasks import Tasks, is_open, show_dialog
from app.text.sanitize import sanitize
from app.widgets.input.field import TextField

if TYPE_CHECKING:  # only for annotations
    from agent.bus import Subscription

MIN_LEFT = 10
"""Cells that the left side keeps at least."""

MIN_NOTE = 16
"""Cells of a note that are shown at least, unless it is shorter."""

GAP = 3
"""Cells between a title and its note."""

MAX_COLUMN = 40
"""The last column at which notes are aligned: those of longer titles follow them."""


class TwoColumnRow(Visual):
    """A list row with *left*, behind it *note*, and at the right edge *right*, laid out for the
    width.

    *note* begins at the last of *columns* that leaves it two fifths of the width, or directly after
    *left* where that is longer or the whole *note* fits only there. The left side is cut if both
    sides do not fit; before that, *note* is dropped if it would get fewer than ``MIN_NOTE`` cells.
    *right* is dropped only where *left* would get fewer than ``MIN_LEFT``, in a *heading* also
    where there would be too little for the rows below. *short_right* is shown instead where *left*
    would get less than two fifths of the width.
    """

    def __init__(
        self,
        left: Content,
        right: Content,
        note: Content | None = None,
        columns: Sequence[int] = (),
        *,
        heading: bool = False,
        short_right: Content | None = None,
    ) -> None:
        self.left = left
        self.right = right
        self._short_right = short_right or None
        self._note = note
        self._columns = columns
        self._heading = heading

    def line(self, width: int) -> Content:
        """Return the row in *width* cells."""
        left, right = self.left, self.right
        cramped = width - right.cell_length - 2 < min(left.cell_length, width * 2 // 5)
        if cramped and self._short_right is not None:
            right = self._short_right
        least = MIN_LEFT if self._heading else min(MIN_LEFT, left.cell_length)
        if width - right.cell_length - 2 < least:
            right = Content("")
        room = width - right.cell_length - 2 if right else max(1, width)
        if self._note:
            last = min(MAX_COLUMN, width * 3 // 5, width - MIN_NOTE)
            fitting = bisect_right(self._columns, last)
            wide, after = self._note.cell_length, left.cell_length + GAP
            at = max(self._columns[fitting - 1] if fitting else 0, after)
            if room - at < min(MIN_NOTE, wide) and room - after >= wide:
                at = after
            if room - at >= min(MIN_NOTE, wide):
                left += Content(" " * (at - left.cell_length)) + self._note
        left = left.truncate(room, ellipsis=True)
        gap = width - right.cell_length - left.cell_length if right else 0
        return left + Content(" " * gap) + right

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        return self.line(width).render_strips(width, height, style, options)

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        note = GAP + self._note.cell_length if self._note else 0
        right = self.right.cell_length and self.right.cell_length + 2
        return self.left.cell_length + note + right

    def get_height(self, rules: RulesMap, width: int) -> int:
        return 1


MAX_ROWS = 500
"""Rows drawn at once; the user has to filter for more."""


@frozen
class Row:
    """One choice."""

    key: str
    """The result of choosing the row."""
    title: str
    note: str = ""
    """More text after the title."""
    group: str = ""
    """The heading above this row and its neighbors."""
    right: str = ""
    """Text at the right edge."""
    short_right: str = ""
    """Its most important part, shown where the whole of it leaves too little of the title; "" for
    none."""
    right_tone: str = "$tone-muted"
    group_right: str = ""
    """Text at the right edge of the heading."""
    hidden: str = ""
    """Text that is searched but not shown."""
    tone: str = ""
    """The color of the first word of the title, which shows a state; "" for that of the text."""
    note_tone: str = "$tone-muted"

    @property
    def text(self) -> str:
        return f"{self.title} {self.note} {self.group} {self.key} {self.right} {self.hidden}"


class Picker(Dialog[str | None]):
    """Returns the key of the chosen row, or None."""

    CSS_PATH = str(Path(__file__).with_name("picker.tcss"))
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close"),
        Binding("up,ctrl+p", "move(-1)", "Up", priority=True),
        Binding("down,ctrl+n", "move(1)", "Down", priority=True),
        Binding("pageup", "move(-10)", "Page up", priority=True),
        Binding("pagedown", "move(10)", "Page down", priority=True),
    ]

    def __init__(
        self,
        title: str,
        rows: Sequence[Row],
        *,
        current: str | None = None,
        hints: Sequence[tuple[str, str]] = (),
        enter: str = "choose",
        empty: str = "Nothing here yet",
        approves: bool = False,
    ) -> None:
        """*approves*: a choice permits or changes something that was not asked for by itself, so it
        has to be seen first."""
        super().__init__()
        self.takes_early_enter = not approves
        self._early: Callable[[], object] | None = None
        self._title = title
        self._rows = tuple(rows)
        self._current = current
        self._hints = tuple(hints)
        self._enter = enter
        self._empty = empty

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._rows

    def compose(self) -> ComposeResult:
        with Fitted(id="picker"):
            yield Static(Content.styled(sanitize(self._title), "bold"), id="picker-title")
            yield TextField(placeholder="Type to filter", id="picker-filter")
            yield OptionList(id="picker-list", markup=False, compact=True)
            yield Static(Content.styled(self._empty, "$tone-muted"), id="picker-empty")
            yield from self.compose_below_list()
            yield Static(self._keys(), id="picker-keys")

    def _keys(self) -> KeyHints:
        enter = () if self._enter == "close" else (("enter", self._enter),)
        lines = 1 if self.has_class("-short") else None
        return KeyHints(*enter, *self._hints, ("esc", "close"), most_lines=lines)

    def on_resize(self) -> None:
        for line in self.query("#picker-keys").results(Static):
            line.update(self._keys())

    def compose_below_list(self) -> ComposeResult:
        """Yield widgets between the list and the key hints; for pickers with a preview."""
        yield from ()

    def matching_rows(self, typed: str) -> Sequence[Row]:
        """Return the rows that match what was *typed*, in order."""
        return fuzzy_filter(typed, self._rows, lambda row: row.text)

    def on_mount(self) -> None:
        self.query_one(OptionList).can_focus = False
        self._fill("", keep=self._current)

    @property
    def current(self) -> str | None:
        """Return the key of the row that is marked as current."""
        return self._current

    @property
    def highlighted_key(self) -> str | None:
        option = self.query_one(OptionList).highlighted_option
        return option.id if option is not None else None

    def set_rows(self, rows: Sequence[Row], keep: str | None = None) -> None:
        """Show other rows and keep the filter.

        The row *keep* (by default the highlighted one) stays highlighted; if it is gone, the row at
        the same position is.
        """
        keep = keep or self.highlighted_key
        at = self.query_one(OptionList).highlighted or 0
        self._rows = tuple(rows)
        self._fill(self.query_one(Input).value, keep=keep)
        if self.highlighted_key != keep:
            self._highlight_near(at, 1)

    def highlighted_row(self) -> Row | None:
        key = self.highlighted_key
        return next((row for row in self._rows if row.key == key), None)

    def with_highlighted(self, run: Callable[[str], object]) -> None:
        """Call *run* with the key of the highlighted row, if there is one."""
        if (key := self.highlighted_key) is not None:
            run(key)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter the list. The box keeps its height, so that nothing moves while the user types."""
        event.stop()
        box, listing = self.query_one("#picker"), self.query_one(OptionList)
        empty = self.query_one("#picker-empty")
        box.styles.min_height = box.outer_size.height
        for place in (listing, empty):
            place.styles.min_height = max(listing.size.height, empty.size.height)
        self._fill(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self._early is None:
            self.with_highlighted(self.dismiss)
        else:
            self.choose_early()

    def expect_early_enter(self, done: Callable[[], object]) -> None:
        self._early = done

    def choose_early(self) -> None:
        """Choose for an Enter that was typed before the list was visible; for pickers whose rows
        come later, or that choose less without being seen."""
        self.with_highlighted(self.dismiss)
        self.end_early_enter()

    def end_early_enter(self) -> None:
        """Let what was typed after an early Enter go on."""
        done, self._early = self._early, None
        if done is not None:
            done()

    def on_unmount(self) -> None:
        self.end_early_enter()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(event.option_id)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        if event.option_id is not None:
            self.preview_row(event.option_id)

    def preview_row(self, key: str) -> None:
        """Called with the key of each row that becomes highlighted; for pickers with a preview."""

    def action_move(self, step: int) -> None:
        listing = self.query_one(OptionList)
        if listing.option_count:
            at = listing.highlighted if listing.highlighted is not None else 0
            self._highlight_near(
                max(0, min(listing.option_count - 1, at + step)), 1 if step > 0 else -1
            )

    def interrupt(self) -> None:
        self.action_close()

    def _highlight_near(self, at: int, step: int) -> None:
        """Highlight the row *at*, or the nearest row that is not a heading."""
        listing = self.query_one(OptionList)
        for place in (
            *range(at, listing.option_count if step > 0 else -1, step),
            *range(at, -1, -1),
        ):
            if 0 <= place < listing.option_count and not listing.options[place].disabled:
                listing.highlighted = place
                return

    def _fill(self, typed: str, keep: str | None = None) -> None:
        listing = self.query_one(OptionList)
        found = self.matching_rows(typed)[:MAX_ROWS]
        options: list[Option] = []
        group = ""
        start = 0
        columns = _note_columns(found)
        for row in found:
            if row.group and row.group != group:
                group = row.group
                options.append(_heading(row))
            if row.key == keep:
                start = len(options)
            options.append(self._option(row, columns))
        listing.set_options(options)
        listing.display = bool(options)
        self.query_one("#picker-empty").display = not options
        self._highlight_near(start, 1)

    def _option(self, row: Row, columns: Sequence[int]) -> Option:
        mark = "● " if row.key == self._current else "  "
        first, space, rest = sanitize(row.title).partition(" ")
        title = Content.assemble((mark, "$tone-accent"), (first, row.tone), space + rest)
        note = Content.styled(sanitize(row.note), row.note_tone)
        right = Content.styled(sanitize(row.right), row.right_tone)
        short = Content.styled(sanitize(row.short_right), row.right_tone)
        shown = TwoColumnRow(title, right, note, columns, short_right=short)
        return Option(shown, id=row.key)


def _note_columns(rows: Sequence[Row]) -> Sequence[int]:
    """Return the columns at which the notes of *rows* can begin: after each of the titles."""
    return sorted({len("● ") + cell_len(sanitize(row.title)) + GAP for row in rows if row.note})


def _heading(row: Row) -> Option:
    left = Content.styled(sanitize(row.group), "bold $tone-muted")
    right = Content.styled(sanitize(row.group_right), "$tone-muted")
    return Option(TwoColumnRow(left, right, heading=True), disabled=True)


ItemT = TypeVar("ItemT")

MIN_SIMILARITY = 75.0
"""The similarity (0 to 100) from which a misspelled word matches a row."""


async def show_updated(
    app: App[Any],
    picker: Picker,
    changes: "Subscription",
    rows: Callable[[], Awaitable[Sequence[Row]]],
    tasks: Tasks,
) -> str | None:
    """Show *picker* and return its result. Its rows are updated with each event of *changes*."""

    async def follow() -> None:
        async for _ in changes:
            found = await rows()
            if is_open(picker):
                picker.set_rows(found)

    with changes:
        following = tasks.spawn(follow(), "updating a list")
        try:
            return await show_dialog(app, picker)
        finally:
            following.cancel()


def fuzzy_filter(
    typed: str, items: Sequence[ItemT], text_of: Callable[[ItemT], str]
) -> list[ItemT]:
    """Return the items that match what was *typed*.

    If any items contain every word, those are returned in their own order. Otherwise the items that
    contain the letters of each word in order (``snt45``) are returned, the tightest match first;
    otherwise those most similar to what was typed (``cluade``).
    """
    words = typed.lower().split()
    if not words:
        return list(items)
    texts = [text_of(item).lower() for item in items]
    exact = [
        item for item, text in zip(items, texts, strict=True) if all(word in text for word in words)
    ]
    return exact or _scattered(words, items, texts) or _similar(typed.lower(), items, texts)


def _scattered(words: Sequence[str], items: Sequence[ItemT], texts: Sequence[str]) -> list[ItemT]:
    patterns = [re.compile("(?=(" + ".*?".join(map(re.escape, word)) + "))") for word in words]
    found: list[tuple[int, int]] = []
    for at, text in enumerate(texts):
        spans = [min((len(m[1]) for m in p.finditer(text)), default=0) for p in patterns]
        if all(spans):
            found.append((sum(spans), at))
    tight = 4 * sum(map(len, words))  # letters scattered over a whole line match everything
    return [items[at] for spread, at in sorted(found) if spread <= tight]


def _similar(typed: str, items: Sequence[ItemT], texts: Sequence[str]) -> list[ItemT]:
    from rapidfuzz import fuzz, process  # kept out of start-up

    scored = process.extract(
        typed, texts, scorer=fuzz.partial_ratio, limit=50, score_cutoff=MIN_SIMILARITY
    )
    return [items[at] for _, _, at in scored]
