"""The loosest tier: all of ``old_string`` is there but one line (spec 3, E2).

Two natural twins are 95 % alike, as is a block with a slip in it: likeness of the whole can't
tell them apart. So lines are counted. One line may differ, be missing, be too many or be
swapped with its neighbour; enough of the others must be rare in the file; and no other place
may come near. When in doubt there is no answer.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.tools.edit_match.block import Block, LineMatch, LinePair, build_block
from agent.tools.edit_match.document import Document
from agent.tools.edit_match.lines import LineKeys, is_typo, similarity, split_text

MIN_LINES = 4
"""Lines that old_string must have. Fewer say too little; more cost answers and bring none
(measured on 2,767 edits, like the other numbers here)."""

MIN_RARE = 3
"""Lines among the equal ones that must stand just once in the file. Any other place lacks
them, so that it differs in three lines at least: no rival is nearer than two lines."""

MIN_RARE_LENGTH = 8
"""Characters of such a line, white space aside."""

MIN_RARE_DIFFERENT = 4
"""The same where the odd line is another one altogether, or lines are swapped."""

MAX_SIMILARITY = 0.8
"""How much a line may be like the file's where it is more than a slip away."""


@dataclass(frozen=True, slots=True)
class _Window:
    """Lines *start* to *stop* of the file's filled lines, with *pairs* of filled lines of old
    and the file; None where the other side has none."""

    start: int
    stop: int
    pairs: tuple[tuple[int | None, int | None], ...]
    odd: int | None


def find_near(document: Document, old_text: str) -> Block | None:
    """The one block that is *old_text* (in LF) but for one line, None if there is none that
    is beyond doubt."""
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
    """The window's lines in links. None if its first or last one is another line than old's,
    or one is much like the file's but more than a slip away: that is how twins differ."""
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
    """Where a block could start, by the lines that are equal; only lines that are not
    everywhere have a vote."""
    starts: Counter[int] = Counter()
    for i, key in enumerate(old.compact):
        places = file.positions.get(key, ())
        if len(places) <= 50:
            for place in places:
                starts[place - i] += 1
    return sorted({start + off for start in starts for off in (-1, 0, 1)})


def _one_line_off(old: list[str], file: list[str], start: int) -> Iterator[_Window]:
    """The ways in which *old* stands at *start* with exactly one difference."""
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

    if at < len(file) and file[at + 1 : at + 1 + len(rest)] == rest:  # another line in its place
        yield _Window(start, start + size, (*head, (same, at), *tail(same + 1, at + 1)), same)
    if file[at : at + len(rest)] == rest and rest:  # a line that the file has not
        yield _Window(start, start + size - 1, (*head, (same, None), *tail(same + 1, at)), same)
    if file[at + 1 : at + 1 + size - same] == old[same:] and same:  # one that old does not show
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
    """Whether enough rare lines are equal, and the odd line is no other place's."""
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
