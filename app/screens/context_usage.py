"""The context window's usage as a bar and a table."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.content import Content

from app.text.sanitize import sanitize_line
from app.text.units import tokens
from app.widgets.status import short_model

if TYPE_CHECKING:  # imports the agent
    from agent.session.review.context_usage import ContextUsage, SourceGroup

GROUPS: "tuple[tuple[SourceGroup, str, str], ...]" = (
    ("system", "System prompt", "$tone-blue"),
    ("tools", "Tools", "$tone-plan"),
    ("messages", "Messages", "$tone-accent"),
    ("output", "Tool output", "$tone-warn"),
)
FULL, FREE, RESERVED = "█", "░", "▒"
NUMBERS_WIDTH = 16
"""Cells for a row's numbers: tokens, then the share of the window."""

MAX_WIDTH = 70
"""The widest row in cells: numbers far from their names are hard to read."""


def context_usage_text(contents: "ContextUsage", width: int) -> Content:
    lines = [_headline(contents, width), Content(""), bar(contents, width), Content("")]
    for group, title, tone in GROUPS:
        sources = contents.in_group(group)
        if not sources:
            continue
        total = contents.total(group)
        lines.append(_row(f"{FULL} ", tone, title, total, contents, width, style="bold"))
        lines += [_row("  ", tone, s.name, s.tokens, contents, width) for s in sources]
    lines += _free_rows(contents, width)
    return Content("\n").join(lines)


def _headline(contents: "ContextUsage", width: int) -> Content:
    """Return the total; how it was measured and the model are added where they fit."""
    text = f"{tokens(contents.used)} tokens"
    if contents.window is not None:
        share = contents.used / contents.window
        text = f"{tokens(contents.used)} of {tokens(contents.window)} tokens, {share:.0%}"
    how = "as the provider counted" if contents.measured else "estimated"
    limit = "" if contents.window is not None else "the window's size is not known"
    model = sanitize_line(short_model(contents.model))
    line = Content.styled(text, "bold")
    for more in (how, limit, model):
        longer = line + Content.styled(f"   {more}", "$tone-muted")
        line = longer if more and longer.cell_length <= width else line
    return line.truncate(width, ellipsis=True)


def _free_rows(contents: "ContextUsage", width: int) -> list[Content]:
    if contents.free is None:
        return []
    reserved = contents.reserved or 0
    return [
        _row(f"{FREE} ", "$tone-faint", "Free", contents.free, contents, width, style="bold"),
        _row(
            f"{RESERVED} ",
            "$tone-faint",
            "Kept for the answer",
            reserved,
            contents,
            width,
            style="bold",
        ),
    ]


def _row(
    mark: str,
    tone: str,
    name: str,
    size: int,
    contents: "ContextUsage",
    width: int,
    style: str = "",
) -> Content:
    whole = contents.window or contents.used or 1
    share = size / whole
    shown = f"{share:.1%}" if 0 < share < 0.0995 else f"{share:.0%}"
    numbers = f"{tokens(size):>8}{shown:>8}"
    name_width = max(1, min(width, MAX_WIDTH) - NUMBERS_WIDTH - 2)
    label = Content.styled(sanitize_line(name), style or "$tone-muted")
    label = label.truncate(name_width, ellipsis=True, pad=True)
    tail = Content.styled(numbers, "" if style else "$tone-muted")
    return Content.assemble((mark, tone)) + label + tail


def bar(contents: "ContextUsage", width: int) -> Content:
    """Return the window from left to right: each group, free space, reserved space."""
    sizes = [(FULL, tone, contents.total(group)) for group, _, tone in GROUPS]
    if contents.free is not None:
        sizes.append((FREE, "$tone-faint", contents.free))
        sizes.append((RESERVED, "$tone-faint", contents.reserved or 0))
    present = [size for size in sizes if size[2] > 0]
    cells = list(_cells([size for _, _, size in present], width))
    parts = [(glyph * n, tone) for (glyph, tone, _), n in zip(present, cells, strict=True)]
    return Content.assemble(*parts)


def _cells(sizes: list[int], width: int) -> Iterator[int]:
    """Yield *width* divided in proportion to *sizes*, at least one cell each."""
    spare = max(0, width - len(sizes))
    total = sum(sizes)
    done = given = 0
    for size in sizes:
        done += size
        end = round(spare * done / total)
        yield 1 + end - given
        given = end
