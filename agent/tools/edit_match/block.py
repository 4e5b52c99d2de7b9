"""A block of the file beside the ``old_string`` that means it, line by line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from agent.tools.edit_match.document import Document
from agent.tools.edit_match.lines import MIN_COMPACT, LineKeys, find_runs, indentation

MIN_CORE = 20
"""Characters, white space aside, of the whole lines where a first or last one is cut."""

MIN_CUT = 6
"""Characters, white space aside, of a line that is cut: a bracket alone says nothing."""


class LineMatch(Enum):
    """How a line of ``old_string`` and a line of the file belong together."""

    SAME = "same"  # but for white space and typographic characters
    SIMILAR = "alike"  # the same line, misremembered
    DIFFERENT = "other"  # in its place, but another line


@dataclass(frozen=True, slots=True)
class LinePair:
    """A line of old_string and a line of the file (indices); None where the other side has
    no counterpart: a line that old_string invents, or one that it does not show."""

    old: int | None
    line: int | None
    match: LineMatch = LineMatch.SAME


Block = tuple[LinePair, ...]
"""Links in the order of both sides."""


@dataclass(frozen=True, slots=True)
class BlockMatches:
    """Where old_string is: one block or several, and what the measure leaves out of account
    (empty: nothing)."""

    blocks: tuple[Block, ...]
    ignored: str


def find_blocks(document: Document, old: LineKeys, *, overlapping: bool) -> BlockMatches | None:
    """The blocks of the file that are *old* but for white space, by the strictest measure
    that has any. Blank lines don't count on either side."""
    found = find_whole_lines(document, old, overlapping=overlapping)
    if found is not None or not old.filled:
        return found
    starts, tie_of = _find_cut_runs(document.keys.compact, old.compact)
    measure = "white space and to the rest of its first or last line"
    return _block_matches(document, old, starts, measure, tie_of, overlapping=overlapping)


def find_whole_lines(
    document: Document, old: LineKeys, *, overlapping: bool = True
) -> BlockMatches | None:
    """The same for blocks of whole lines only."""
    if not old.filled:
        return None
    keys = document.keys
    starts = find_runs(keys.trimmed, old.trimmed)
    measure = "white space at line ends and blank lines"
    if not starts and sum(map(len, old.compact)) >= MIN_COMPACT:
        starts = find_runs(keys.compact, old.compact)
        measure = "white space"
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
    """Whether every line of *old* is the file's, byte for byte."""
    return all(
        link.old is not None
        and link.line is not None
        and old[link.old] == document.lines[link.line]
        for link in block
    )


def _find_cut_runs(
    keys: Sequence[str], wanted: Sequence[str]
) -> tuple[list[int], dict[int, LineMatch]]:
    """Where *wanted* is but for a first line that starts within one, or a last one that ends
    within one. Such a line is no line of the file: it may only be kept."""
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
    """The first line of the file in *block*."""
    return min(link.line for link in block if link.line is not None)


def last_line(block: Block) -> int:
    """The last line of the file in *block*."""
    return max(link.line for link in block if link.line is not None)


def _without_overlaps(starts: Sequence[int], length: int) -> list[int]:
    kept: list[int] = []
    for start in starts:
        if not kept or start >= kept[-1] + length:
            kept.append(start)
    return kept


def build_block(document: Document, old: Sequence[str], filled: Sequence[LinePair]) -> Block:
    """The block with its blank lines linked too, from the links of the *filled* lines.

    Blank lines around old_string are linked as far as the file has any there.
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
    """The links between two linked lines: blank ones are paired in order, *odd* ones stay."""
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
    """*block* links lines of *old* with lines of the *document*."""

    document: Document
    block: Block
    old: Sequence[str]
    new: Sequence[str]

    @cached_property
    def line_of(self) -> dict[int, int]:
        """The number of the file's line for each line of old that has one."""
        return {
            link.old: link.line
            for link in self.block
            if link.old is not None and link.line is not None
        }

    @cached_property
    def match_of(self) -> dict[int, LineMatch]:
        """How those belong together."""
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
        """The file's text for each line of old that is linked."""
        return {old: self.document.lines[line] for old, line in self.line_of.items()}

    @cached_property
    def indents(self) -> list[tuple[int, str, str]]:
        """Of each filled line that both have: its number in old, the indentation of both."""
        return [
            (old, indentation(self.old[old]), indentation(text))
            for old, text in self.text_of.items()
            if self.match_of[old] is not LineMatch.DIFFERENT
            and self.old[old].strip()
            and text.strip()
        ]
