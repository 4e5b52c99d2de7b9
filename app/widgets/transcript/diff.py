"""Diffs as full-width rows: line numbers, signs, highlighted code, and changed words on a stronger
background.

If the page is wide enough, old and new lines are shown side by side.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text
from textual.strip import Strip

from agent.records.blocks import DiffBlock, DiffLine, Hunk
from agent.records.frozen import frozen
from app.text.sanitize import sanitize_line
from app.theme.themes import Palette
from app.widgets.transcript.highlight import MAX_CHARACTERS, Piece, token_lines, token_style
from app.widgets.transcript.lines import BreakMark, Line, Page, cut, fold, gutter, linked, make_line

_WORD = re.compile(r"\w+|\s+|[^\w\s]")

MAX_WORD_LINE = 500
"""Characters of a line beyond which changed words are not searched (the time is quadratic)."""

WORD_BUDGET = 40_000
"""Characters of one diff that are compared by words, about 0.1 s; later lines show no changed
words."""

MIN_SIMILARITY = 0.4
"""The similarity of two lines (0 to 1) from which their words are compared."""

Span = tuple[int, int]


@frozen
class MarkedLine:
    """A sanitized line of a diff with the spans of its changed words."""

    line: DiffLine
    text: str
    changed: tuple[Span, ...] = ()


@frozen
class LineRun:
    """Lines that belong side by side: one unchanged line on both sides, or lines that were
    *removed* and those *added* in their place."""

    context: MarkedLine | None = None
    removed: tuple[MarkedLine, ...] = ()
    added: tuple[MarkedLine, ...] = ()


class WordDiffer:
    """Finds the changed words of one diff within ``WORD_BUDGET``."""

    def __init__(self) -> None:
        self._left = WORD_BUDGET

    def runs(self, lines: Sequence[DiffLine]) -> Iterator[LineRun]:
        """Yield the lines of a hunk in runs, removed lines paired with the added ones."""
        index = 0
        while index < len(lines):
            if lines[index].kind == "context":
                yield LineRun(context=MarkedLine(lines[index], sanitize_line(lines[index].text)))
                index += 1
                continue
            removed = _run_of_kind(lines, index, "remove")
            added = _run_of_kind(lines, index + len(removed), "add")
            index += len(removed) + len(added)
            yield self._run(removed, added)

    def _run(self, removed: Sequence[DiffLine], added: Sequence[DiffLine]) -> LineRun:
        before = [sanitize_line(line.text) for line in removed]
        after = [sanitize_line(line.text) for line in added]
        pairs = [self._compare(*pair) for pair in zip(before, after, strict=False)]
        marks: tuple[list[MarkedLine], list[MarkedLine]] = ([], [])
        for side, (run, texts) in enumerate(((removed, before), (added, after))):
            for place, line in enumerate(run):
                spans = tuple(pairs[place][side]) if place < len(pairs) else ()
                marks[side].append(MarkedLine(line, texts[place], spans))
        return LineRun(removed=tuple(marks[0]), added=tuple(marks[1]))

    def _compare(self, old: str, new: str) -> tuple[list[Span], list[Span]]:
        self._left -= len(old) + len(new)
        return changed_words(old, new) if self._left >= 0 else ([], [])


def _run_of_kind(lines: Sequence[DiffLine], start: int, kind: str) -> Sequence[DiffLine]:
    end = start
    while end < len(lines) and lines[end].kind == kind:
        end += 1
    return lines[start:end]


def changed_words(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """Return the spans of the words that differ in two lines with much in common."""
    if max(len(old), len(new)) > MAX_WORD_LINE:
        return [], []
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < MIN_SIMILARITY:
        return [], []
    spans: tuple[list[Span], list[Span]] = ([], [])
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            _add_span(spans[0], before, i1, i2)
            _add_span(spans[1], after, j1, j2)
    return spans


def _add_span(spans: list[Span], words: Sequence[str], start: int, end: int) -> None:
    """Add the characters of words *start* to *end*, joined to a span directly before it."""
    if start == end:
        return
    left = sum(map(len, words[:start]))
    right = left + sum(map(len, words[start:end]))
    if spans and left - spans[-1][1] <= 1:
        left = spans.pop()[0]
    spans.append((left, right))


_PLAIN = {"context": "muted", "add": "added_text", "remove": "removed_text"}


class DiffCode:
    """Highlights up to ``MAX_CHARACTERS`` of one diff, each line when it is drawn."""

    def __init__(self, path: str, palette: Palette) -> None:
        self._path = path
        self._tones = palette
        self._left = MAX_CHARACTERS

    def hunk(self, hunk: Hunk) -> "HunkCode":
        # The text before a hunk is unknown: a string that began there is lexed as code.
        old = [line for line in hunk.lines if line.kind != "add"]
        new = [line for line in hunk.lines if line.kind != "remove"]
        return HunkCode(self._tokens(old), self._tokens(new), self._tones)

    def _tokens(self, lines: Sequence[DiffLine]) -> Iterator[list[Piece]]:
        taken: list[str] = []
        for line in lines:
            if len(line.text) > self._left:
                break
            taken.append(sanitize_line(line.text))
            self._left -= len(line.text) + 1
        found = token_lines("\n".join(taken), path=self._path) if taken else None
        return found if found is not None else iter(())


class HunkCode:
    """The highlighted lines of the two sides of a hunk, to be requested in order."""

    def __init__(
        self, old: Iterator[list[Piece]], new: Iterator[list[Piece]], palette: Palette
    ) -> None:
        self._old = old
        self._new = new
        self._tones = palette

    def old(self, marked: MarkedLine) -> Text:
        return self._text(marked, next(self._old, None))

    def new(self, marked: MarkedLine) -> Text:
        return self._text(marked, next(self._new, None))

    def both(self, marked: MarkedLine) -> Text:
        """Return a line that both sides have."""
        next(self._old, None)
        return self.new(marked)

    def _text(self, marked: MarkedLine, pieces: list[Piece] | None) -> Text:
        palette, kind = self._tones, marked.line.kind
        ground = _GROUND[kind]
        # In a theme without diff backgrounds the text color shows what was added.
        background_differs = kind == "context" or getattr(palette, ground) != palette.ground
        if (
            not background_differs
            or not pieces
            or "".join(text for _, text in pieces) != marked.text
        ):
            pieces = [("", marked.text)]
        text = Text(style=palette.style(_PLAIN[kind], ground))
        for token, piece in pieces:
            start, end = len(text), len(text) + len(piece)
            text.append(piece, token_style(token, palette, ground) if token else None)
            for first, last in marked.changed:
                left, right = max(first, start), min(last, end)
                if left < right:
                    word = f"{ground}_word"
                    style = token_style(token, palette, word) if token else None
                    style = style or palette.style(_PLAIN[kind], word)
                    text.stylize(style, left, right)
                    text.stylize("bold", left, right)
        return text


MIN_SPLIT_WIDTH = 112
"""Cells from which a diff is shown side by side: a terminal of about 120."""

MIN_TWO_NUMBERS = 60
"""Cells from which a unified diff has two columns of line numbers."""

SIDE_GAP = 1
"""Cells between the sides."""

_GROUND = {"context": "ground", "add": "added", "remove": "removed"}
_SIGN = {"context": (" ", "faint"), "add": ("+", "ok"), "remove": ("−", "err")}

_Code = tuple[MarkedLine, Text]


@frozen
class DiffRow:
    """A row of a diff. *done* counts the lines of the diff that are complete after it; *shown* is
    its line, the new one where both sides are shown, or None for a row between them."""

    done: int
    line: Line
    shown: DiffLine | None = None


def diff_lines(
    block: DiffBlock, page: Page, indent: int, *, titled: bool = False
) -> Iterator[Line]:
    """Return all rows of *block* from column *indent* to the right margin, with *titled* below its
    path, for a call with several diffs."""
    return (row.line for row in diff_rows(block, page, indent, titled=titled))


def diff_head(
    block: DiffBlock, page: Page, indent: int, limit: int, *, titled: bool = False
) -> tuple[list[Line], int]:
    """Return the first *limit* rows (one more if that is all) and the number of lines of the diff
    after them. Hidden rows are not drawn."""
    lines: list[Line] = []
    done = 0
    for row in diff_rows(block, page, indent, titled=titled):
        if len(lines) > limit:
            total = sum(len(hunk.lines) for hunk in block.hunks)
            return lines[:limit], max(1, total - done)
        done = row.done if len(lines) < limit else done
        lines.append(row.line)
    return lines, 0


def diff_rows(
    block: DiffBlock, page: Page, indent: int, *, titled: bool = False
) -> Iterator[DiffRow]:
    """Yield the rows of *block*, each drawn when it is requested."""
    faint = page.palette.style("faint")
    if titled:
        yield DiffRow(0, title_line(block, page, indent))
    elif block.change == "move" and block.moved_from:
        note = Segment(f"moved from {sanitize_line(block.moved_from)}", page.palette.style("muted"))
        yield DiffRow(0, make_line([note], prefix=gutter(page, indent)))
    split = split_fits(block, page, indent)
    drawing: _DiffDrawing = (_SplitDrawing if split else _UnifiedDrawing)(block, page, indent)
    for index, hunk in enumerate(block.hunks):
        if index:
            dots = Segment(f"{'⋮':>{drawing.digits}}", faint)
            yield DiffRow(drawing.done, make_line([dots], prefix=gutter(page, indent)))
        yield from drawing.rows(hunk)
    if block.omitted:
        note = Segment(f"{block.omitted} more lines are not shown", faint)
        yield DiffRow(drawing.done, make_line([note], prefix=gutter(page, indent)))


def split_fits(block: DiffBlock, page: Page, indent: int) -> bool:
    """Return whether *block* is drawn side by side: two sides, and a wide page."""
    if page.diffs == "unified" or not block.added or not block.removed:
        return False
    least = MIN_SPLIT_WIDTH if page.diffs == "auto" else MIN_SPLIT_WIDTH // 2
    return page.columns(indent) >= least


def title_line(block: DiffBlock, page: Page, indent: int) -> Line:
    """Return the path of a diff, its kind of change, and its counts."""
    words = {"modify": "", "create": "new file", "delete": "deleted", "move": "moved from "}
    what = words[block.change] + sanitize_line(block.moved_from or "")
    counts = f"+{block.added} −{block.removed}"
    note = f"  {what}  {counts}" if what else f"  {counts}"
    room = max(1, page.columns(indent) - cell_len(note))
    style = page.palette.style("text", attributes="bold")
    path = linked(cut(sanitize_line(block.path), room), style, page.files)
    return make_line(
        [*path, Segment(cut(note, page.columns(indent)), page.palette.style("muted"))],
        prefix=gutter(page, indent),
    )


class _DiffDrawing(ABC):
    """The base of both ways to draw a diff. *done* counts the drawn lines."""

    def __init__(self, block: DiffBlock, page: Page, indent: int) -> None:
        self.page, self.indent = page, indent
        self.done: int = 0
        highest = max(
            (max(line.new or 0, line.old or 0) for hunk in block.hunks for line in hunk.lines),
            default=0,
        )
        self.digits = max(4 if page.width >= 60 else 2, len(str(highest)))
        self.code = DiffCode(block.path, page.palette)
        self.marks = WordDiffer()

    @abstractmethod
    def rows(self, hunk: Hunk) -> Iterator[DiffRow]:
        """Yield the rows of one hunk; hunks are passed in order."""

    def margin(
        self, marked: MarkedLine | None, number: int | None, *, first: bool
    ) -> list[Segment]:
        """Return the line number and the sign before a row; empty where a line continues."""
        palette = self.page.palette
        if marked is None:
            return [Segment(" " * (self.digits + 3), palette.style("faint", "panel"))]
        kind = marked.line.kind
        ground = _GROUND[kind]
        sign, tone = _SIGN[kind]
        shown = f"{number if first and number is not None else '':>{self.digits}}"
        muted = "faint" if kind == "context" else "muted"
        return [
            Segment(f"{shown} ", palette.style(muted, ground)),
            Segment(f"{sign if first else ' '} ", palette.style(tone, ground)),
        ]


class _UnifiedDrawing(_DiffDrawing):
    """Draws removed lines, then added ones, below each other, with the old and the new number of
    each line if both sides exist and there is room."""

    def __init__(self, block: DiffBlock, page: Page, indent: int) -> None:
        super().__init__(block, page, indent)
        lines = [line for hunk in block.hunks for line in hunk.lines]
        sides = any(line.old for line in lines) and any(line.new for line in lines)
        self._two = sides and page.width >= MIN_TWO_NUMBERS

    def rows(self, hunk: Hunk) -> Iterator[DiffRow]:
        code = self.code.hunk(hunk)
        for run in self.marks.runs(hunk.lines):
            if run.context is not None:
                yield from self._line(run.context, code.both(run.context))
            for marked in run.removed:
                yield from self._line(marked, code.old(marked))
            for marked in run.added:
                yield from self._line(marked, code.new(marked))

    def _line(self, marked: MarkedLine, text: Text) -> Iterator[DiffRow]:
        page, line = self.page, marked.line
        ground = page.palette.style("text", _GROUND[line.kind])
        number = line.old if line.kind == "remove" else line.new
        self.done += 1
        more = self.digits + 1 if self._two else 0
        for row, join in fold(text, page.columns(self.indent + self.digits + 3 + more)):
            first = join == "\n"
            margin = self.margin(marked, line.new if self._two else number, first=first)
            if self._two:
                old = f"{line.old if first and line.old is not None else '':>{self.digits}} "
                tone = "faint" if line.kind == "context" else "muted"
                margin.insert(0, Segment(old, page.palette.style(tone, _GROUND[line.kind])))
            prefix = (*gutter(page, self.indent), *margin)
            drawn = make_line(row, prefix=prefix, fill=(page.right, ground), join=join)
            yield DiffRow(self.done, drawn, line)


class _SplitDrawing(_DiffDrawing):
    """Draws the old side at the left and the new one at the right. A copied row contains the new
    side, or the old one if there is no new line."""

    def __init__(self, block: DiffBlock, page: Page, indent: int) -> None:
        super().__init__(block, page, indent)
        room = page.columns(indent) - SIDE_GAP
        margin = self.digits + 3
        self._texts = (max(1, room // 2 - margin), max(1, room - room // 2 - margin))

    def rows(self, hunk: Hunk) -> Iterator[DiffRow]:
        code = self.code.hunk(hunk)
        for run in self.marks.runs(hunk.lines):
            if run.context is not None:
                text = code.both(run.context)
                yield from self._pair((run.context, text), (run.context, text), done=1)
            for removed, added in zip_longest(run.removed, run.added):
                left = (removed, code.old(removed)) if removed is not None else None
                right = (added, code.new(added)) if added is not None else None
                yield from self._pair(left, right, done=(removed is not None) + (added is not None))

    def _pair(self, left: _Code | None, right: _Code | None, *, done: int) -> Iterator[DiffRow]:
        self.done += done
        widths = zip((left, right), self._texts, strict=True)
        rows = [list(fold(side[1], width)) if side else [] for side, width in widths]
        shown = next(side[0].line for side in (right, left) if side is not None)
        for place, (old, new) in enumerate(zip_longest(*rows)):
            first = place == 0
            before = self._half(left, old, 0, first=first)
            after = self._half(right, new, 1, first=first)
            copied = new if right is not None else old
            join = copied[1] if copied is not None else ""
            drawn = self._row(before, after, copies_new=right is not None, join=join)
            yield DiffRow(self.done, drawn, shown)

    def _row(self, before: "_Half", after: "_Half", *, copies_new: bool, join: str) -> Line:
        edge = gutter(self.page, self.indent)
        gap = Segment(" " * SIDE_GAP, self.page.palette.style())
        left = [*edge, *before.margin]
        middle = [*before.text, before.fill, gap, *after.margin]
        skip = _characters([*left, *middle] if copies_new else left)
        copied = after.text if copies_new else before.text
        stop = skip + _characters([one for one in copied if not isinstance(one, BreakMark)])
        strip = Strip([*left, *middle, *after.text, after.fill])
        return Line(strip, skip, stop, join)

    def _half(
        self,
        side: _Code | None,
        row: tuple[list[Segment], str] | None,
        place: int,
        *,
        first: bool,
    ) -> "_Half":
        marked = side[0] if side is not None else None
        number = (marked.line.new if place else marked.line.old) if marked is not None else None
        ground = _GROUND[marked.line.kind] if marked is not None else "panel"
        text = row[0] if row is not None else []
        room = self._texts[place] - sum(segment.cell_length for segment in text)
        fill = Segment(" " * room, self.page.palette.style("text", ground))
        return _Half(self.margin(marked, number, first=first), text, fill)


@frozen
class _Half:
    """One side of a row."""

    margin: list[Segment]
    text: list[Segment]
    fill: Segment


def _characters(segments: Sequence[Segment]) -> int:
    return sum(len(segment.text) for segment in segments)
