"""Diffs as full-width rows: line numbers, a sign, and changed words on a stronger ground."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from rich.cells import cell_len
from rich.segment import Segment
from rich.text import Text

from agent.display import DiffBlock, DiffLine
from app.clean import clean_line
from app.widgets.transcript.lines import Line, Page, cut, fold, gutter, make_line

_WORD = re.compile(r"\w+|\s+|[^\w\s]")

WORDS_LIMIT = 500
"""Characters of a line beyond which changed words are not looked for (it takes quadratic time)."""

ALIKE = 0.4
"""How alike two lines must be (0 to 1) for their words to be compared."""

_GROUND = {"context": "ground", "add": "added", "remove": "removed"}
_TEXT = {"context": "muted", "add": "added_text", "remove": "removed_text"}
_SIGN = {"context": (" ", "faint"), "add": ("+", "ok"), "remove": ("−", "err")}

Span = tuple[int, int]


def diff_lines(
    block: DiffBlock, page: Page, indent: int, *, titled: bool = False
) -> Iterator[Line]:
    """All rows of *block*, unified, from column *indent* to the right margin; *titled*: below
    its path, where a call has several."""
    faint = page.tones.style("faint")
    highest = max(
        (line.new or line.old or 0 for hunk in block.hunks for line in hunk.lines), default=0
    )
    digits = max(4 if page.width >= 60 else 2, len(str(highest)))
    if titled:
        yield title_line(block, page, indent)
    elif block.change == "move" and block.moved_from:
        note = Segment(f"moved from {clean_line(block.moved_from)}", page.tones.style("muted"))
        yield make_line([note], prefix=gutter(page, indent))
    for index, hunk in enumerate(block.hunks):
        if index:
            yield make_line([Segment(f"{'⋮':>{digits}}", faint)], prefix=gutter(page, indent))
        for line, changed in with_words(hunk.lines):
            yield from _rows(line, changed, page, indent, digits)
    if block.omitted:
        note = Segment(f"{block.omitted} more lines are not shown", faint)
        yield make_line([note], prefix=gutter(page, indent))


def title_line(block: DiffBlock, page: Page, indent: int) -> Line:
    """The path of a diff with what happens to it and its counts."""
    words = {"modify": "", "create": "new file", "delete": "deleted", "move": "moved from "}
    what = words[block.change] + clean_line(block.moved_from or "")
    counts = f"+{block.added} −{block.removed}"
    note = f"  {what}  {counts}" if what else f"  {counts}"
    room = max(1, page.columns(indent) - cell_len(note))
    path = Segment(cut(clean_line(block.path), room), page.tones.style("text", attributes="bold"))
    return make_line(
        [path, Segment(cut(note, page.columns(indent)), page.tones.style("muted"))],
        prefix=gutter(page, indent),
    )


def _rows(
    line: DiffLine, changed: Sequence[Span], page: Page, indent: int, digits: int
) -> Iterator[Line]:
    tones, ground = page.tones, _GROUND[line.kind]
    text = Text(clean_line(line.text), style=tones.style(_TEXT[line.kind], ground))
    for start, end in changed:
        text.stylize(tones.style(_TEXT[line.kind], f"{ground}_word", "bold"), start, end)
    number = line.old if line.kind == "remove" else line.new
    sign, tone = _SIGN[line.kind]
    margin = "faint" if line.kind == "context" else "muted"
    fill = (page.right, tones.style("text", ground))
    for row, join in fold(text, page.columns(indent + digits + 3)):
        first = join == "\n"
        shown = f"{number if first and number is not None else '':>{digits}}"
        prefix = (
            *gutter(page, indent),
            Segment(f"{shown} ", tones.style(margin, ground)),
            Segment(f"{sign if first else ' '} ", tones.style(tone, ground)),
        )
        yield make_line(row, prefix=prefix, fill=fill, join=join)


def with_words(lines: Sequence[DiffLine]) -> Iterator[tuple[DiffLine, list[Span]]]:
    """Each line with the spans of its changed words: removed lines are compared with the
    added ones that follow them, pair by pair."""
    index = 0
    while index < len(lines):
        if lines[index].kind != "remove":
            yield lines[index], []
            index += 1
            continue
        removed = _run(lines, index, "remove")
        added = _run(lines, index + len(removed), "add")
        pairs = [changed_words(a.text, b.text) for a, b in zip(removed, added, strict=False)]
        for side, run in enumerate((removed, added)):
            for place, line in enumerate(run):
                yield line, pairs[place][side] if place < len(pairs) else []
        index += len(removed) + len(added)


def _run(lines: Sequence[DiffLine], start: int, kind: str) -> Sequence[DiffLine]:
    end = start
    while end < len(lines) and lines[end].kind == kind:
        end += 1
    return lines[start:end]


def changed_words(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """Spans of the words that differ, in the cleaned *old* and *new* line; none if the
    lines have little in common."""
    old, new = clean_line(old), clean_line(new)
    if max(len(old), len(new)) > WORDS_LIMIT:
        return [], []
    before, after = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < ALIKE:
        return [], []
    spans: tuple[list[Span], list[Span]] = ([], [])
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag != "equal":
            _add(spans[0], before, i1, i2)
            _add(spans[1], after, j1, j2)
    return spans


def _add(spans: list[Span], words: Sequence[str], start: int, end: int) -> None:
    """Add the characters of words *start* to *end*, joined to a span close before it."""
    if start == end:
        return
    left = sum(map(len, words[:start]))
    right = left + sum(map(len, words[start:end]))
    if spans and left - spans[-1][1] <= 1:
        left = spans.pop()[0]
    spans.append((left, right))
