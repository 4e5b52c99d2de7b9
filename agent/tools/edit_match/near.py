"""The loosest tier: all lines of ``old_string`` are in the file except one.

Two similar functions are 95 % alike, and so is a block with a typo: the similarity of whole
blocks cannot distinguish them. So lines are counted. One line can differ, be missing, be extra
or be swapped with its neighbor; enough of the others must be rare in the file; and no other
place can be nearly as similar. When in doubt, nothing is found.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from agent.records.frozen import frozen
from agent.tools.edit_match.block import Block, LineMatch, LinePair, build_block
from agent.tools.edit_match.document import Document
from agent.tools.edit_match.lines import LineKeys, is_typo, similarity, split_text

MIN_LINES = 4
"""Lines that old_string must have. Fewer prove too little; a higher limit finds fewer places and
avoids no error (measured on 2,767 edits, like the other numbers here)."""

MIN_RARE = 3
"""Equal lines that must occur just once in the file. Any other place lacks them, so it differs in
at least three lines."""

MIN_RARE_LENGTH = 8
"""Characters of such a line, without whitespace."""

MIN_RARE_DIFFERENT = 4
"""The same if the odd line is a different one, or lines are swapped."""

MAX_SIMILARITY = 0.8
"""The highest similarity of a different line; a more similar line that is no typo is refused,
because that is how similar functions differ."""


@frozen
class _Window:
    """A candidate place: nonblank lines *start* to *stop* of the file, and *pairs* of nonblank
    lines of old and the file, None where one side has no counterpart."""

    start: int
    stop: int
    pairs: tuple[tuple[int | None, int | None], ...]
    odd: int | None


def find_near(document: Document, old_text: str) -> Block | None:
    """Return the one block that equals *old_text* (in LF) except for one line, None without an
    unmistakable one."""
    old = LineKeys(split_text(old_text))
    if len(old.filled) < MIN_LINES:
        return None
    found = {
        (window.start, window.stop): links
        for start in _candidate_starts(document.keys, old)
        for window in _one_line_off(old.compact, document.keys.compact, start)
        if (links := _pair_lines(window, old, document.keys)) is not None
        and _is_unmistakable(window, links, old, document.keys)
    }
    if len(found) != 1:
        return None
    (links,) = found.values()
    return build_block(document, old.lines, links)


def _pair_lines(window: _Window, old: LineKeys, file: LineKeys) -> list[LinePair] | None:
    """Return the window's pairs of lines. None if its first or last line differs from old's, or a
    line is similar to the file's but no typo: that is how similar functions differ."""
    links: list[LinePair] = []
    for i, k in window.pairs:
        if i is None or k is None or old.compact[i] == file.compact[k]:
            tie = LineMatch.SAME
        elif is_typo(old.compact[i], file.compact[k]):
            tie = LineMatch.SIMILAR
        elif similarity(old.compact[i], file.compact[k]) < MAX_SIMILARITY:
            tie = LineMatch.DIFFERENT
        else:
            return None
        links.append(
            LinePair(
                None if i is None else old.filled[i],
                None if k is None else file.filled[k],
                tie,
            )
        )
    for edge in (links[0], links[-1]):
        if edge.old is None or edge.line is None or edge.match is LineMatch.DIFFERENT:
            return None
    return links


def _candidate_starts(file: LineKeys, old: LineKeys) -> list[int]:
    """Return where a block could start, by the lines that are equal and not too frequent."""
    starts: Counter[int] = Counter()
    for i, key in enumerate(old.compact):
        places = file.positions.get(key, ())
        if len(places) <= 50:
            for place in places:
                starts[place - i] += 1
    return sorted({start + off for start in starts for off in (-1, 0, 1)})


def _one_line_off(old: list[str], file: list[str], start: int) -> Iterator[_Window]:
    """Yield the ways in which *old* matches at *start* with exactly one difference."""
    size = len(old)
    if start < 0:
        return
    same = 0
    while same < size and start + same < len(file) and old[same] == file[start + same]:
        same += 1
    if same == size:
        return
    head = tuple((n, start + n) for n in range(same))
    rest = old[same + 1 :]
    at = start + same

    def tail(first: int, place: int) -> tuple[tuple[int, int], ...]:
        return tuple((n, place + n - first) for n in range(first, size))

    if at < len(file) and file[at + 1 : at + 1 + len(rest)] == rest:  # a different line
        yield _Window(start, start + size, (*head, (same, at), *tail(same + 1, at + 1)), same)
    if file[at : at + len(rest)] == rest and rest:  # a line that the file lacks
        yield _Window(start, start + size - 1, (*head, (same, None), *tail(same + 1, at)), same)
    if file[at + 1 : at + 1 + size - same] == old[same:] and same:  # a line that old lacks
        yield _Window(start, start + size + 1, (*head, (None, at), *tail(same, at + 1)), None)
    if rest and file[at : at + len(rest) + 1] == [rest[0], old[same], *rest[1:]]:  # swapped
        yield _Window(
            start,
            start + size,
            (*head, (same, at), (same + 1, at + 1), *tail(same + 2, at + 2)),
            None,
        )


def _is_unmistakable(
    window: _Window, links: Sequence[LinePair], old: LineKeys, file: LineKeys
) -> bool:
    """Return whether enough rare lines are equal, and the odd line belongs to no other place."""
    rare = sum(
        i is not None
        and k is not None
        and old.compact[i] == file.compact[k]
        and len(old.compact[i]) >= MIN_RARE_LENGTH
        and file.counts[old.compact[i]] == 1
        for i, k in window.pairs
    )
    if rare < (
        MIN_RARE_DIFFERENT if any(link.match is LineMatch.DIFFERENT for link in links) else MIN_RARE
    ):
        return False
    if window.odd is None:
        return True
    places = file.positions.get(old.compact[window.odd], [])
    return all(window.start <= place < window.stop for place in places)
