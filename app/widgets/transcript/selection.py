"""Text selection: how it is shown and what is copied."""

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Offset
from textual.selection import Selection
from textual.strip import Strip

from app.theme.themes import readable
from app.widgets.transcript.layout import Layout
from app.widgets.transcript.lines import Line


def with_selection(line: Line, span: tuple[int, int] | None, style: Style) -> Strip:
    """Return the strip of *line* with the selected characters on the selection's background; the
    gutter and other uncopied parts are unchanged."""
    bounds = _bounds(line, span)
    if bounds is None:
        return line.strip
    text = line.strip.text
    start, end = cell_len(text[: bounds[0]]), cell_len(text[: bounds[1]])
    before, inner, after = (
        line.strip.crop(0, start),
        line.strip.crop(start, end),
        line.strip.crop(end, line.strip.cell_length),
    )
    marked = [Segment(part.text, _on_selection(part.style or Style(), style)) for part in inner]
    return Strip.join([before, Strip(marked, end - start), after])


def _on_selection(style: Style, selected: Style) -> Style:
    """Return *style* on the background of *selected*, in a color that can be read there."""
    color, ground, text = style.color, selected.bgcolor, selected.color
    if color is None or ground is None or text is None:
        return style + selected
    return style + Style(color=readable(color.name, ground.name, text.name), bgcolor=ground)


def _bounds(line: Line, span: tuple[int, int] | None) -> tuple[int, int] | None:
    if span is None:
        return None
    stop = len(line.strip.text) if line.stop is None else line.stop
    start = max(span[0], line.skip)
    end = stop if span[1] == -1 else min(span[1], stop)
    return (start, end) if start < end else None


def moved_selection(selection: Selection, rows: int) -> Selection:
    """Return *selection* after its text moved down by *rows*."""
    by = Offset(0, rows)
    start, end = selection
    return Selection(start and start + by, end and end + by)


def copied_text(layout: Layout, selection: Selection) -> str:
    """Return the text under *selection* without gutters, with folded lines joined."""
    first = selection.start.y if selection.start is not None else 0
    last = selection.end.y if selection.end is not None else layout.height - 1
    pieces: list[str] = []
    for row in range(max(layout.lead, first), min(last, layout.height - 1) + 1):
        index = layout.find(row)
        if index >= 0:
            layout.lay_out(index)
        line = layout.line(row)
        bounds = _bounds(line, selection.get_span(row))
        if pieces:
            pieces[-1] = pieces[-1].rstrip(" ") if line.join != "" else pieces[-1]
            pieces.append(line.join)
        pieces.append(line.strip.text[bounds[0] : bounds[1]] if bounds else "")
    return "".join(pieces)
