"""What part of a transcript is on the screen, and that what is read stays where it is."""

from app.widgets.transcript.layout import Layout

MAX_RELATIVE_PAGES = 3
"""Pages beyond which scrolling is a jump and not relative to what was read."""


class Viewport:
    """The place on the page. While *following* it is the bottom; else an anchor holds it:
    an item and a row counted from its first."""

    def __init__(self) -> None:
        self.following = True
        self.going_home = False
        """Whether the first message is gone to, of which pages before it are not loaded yet."""
        self.shift = 0
        """How many rows what was read moved down in the last ``settle``."""
        self._key = ""
        self._inner = 0
        self._top = 0
        self._asked = 0

    def forget_request(self) -> None:
        """The session was read again, or is shown again."""
        self._asked = 0

    def anchor_to(self, layout: Layout, key: str) -> None:
        """Read on at the item *key*, with one row above it."""
        self.following = self.going_home = False
        index = layout.index_of(key)
        self._key, self._inner = key, -1
        self._top = layout.top(index) if index is not None else 0

    def needs_earlier(self, layout: Layout, older: int, height: int, *, again: bool) -> bool:
        """Whether the page before what is loaded is needed, of *older* messages: asked for once
        when it comes near, and *again* when the user goes on scrolling."""
        near = self._top + self._inner < layout.lead + height
        wanted = near and older > 0 and (again or older != self._asked)
        self._asked = older if wanted else self._asked
        return wanted

    def settle(self, layout: Layout, height: int, row: int, step: int | None) -> int:
        """Lay out *height* rows and return the first: the last ones when following, else
        those *step* rows from what was read (None: there). *row* is the first row now."""
        self.going_home = self.going_home and step is None
        if self.going_home:
            self._key, row = "", 0
        if self.following and step is None and not self.going_home:
            self._lay_end(layout, height)
            first = layout.height - height
        else:
            first = self._lay_around(layout, height, row, step or 0)
        first = max(0, min(first, layout.height - height))
        self.following = first >= layout.height - height and not self.going_home
        self.going_home = self.going_home and layout.lead > 0
        held = layout.index_of(self._key) if self._key else None
        self.shift = layout.top(held) - self._top if held is not None else 0
        index = layout.find(first)
        if index >= 0:
            self._top = layout.top(index)
            self._key, self._inner = layout.items[index].key, first - layout.top(index)
            layout.trim(index, layout.find(first + height))
        return first

    @staticmethod
    def _lay_end(layout: Layout, height: int) -> None:
        rows, index = 0, len(layout.items)
        while index and rows < height:
            index -= 1
            layout.lay_out(index)
            rows = layout.height - layout.top(index)

    def _lay_around(self, layout: Layout, height: int, row: int, step: int) -> int:
        """Lay out the screen that is *step* rows from the anchor. What is laid out may turn
        out higher or lower than was guessed; the anchor stays."""
        index, inner = layout.index_of(self._key), self._inner
        if index is None or abs(step) > MAX_RELATIVE_PAGES * height:
            index = layout.find(row)
            if index < 0:
                return 0
            inner = min(row - layout.top(index), layout.items[index].height)
            step = 0
        moved = True
        while moved:
            moved = False
            first = layout.top(index) + min(inner, layout.items[index].height) + step
            first = max(0, min(first, layout.height - height))
            for near in range(max(0, layout.find(first)), len(layout.items)):
                if layout.top(near) > first + height:
                    break
                moved = layout.lay_out(near) or moved
        return layout.top(index) + min(inner, layout.items[index].height) + step
