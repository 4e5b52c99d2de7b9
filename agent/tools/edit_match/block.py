"""Blocks of a file that match ``old_string``, line by line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from agent.records.frozen import frozen
from agent.tools.edit_match.document import Document
from agent.tools.edit_match.lines import MIN_COMPACT, LineKeys, find_runs, indentation

MIN_CORE = 20
"""Characters, without whitespace, of the whole lines when the first or last line is cut."""

MIN_CUT = 6
"""Characters, without whitespace, of a line that is cut: a bracket alone proves nothing."""


class LineMatch(Enum):
    """The kind of a match of a line of ``old_string`` with a line of the file."""

    SAME = "same"  # except for whitespace and typographic characters
    SIMILAR = "alike"  # the same line, misremembered
    DIFFERENT = "other"  # at its position, but another line


@frozen
class LinePair:
    """A line of old_string and a line of the file (indices). None where one side has no
    counterpart: a line that old_string invents, or one that it does not show."""

    old: int | None
    line: int | None
    match: LineMatch = LineMatch.SAME


Block = tuple[LinePair, ...]
"""Pairs of lines, in the order of both sides."""


@frozen
class BlockMatches:
    """The blocks that match old_string."""

    blocks: tuple[Block, ...]
    ignored: str
    """The differences that the comparison ignored, "" for none."""


def find_blocks(document: Document, old: LineKeys, *, overlapping: bool) -> BlockMatches | None:
    """Return the blocks that equal *old* except for whitespace, by the strictest comparison that
    finds any. Blank lines are ignored on both sides."""
    found = find_whole_lines(document, old, overlapping=overlapping)
    if found is not None or not old.filled:
        return found
    starts, tie_of = _find_cut_runs(document.keys.compact, old.compact)
    measure = "whitespace and to the rest of its first or last line"
    return _block_matches(document, old, starts, measure, tie_of, overlapping=overlapping)


def find_whole_lines(
    document: Document, old: LineKeys, *, overlapping: bool = True
) -> BlockMatches | None:
    """Return the matching blocks of whole lines only."""
    if not old.filled:
        return None
    keys = document.keys
    starts = find_runs(keys.trimmed, old.trimmed)
    measure = "whitespace at line ends and blank lines"
    if not starts and sum(map(len, old.compact)) >= MIN_COMPACT:
        starts = find_runs(keys.compact, old.compact)
        measure = "whitespace"
    return _block_matches(document, old, starts, measure, {}, overlapping=overlapping)


def _block_matches(
    document: Document,
    old: LineKeys,
    starts: Sequence[int],
    measure: str,
    tie_of: Mapping[int, LineMatch],
    *,
    overlapping: bool,
) -> BlockMatches | None:
    if not starts:
        return None
    if not overlapping:
        starts = _without_overlaps(starts, len(old.filled))
    blocks = [
        build_block(
            document,
            old.lines,
            [
                LinePair(
                    number, document.keys.filled[start + index], tie_of.get(index, LineMatch.SAME)
                )
                for index, number in enumerate(old.filled)
            ],
        )
        for start in starts
    ]
    exact = all(_is_exact(document, block, old.lines) for block in blocks)
    return BlockMatches(tuple(blocks), "" if exact else measure)


def _is_exact(document: Document, block: Block, old: Sequence[str]) -> bool:
    """Return whether every line of *old* is in the file byte for byte."""
    return all(
        link.old is not None
        and link.line is not None
        and old[link.old] == document.lines[link.line]
        for link in block
    )


def _find_cut_runs(
    keys: Sequence[str], wanted: Sequence[str]
) -> tuple[list[int], dict[int, LineMatch]]:
    """Return where *wanted* is in *keys* if its first line is the end of a line, or its last line
    the beginning of one. Such a line is no whole line of the file: an edit can only keep it."""
    last = len(wanted) - 1
    for head, tail in ((True, False), (False, True), (True, True)):
        core = wanted[head : last + (not tail)]
        cut = [0] * head + [last] * tail
        if sum(map(len, core)) < MIN_CORE or any(len(wanted[n]) < MIN_CUT for n in cut):
            continue
        starts = [
            start - head
            for start in find_runs(keys, core)
            if (not head or (start > 0 and keys[start - 1].endswith(wanted[0])))
            and (not tail or "".join(keys[start + len(core) :][:1]).startswith(wanted[last]))
        ]
        if starts:
            return starts, dict.fromkeys(cut, LineMatch.DIFFERENT)
    return [], {}


def first_line(block: Block) -> int:
    """Return the first line of the file in *block*."""
    return min(link.line for link in block if link.line is not None)


def last_line(block: Block) -> int:
    """Return the last line of the file in *block*."""
    return max(link.line for link in block if link.line is not None)


def _without_overlaps(starts: Sequence[int], length: int) -> list[int]:
    kept: list[int] = []
    for start in starts:
        if not kept or start >= kept[-1] + length:
            kept.append(start)
    return kept


def build_block(document: Document, old: Sequence[str], filled: Sequence[LinePair]) -> Block:
    """Return the block of the pairs of *filled* lines, with its blank lines paired too.

    Blank lines around old_string are paired as far as the file has any there.
    """
    lead, first = _numbers_of(filled[0])
    blanks = _count_blank_lines(document, first - 1, -1, lead)
    links = [LinePair(n, None) for n in range(lead - blanks)]
    links += [LinePair(lead - n, first - n) for n in range(blanks, 0, -1)]
    a, b = lead, first
    odd = {link for link in filled if link.old is None or link.line is None}
    for link in filled:
        if link.old is None or link.line is None:
            continue
        links += _pair_gap(range(a, link.old), range(b, link.line), odd)
        links.append(link)
        a, b = link.old + 1, link.line + 1
    rest = len(old) - a
    blanks = _count_blank_lines(document, b, 1, rest)
    links += [LinePair(a + n, b + n) for n in range(blanks)]
    links += [LinePair(a + n, None) for n in range(blanks, rest)]
    return tuple(links)


def _numbers_of(link: LinePair) -> tuple[int, int]:
    if link.old is None or link.line is None:
        raise ValueError("a block starts and ends with a line of both sides")
    return link.old, link.line


def _count_blank_lines(document: Document, line: int, step: int, most: int) -> int:
    count = 0
    while (
        count < most
        and 0 <= line < len(document.lines)
        and (not document.lines[line] or document.lines[line].isspace())
    ):
        count += 1
        line += step
    return count


def _pair_gap(old: range, lines: range, odd: set[LinePair]) -> list[LinePair]:
    """Return the pairs between two paired lines: blank lines in order, *odd* pairs unchanged."""
    a, b = old.start, lines.start
    links: list[LinePair] = []
    while a < old.stop or b < lines.stop:
        link = LinePair(a if a < old.stop else None, b if b < lines.stop else None)
        for alone in (LinePair(link.old, None), LinePair(None, link.line)):
            if alone in odd:
                link = alone
                break
        links.append(link)
        a += link.old is not None
        b += link.line is not None
    return links


@dataclass(frozen=True)
class ThreeWay:
    """The file's block, ``old_string`` and ``new_string``, in lines. *block* pairs lines of *old*
    with lines of *document*."""

    document: Document
    block: Block
    old: Sequence[str]
    new: Sequence[str]

    @cached_property
    def line_of(self) -> dict[int, int]:
        """The number of the file's line, for each line of old that has one."""
        return {
            link.old: link.line
            for link in self.block
            if link.old is not None and link.line is not None
        }

    @cached_property
    def match_of(self) -> dict[int, LineMatch]:
        """The kind of match, for each line of old."""
        return {link.old: link.match for link in self.block if link.old is not None}

    @cached_property
    def first(self) -> int:
        """The first line of the file in the block."""
        return min(self.line_of.values())

    @cached_property
    def stop(self) -> int:
        """The line after the last one in the block."""
        return max(self.line_of.values()) + 1

    @cached_property
    def text_of(self) -> dict[int, str]:
        """The file's text, for each line of old that is paired."""
        return {old: self.document.lines[line] for old, line in self.line_of.items()}

    @cached_property
    def indents(self) -> list[tuple[int, str, str]]:
        """For each nonblank line that both have: its number in old, and both indentations."""
        return [
            (old, indentation(self.old[old]), indentation(text))
            for old, text in self.text_of.items()
            if self.match_of[old] is not LineMatch.DIFFERENT
            and self.old[old].strip()
            and text.strip()
        ]
