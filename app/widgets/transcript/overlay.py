"""What is drawn over the rows of the page: the hint that there is more, and the cursor."""

from rich.segment import Segment
from textual.strip import Strip

from app.widgets.transcript.layout import Layout
from app.widgets.transcript.lines import Page

MARGIN = 2


def _hint(page: Page, count: int) -> Strip:
    text = Segment(f"  {count} new below  ", page.palette.style("text", "raised", "bold"))
    key = Segment("end  ", page.palette.style("muted", "raised"))
    parts = [text, key] if page.width >= 40 else [text]
    return Strip(parts).crop(0, page.width)


def hint_start(page: Page, count: int) -> int:
    """The column where the hint begins."""
    return max(0, page.width - MARGIN - _hint(page, count).cell_length)


def with_hint(strip: Strip, page: Page, count: int) -> Strip:
    """The last row of the page with the hint that *count* things are new below."""
    hint, start = _hint(page, count), hint_start(page, count)
    end = start + hint.cell_length
    return Strip.join([strip.crop(0, start), hint, strip.crop(end, page.width)])


def with_cursor(strip: Strip, layout: Layout, key: str, row: int) -> Strip:
    """*strip*, marked in the gutter where it is the first row of the item under the cursor."""
    index = layout.find(row)
    if index < 0 or layout.items[index].key != key or layout.top(index) != row:
        return strip
    mark = Segment("›", layout.page.palette.style("accent", attributes="bold"))
    return Strip.join([Strip([mark], 1), strip.crop(1, strip.cell_length)])


def keys_below(layout: Layout, keys: set[str], bottom: int) -> set[str]:
    """Those of *keys* whose items end below the row *bottom*."""
    found: set[str] = set()
    for key in keys:
        index = layout.index_of(key)
        if index is not None and layout.top(index) + layout.items[index].height > bottom:
            found.add(key)
    return found


def place_at(layout: Layout | None, row: int) -> tuple[str, str] | None:
    """The message and the item at *row*, None where nothing is."""
    index = layout.find(row) if layout is not None else -1
    if layout is None or index < 0:
        return None
    return layout.items[index].message_id, layout.items[index].key


def key_of(layout: Layout, message_id: str, part_id: str) -> str | None:
    """The key of the item that draws a part, else of the first of its message."""
    found = [item for item in layout.items if item.message_id == message_id]
    part = next((item.key for item in found if item.key == part_id), None)
    return part or (found[0].key if found else None)
