"""Tables fitted to a width: columns shrink and cells wrap; on a page that is too narrow for that,
each row becomes a list of ``header: cell``."""

from collections.abc import Iterator, Sequence
from typing import Literal

from rich.segment import Segment
from rich.text import Text

from agent.records.frozen import frozen
from app.widgets.transcript.lines import Page, segments, wrap

Align = Literal["left", "center", "right"]

COLUMN_GAP = 2
MIN_COLUMN = 5
"""Cells that a column needs to be readable."""


@frozen
class Table:
    header: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]
    align: tuple[Align, ...] = ()


def table_rows(table: Table, page: Page, width: int) -> Iterator[list[Segment]]:
    """Yield the rows of *table* within *width* cells."""
    count = len(table.header)
    available = width - COLUMN_GAP * (count - 1)
    natural = [
        max(1, *(cell.cell_len for cell in _column((table.header, *table.rows), index)))
        for index in range(count)
    ]
    if sum(natural) > available and available < MIN_COLUMN * count:
        yield from _record_rows(table, page, width)
        return
    widths = _fit_widths(natural, available)
    yield from _table_row(table.header, widths, table.align, page)
    rule = "─" * (sum(widths) + COLUMN_GAP * (count - 1))
    yield [Segment(rule, page.palette.style("rule"))]
    ruled = sum(natural) > available
    for index, row in enumerate(table.rows):
        if ruled and index:
            yield [Segment(rule, page.palette.style("rule"))]
        yield from _table_row(row, widths, table.align, page)


def _column(rows: Sequence[tuple[Text, ...]], index: int) -> list[Text]:
    return [row[index] for row in rows if index < len(row)]


def _fit_widths(natural: list[int], available: int) -> list[int]:
    """Return widths that add up to at most *room*; only the widest columns shrink."""
    widths = list(natural)
    if sum(widths) <= available:
        return widths
    level = 1
    while sum(min(width, level + 1) for width in natural) <= available:
        level += 1
    widths = [min(width, level) for width in natural]
    spare = available - sum(widths)
    for index, width in enumerate(natural):
        if spare > 0 and width > widths[index]:
            widths[index] += 1
            spare -= 1
    return widths


def _table_row(
    cells: tuple[Text, ...], widths: list[int], align: tuple[Align, ...], page: Page
) -> Iterator[list[Segment]]:
    ground = page.palette.style()
    columns = [
        [row for row, _ in wrap(cells[index], width)] if index < len(cells) else []
        for index, width in enumerate(widths)
    ]
    for line in range(max(map(len, columns))):
        segments_of_row: list[Segment] = []
        for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
            if index:
                segments_of_row.append(Segment(" " * COLUMN_GAP, ground))
            cell = column[line] if line < len(column) else []
            free = max(0, width - sum(part.cell_length for part in cell))
            side = align[index] if index < len(align) else "left"
            before = free if side == "right" else free // 2 if side == "center" else 0
            segments_of_row += [Segment(" " * before, ground)] if before else []
            segments_of_row += cell
            last = index == len(widths) - 1
            segments_of_row += (
                [Segment(" " * (free - before), ground)] if free > before and not last else []
            )
        yield segments_of_row


def _record_rows(table: Table, page: Page, width: int) -> Iterator[list[Segment]]:
    for index, row in enumerate(table.rows):
        if index:
            yield [Segment("─" * max(1, width // 2), page.palette.style("rule"))]
        for head, cell in zip(table.header, row, strict=False):
            if not cell.plain:
                continue
            entry = Text.assemble(head, (": ", page.palette.style("faint")), cell)
            yield from (row for row, _ in wrap(entry, width))
    if not table.rows:
        yield from (segments(head) for head in table.header)
