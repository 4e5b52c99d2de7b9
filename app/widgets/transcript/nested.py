"""Sessions of sub-agents that are unfolded below their calls, behind a rule (spec 8, U12)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from rich.segment import Segment
from textual.strip import Strip

from app.session.view import Entry, SessionView
from app.widgets.transcript.items import Item, items_of
from app.widgets.transcript.lines import Line, Page

Inner: TypeAlias = Mapping[str, SessionView]
"""What is unfolded, by the key of the row that it is below."""

NOTHING_INNER: Inner = MappingProxyType({})

STEP = 2
"""Cells that each level takes."""

DEEPEST = 8
"""Levels that are unfolded below each other."""


def items_within(view: SessionView, entry: Entry, inner: Inner, depth: int = 0) -> Iterator[Item]:
    """The items of one message, each followed by those of the session that is unfolded below it."""
    for item in items_of(view, entry):
        item.depth = depth
        yield item
        child = inner.get(item.key) if depth < DEEPEST else None
        if child is not None:
            for message_id in child.message_ids:
                if (held := child.entry(message_id)) is not None:
                    yield from items_within(child, held, inner, depth + 1)


def narrowed(page: Page, depth: int) -> Page:
    """The page that is left for what is *depth* levels deep."""
    return replace(page, width=max(STEP, page.width - STEP * depth)) if depth else page


def set_in(lines: Sequence[Line], page: Page, depth: int) -> list[Line]:
    """*lines*, drawn for ``narrowed``, behind a rule for each level."""
    rule = Segment(" │" * depth, page.tones.style("faint"))
    cells = STEP * depth
    shifted: list[Line] = []
    for line in lines:
        inner = line.strip.crop(0, page.width - cells)
        strip = Strip([rule, *inner], cells + inner.cell_length)
        stop = None if line.stop is None else line.stop + cells
        shifted.append(replace(line, strip=strip, skip=line.skip + cells, stop=stop))
    return shifted
