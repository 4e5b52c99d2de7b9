"""The changed words of changed lines."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from agent.records.blocks import DiffLine
from app.text.sanitize import sanitize_line

_WORD = re.compile(r"\w+|\s+|[^\w\s]")

MAX_WORD_LINE = 500
"""Characters of a line beyond which changed words are not searched (the time is quadratic)."""

WORD_BUDGET = 40_000
"""Characters of one diff that are compared by words, about 0.1 s; later lines show no changed
words."""

MIN_SIMILARITY = 0.4
"""The similarity of two lines (0 to 1) from which their words are compared."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """A sanitized line of a diff with the spans of its changed words."""

    line: DiffLine
    text: str
    changed: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
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
        """Yield the lines of a hunk in runs: removed lines are compared in pairs with the added
        ones after them."""
        index = 0
        while index < len(lines):
            if lines[index].kind == "context":
                yield LineRun(context=MarkedLine(lines[index], sanitize_line(lines[index].text)))
                index += 1
                continue
            removed = _same(lines, index, "remove")
            added = _same(lines, index + len(removed), "add")
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


def _same(lines: Sequence[DiffLine], start: int, kind: str) -> Sequence[DiffLine]:
    end = start
    while end < len(lines) and lines[end].kind == kind:
        end += 1
    return lines[start:end]


def changed_words(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """Return the spans of the words that differ in two lines; none if the lines have little in
    common."""
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
