"""Lines, which the transcript consists of, and wrapping of styled text into them.

A ``Line`` is final: a strip for one width and one theme, with the data that selection and clicks
need. All widths are terminal cells.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from agent.records.frozen import frozen
from app.text.file_links import NO_LINKS, FileLinks, FilePlace
from app.theme.appearance import DiffStyle
from app.theme.themes import Palette

TEXT_WIDTH = 110
"""The maximum width of prose in cells; code, diffs and tables can be wider."""

# Rich needs a console to wrap and to resolve styles; nothing is printed on this one.
_CONSOLE = Console(file=io.StringIO(), width=TEXT_WIDTH, color_system="truecolor")


@dataclass(frozen=True)
class Page:
    """The properties of the page that lines are laid out for."""

    width: int
    """Cells of the widget."""
    palette: Palette
    diffs: DiffStyle = "auto"
    files: FileLinks = NO_LINKS

    @cached_property
    def left(self) -> int:
        return 2 if self.width > 8 else 0

    @cached_property
    def right(self) -> int:
        margin = 2 if self.width >= 60 else 1 if self.width >= 24 else 0
        return max(1, self.width - margin)

    def columns(self, indent: int) -> int:
        """Return the cells between *indent* and the right margin, at least one."""
        return max(1, self.right - indent)

    def prose(self, indent: int) -> int:
        return min(TEXT_WIDTH, self.columns(indent))

    @property
    def indent(self) -> int:
        """Return the column of indented content."""
        return min(self.left * 2, self.width // 4)


@frozen
class Line:
    """One row."""

    strip: Strip
    skip: int = 0
    """The first character that a copy takes."""
    stop: int | None = None
    """The end of the characters that a copy takes, None for all."""
    join: str = "\n"
    """The text before them in the copy, "" if a long line was folded."""
    toggles: bool = False
    """True if a click folds or unfolds the item."""
    opens: bool = False
    """True if a click opens the whole item in the pager: too much is hidden to unfold it here."""

    @property
    def copied(self) -> str:
        return self.strip.text[self.skip : self.stop]


def make_line(
    content: Iterable[Segment],
    *,
    prefix: Sequence[Segment] = (),
    fill: tuple[int, Style] | None = None,
    skip: int | None = None,
    join: str = "\n",
    toggles: bool = False,
    opens: bool = False,
) -> Line:
    """Return a line of *prefix* (not copied unless *skip* says so) and *content*.

    *fill* is a column and a style: the rest of the row up to the column gets the style.
    """
    segments = list(prefix)
    before = sum(len(segment.text) for segment in segments)
    segments.extend(content)
    stop = sum(len(one.text) for one in segments if not isinstance(one, BreakMark))
    cells = sum(cell_len(segment.text) for segment in segments)
    if fill is not None and fill[0] > cells:
        segments.append(Segment(" " * (fill[0] - cells), fill[1]))
        cells = fill[0]
    return Line(
        Strip(segments, cells), before if skip is None else skip, stop, join, toggles, opens
    )


def blank(page: Page) -> Line:
    return Line(Strip.blank(page.width, page.palette.style()), stop=0)


def gutter(page: Page, cells: int) -> tuple[Segment, ...]:
    """Return an empty prefix for content that starts at column *cells*."""
    return (Segment(" " * cells, page.palette.style()),) if cells else ()


def segments(text: Text) -> list[Segment]:
    """Return the segments of one line of *text* on top of its base style."""
    base = text.style if isinstance(text.style, Style) else Style.null()
    # Most texts, and all code, consist of styled pieces in order: no need for Rich's general way.
    plain, end = text.plain, 0
    found: list[Segment] = []
    for start, stop, style in text.spans:
        if start < end or not isinstance(style, Style):
            rendered = text.render(_CONSOLE, end="")
            return [Segment(part.text, part.style or base) for part in rendered if part.text]
        if start > end:
            found.append(Segment(plain[end:start], base))
        if piece := plain[start:stop]:
            found.append(Segment(piece, base + style))
        end = stop
    if rest := plain[end:]:
        found.append(Segment(rest, base))
    return found


def wrap(text: Text, width: int) -> Iterator[tuple[list[Segment], str]]:
    """Break one paragraph at spaces; yield each row and what joins it to the last one."""
    plain = text.plain
    if cell_len(plain) <= width:
        yield segments(text), "\n"
        return
    position = 0
    for index, row in enumerate(text.wrap(_CONSOLE, max(1, width), tab_size=1)):
        found = plain.find(row.plain.rstrip(), position)
        at_space = plain[position:found].strip(" ") == "" and found > position
        join = "\n" if index == 0 else " " if at_space else ""
        position = max(position, found) + len(row.plain)
        yield segments(row), join


_URL = re.compile(r"https?://[!#-&*-;=?-~]*[#-&*-+\-/-9=@-Z_a-z~]")


FILE_PLACE = "file"
"""The key of the place that a link leads to in the data of its style."""


def places_of(strip: Strip) -> Iterator[tuple[int, int, FilePlace]]:
    """Yield the files that a row links to, each with its first column and the end."""
    column = 0
    for segment in strip:
        end = column + segment.cell_length
        if segment.style is not None and (place := segment.style.meta.get(FILE_PLACE)):
            yield column, end, place
        column = end


def add_links(text: Text, files: FileLinks) -> Text:
    """Make the files of the project and the web addresses in *text* links (OSC 8), which a terminal
    opens, also when they are broken over rows."""
    for link in files.find(text.plain):
        style = Style(link=link.address, meta={FILE_PLACE: link.place})
        text.stylize(style, link.start, link.end)
    if "://" in text.plain:
        for match in _URL.finditer(text.plain):
            text.stylize(Style(link=match.group()), *match.span())
    return text


def linked(shown: str, style: Style, files: FileLinks) -> list[Segment]:
    """Return the segments of *shown*, the subject of a row, with its links."""
    return segments(add_links(Text(shown, style=style), files))


class BreakMark(Segment):
    """The mark at the end of a row where a word is broken; it is not copied."""

    __slots__ = ()


_MARK_STYLE = Style(dim=True)
MIN_MARKED_WIDTH = 20
"""Cells from which a broken word is marked."""


def fold(text: Text, width: int) -> Iterator[tuple[list[Segment], str]]:
    """Break a line of code or output into rows of at most *width* cells, after a space if there is
    one in the last two thirds; a word that has to be broken is marked (``BreakMark``)."""
    plain = text.plain
    if cell_len(plain) <= width:
        yield segments(text), "\n"
        return
    breaks = list(_breaks(plain, max(1, width)))
    base = text.style if isinstance(text.style, Style) else Style.null()
    for index, row in enumerate(text.divide([offset for offset, _ in breaks])):
        marked = index < len(breaks) and breaks[index][1]
        mark = [BreakMark("↩", base + _MARK_STYLE)] if marked else []
        yield [*segments(row), *mark], "" if index else "\n"


def _breaks(plain: str, width: int) -> Iterator[tuple[int, bool]]:
    """Yield the offsets where *plain* is broken, and whether each is marked."""
    position = 0
    while True:
        window = plain[position : position + 2 * width]
        if position + len(window) >= len(plain) and cell_len(window) <= width:
            return
        row = chop_cells(window, width)[0]
        end = max(1, len(row))
        space = row.rfind(" ")
        if position + end >= len(plain):  # only characters without a width are left
            return
        edge = plain[position + end - 1 : position + end + 1]
        if edge[1] == " " or not edge.isascii():
            yield position + end, False  # a word ends here, or it is a script without spaces
        elif space >= len(row) // 3 and row[:space].strip():
            end = space + 1
            yield position + end, False
        elif width >= MIN_MARKED_WIDTH:
            end = max(1, len(chop_cells(window, width - 1)[0]))
            yield position + end, True
        else:
            yield position + end, False
        position += end


def cut(text: str, width: int) -> str:
    """Return *text* within *width* cells, with an ellipsis if it was cut."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 0 else ""
