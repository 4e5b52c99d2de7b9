"""The visible part of a transcript, which keeps what is read in place."""

from app.widgets.transcript.layout import Layout

MAX_RELATIVE_PAGES = 3
"""Pages beyond which scrolling is a jump and not relative to what was read."""


class Viewport:
    """The position on the page. While *following*, it is the bottom; else an anchor holds it: an
    item and a row counted from its first."""

    def __init__(self) -> None:
        self.following = True
        self.going_home = False
        """True while the first message is the target and is not loaded yet."""
        self.shift = 0
        """Rows that the anchor moved down in the last ``settle``."""
        self._anchor_key = ""
        self._anchor_row = 0
        self._anchor_top = 0
        self._requested_at = 0

    def forget_request(self) -> None:
        """Forget the last request for earlier messages: the session was read or shown again."""
        self._requested_at = 0

    def anchor_to(self, layout: Layout, key: str) -> None:
        """Keep the item *key* at the top, with one row above it."""
        self.following = self.going_home = False
        index = layout.index_of(key)
        self._anchor_key, self._anchor_row = key, -1
        self._anchor_top = layout.top(index) if index is not None else 0

    def needs_earlier(self, layout: Layout, older: int, height: int, *, again: bool) -> bool:
        """Return whether the page before the loaded messages is needed, with *older* messages
        before them: once when it comes near, and *again* when the user keeps scrolling."""
        near = self._anchor_top + self._anchor_row < layout.lead + height
        wanted = near and older > 0 and (again or older != self._requested_at)
        self._requested_at = older if wanted else self._requested_at
        return wanted

    def settle(self, layout: Layout, height: int, row: int, step: int | None) -> int:
        """Lay out *height* rows and return the first one.

        While following, those are the last rows, else the rows *step* below the anchor (None: at
        the anchor). *row* is the current first row.
        """
        self.going_home = self.going_home and step is None
        if self.going_home:
            self._anchor_key, row = "", 0
        if self.following and step is None and not self.going_home:
            self._lay_out_end(layout, height)
            first = layout.height - height
        else:
            first = self._lay_out_around(layout, height, row, step or 0)
        first = max(0, min(first, layout.height - height))
        self.following = first >= layout.height - height and not self.going_home
        self.going_home = self.going_home and layout.lead > 0
        anchor = layout.index_of(self._anchor_key) if self._anchor_key else None
        self.shift = layout.top(anchor) - self._anchor_top if anchor is not None else 0
        index = layout.find(first)
        if index >= 0:
            self._anchor_top = layout.top(index)
            self._anchor_key, self._anchor_row = layout.items[index].key, first - layout.top(index)
            layout.trim(index, layout.find(first + height))
        return first

    @staticmethod
    def _lay_out_end(layout: Layout, height: int) -> None:
        rows, index = 0, len(layout.items)
        while index and rows < height:
            index -= 1
            layout.lay_out(index)
            rows = layout.height - layout.top(index)

    def _lay_out_around(self, layout: Layout, height: int, row: int, step: int) -> int:
        """Lay out the rows *step* below the anchor. Items can turn out higher or lower than
        estimated; the anchor stays in place."""
        index, anchor_row = layout.index_of(self._anchor_key), self._anchor_row
        if index is None or abs(step) > MAX_RELATIVE_PAGES * height:
            index = layout.find(row)
            if index < 0:
                return 0
            anchor_row = min(row - layout.top(index), layout.items[index].height)
            step = 0
        moved = True
        while moved:
            moved = False
            first = layout.top(index) + min(anchor_row, layout.items[index].height) + step
            first = max(0, min(first, layout.height - height))
            for near in range(max(0, layout.find(first)), len(layout.items)):
                if layout.top(near) > first + height:
                    break
                moved = layout.lay_out(near) or moved
        return layout.top(index) + min(anchor_row, layout.items[index].height) + step
