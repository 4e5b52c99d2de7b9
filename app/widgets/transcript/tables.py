"""Tables fitted to a width: columns shrink and cells wrap; when it is too narrow for that,
each row is shown as a small list of ``header: cell``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.segment import Segment
from rich.text import Text

from app.widgets.transcript.lines import Page, segments, wrap

Align = Literal["left", "center", "right"]

COLUMN_GAP = 2
MIN_COLUMN = 5
"""Cells that a column needs to be readable at all."""


@dataclass(frozen=True, slots=True)
class Table:
    header: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]
    align: tuple[Align, ...] = ()


def table_rows(table: Table, page: Page, width: int) -> Iterator[list[Segment]]:
    """The rows of *table* within *width* cells."""
    count = len(table.header)
    room = width - COLUMN_GAP * (count - 1)
    natural = [
        max(1, *(cell.cell_len for cell in _column((table.header, *table.rows), index)))
        for index in range(count)
    ]
    if sum(natural) > room and room < MIN_COLUMN * count:
        yield from _records(table, page, width)
        return
    widths = _fit(natural, room)
    yield from _row(table.header, widths, table.align, page)
    rule = "─" * (sum(widths) + COLUMN_GAP * (count - 1))
    yield [Segment(rule, page.palette.style("rule"))]
    parted = sum(natural) > room
    for index, row in enumerate(table.rows):
        if parted and index:
            yield [Segment(rule, page.palette.style("rule"))]
        yield from _row(row, widths, table.align, page)


def _column(rows: Sequence[tuple[Text, ...]], index: int) -> list[Text]:
    return [row[index] for row in rows if index < len(row)]


def _fit(natural: list[int], room: int) -> list[int]:
    """Widths that add up to at most *room*: only the widest columns give way."""
    widths = list(natural)
    if sum(widths) <= room:
        return widths
    level = 1
    while sum(min(width, level + 1) for width in natural) <= room:
        level += 1
    widths = [min(width, level) for width in natural]
    spare = room - sum(widths)
    for index, width in enumerate(natural):
        if spare > 0 and width > widths[index]:
            widths[index] += 1
            spare -= 1
    return widths


def _row(
    cells: tuple[Text, ...], widths: list[int], align: tuple[Align, ...], page: Page
) -> Iterator[list[Segment]]:
    ground = page.palette.style()
    columns = [
        [row for row, _ in wrap(cells[index], width)] if index < len(cells) else []
        for index, width in enumerate(widths)
    ]
    for line in range(max(map(len, columns))):
        made: list[Segment] = []
        for index, (column, width) in enumerate(zip(columns, widths, strict=True)):
            if index:
                made.append(Segment(" " * COLUMN_GAP, ground))
            cell = column[line] if line < len(column) else []
            free = max(0, width - sum(part.cell_length for part in cell))
            side = align[index] if index < len(align) else "left"
            before = free if side == "right" else free // 2 if side == "center" else 0
            made += [Segment(" " * before, ground)] if before else []
            made += cell
            last = index == len(widths) - 1
            made += [Segment(" " * (free - before), ground)] if free > before and not last else []
        yield made


def _records(table: Table, page: Page, width: int) -> Iterator[list[Segment]]:
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
