"""From an item to its lines: the one place that knows which renderer draws which record."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rich.segment import Segment
from textual.strip import Strip

from agent.records.messages import AssistantMessage, ReasoningPart, TextPart, ToolPart
from app.widgets.transcript.items import Item, UserRecord
from app.widgets.transcript.lines import Line, Page
from app.widgets.transcript.markdown import MarkdownView
from app.widgets.transcript.messages import (
    end_lines,
    note_lines,
    reasoning_lines,
    reasoning_view,
    user_lines,
)
from app.widgets.transcript.tool_calls import Moment, tool_lines, tool_row

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
    """Return the lines of *item*, and set on it whether it can be folded and which lines
    changed."""
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
        item.changed = item.view.update(record.text, final=item.final)
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
        first = item.view.update(record.text, final=item.final)
        item.changed = 0 if item.final else first + 1
        body = item.view.lines
    else:
        item.view = None
    return reasoning_lines(record, page, moment, body, unfolded=unfolded)


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
