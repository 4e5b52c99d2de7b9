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

NestedSessions: TypeAlias = Mapping[str, SessionView]
"""What is unfolded, by the key of the row that it is below."""

NO_NESTED: NestedSessions = MappingProxyType({})

NESTED_INDENT = 2
"""Cells that each level takes."""

MAX_DEPTH = 8
"""Levels that are unfolded below each other."""


def nested_items(
    view: SessionView, entry: Entry, inner: NestedSessions, depth: int = 0
) -> Iterator[Item]:
    """The items of one message, each followed by those of the session that is unfolded below it."""
    for item in items_of(view, entry):
        item.depth = depth
        yield item
        child = inner.get(item.key) if depth < MAX_DEPTH else None
        if child is not None:
            for message_id in child.message_ids:
                if (held := child.entry(message_id)) is not None:
                    yield from nested_items(child, held, inner, depth + 1)


def nested_page(page: Page, depth: int) -> Page:
    """The page that is left for what is *depth* levels deep."""
    return (
        replace(page, width=max(NESTED_INDENT, page.width - NESTED_INDENT * depth))
        if depth
        else page
    )


def indent_nested(lines: Sequence[Line], page: Page, depth: int) -> list[Line]:
    """*lines*, drawn for ``narrowed``, behind a rule for each level."""
    rule = Segment(" │" * depth, page.palette.style("faint"))
    cells = NESTED_INDENT * depth
    shifted: list[Line] = []
    for line in lines:
        inner = line.strip.crop(0, page.width - cells)
        strip = Strip([rule, *inner], cells + inner.cell_length)
        stop = None if line.stop is None else line.stop + cells
        shifted.append(replace(line, strip=strip, skip=line.skip + cells, stop=stop))
    return shifted
