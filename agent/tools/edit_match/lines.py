"""Compare lines: keys that ignore whitespace, pairs of equal lines, similarity."""

import difflib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property

QUOTES = dict.fromkeys("‘’‚‛′", "'") | dict.fromkeys("“”„‟″", '"')
DASHES = dict.fromkeys("‐‑‒–—―−", "-")
SPACES = dict.fromkeys(
    "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
    " ",
)
INVISIBLE = dict.fromkeys("\u200b\u2060\ufeff", "")

PLAIN: dict[str, str] = QUOTES | DASHES | SPACES | INVISIBLE | {"…": "..."}
"""Typographic characters → the plain ones that models write for them, or the reverse."""

_FOLD = str.maketrans(PLAIN)
_FOLD_SPACES = str.maketrans(SPACES | INVISIBLE)

MIN_COMPACT = 4
"""Characters that a block must have to be found without regard to whitespace."""


def split_text(text: str) -> list[str]:
    """Return the lines of an LF *text* without endings; a final line break adds no empty line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def fold(text: str) -> str:
    """Return *text* with typographic characters as plain ones."""
    return text if text.isascii() else text.translate(_FOLD)


def compact_key(line: str) -> str:
    """Return the key of *line*: without whitespace, typographic characters as plain ones."""
    key = "".join(fold(line).split())
    while "--" in key:  # a dash can be written as one hyphen or two
        key = key.replace("--", "-")
    return key


def indentation(line: str) -> str:
    """Return the whitespace that *line* starts with, in tabs and plain spaces."""
    lead = line[: len(line) - len(line.lstrip())]
    return lead if lead.isascii() else lead.translate(_FOLD_SPACES)


def strip_line(line: str) -> str:
    """Return *line* without indentation and trailing whitespace."""
    return line.strip()


class LineKeys:
    """The keys of lines. Blank lines have none: ``filled`` are the numbers of the others."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.filled = [number for number, line in enumerate(lines) if line and not line.isspace()]

    @cached_property
    def trimmed(self) -> list[str]:
        """Each nonblank line without trailing whitespace."""
        return [self.lines[number].rstrip() for number in self.filled]

    @cached_property
    def compact(self) -> list[str]:
        """The compact key of each nonblank line."""
        return [compact_key(self.lines[number]) for number in self.filled]

    @cached_property
    def counts(self) -> Counter[str]:
        """The number of occurrences of each compact key."""
        return Counter(self.compact)

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        """The positions of each compact key, as indices into ``filled``."""
        places: dict[str, list[int]] = {}
        for index, key in enumerate(self.compact):
            places.setdefault(key, []).append(index)
        return places


def find_runs(keys: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Return where *wanted* occurs in *keys* as one run; runs can overlap."""
    # The longest key is usually the rarest: few runs are compared as a whole.
    pivot = max(range(len(wanted)), key=lambda n: len(wanted[n]))
    goal = list(wanted)
    found: list[int] = []
    position = pivot - 1
    while True:
        try:
            position = keys.index(goal[pivot], position + 1)
        except ValueError:
            return found
        start = position - pivot
        if keys[start : start + len(goal)] == goal:
            found.append(start)


MAX_CELLS = 250_000
"""Old lines times new lines up to which the best pairs are computed; ``difflib`` beyond."""

_FILLED, _LENGTH, _BONUS = 20, 20, 6
"""Weights of a pair: per line, at most per length, and for lines that are equal exactly."""


def match_lines(
    old: Sequence[str],
    new: Sequence[str],
    same: Callable[[int, int], bool] = lambda _old, _new: True,
) -> list[tuple[int, int]]:
    """Return pairs of indices, rising in both, of lines with equal keys: the heaviest common
    subsequence.

    Pairs that are the *same* by a stricter comparison are preferred. Blank lines (their key is
    empty) only pair next to other pairs, or in order if both sides have the same number of
    them between two pairs.
    """
    rows = [i for i, key in enumerate(old) if key]
    columns = [j for j, key in enumerate(new) if key]
    filled = _match_nonblank(
        [old[i] for i in rows], [new[j] for j in columns], lambda i, j: same(rows[i], columns[j])
    )
    pairs: list[tuple[int, int]] = []
    i = j = 0
    for a, b in [*((rows[i], columns[j]) for i, j in filled), (len(old), len(new))]:
        pairs += _match_blanks(old, range(i, a), new, range(j, b))
        if a < len(old):
            pairs.append((a, b))
        i, j = a + 1, b + 1
    return pairs


def _match_blanks(
    old: Sequence[str], rows: range, new: Sequence[str], columns: range
) -> list[tuple[int, int]]:
    """Return the pairs of blank lines between two pairs of nonblank ones."""
    head: list[tuple[int, int]] = []
    while rows and columns and not old[rows[0]] and not new[columns[0]]:
        head.append((rows[0], columns[0]))
        rows, columns = rows[1:], columns[1:]
    tail: list[tuple[int, int]] = []
    while rows and columns and not old[rows[-1]] and not new[columns[-1]]:
        tail.append((rows[-1], columns[-1]))
        rows, columns = rows[:-1], columns[:-1]
    before = [i for i in rows if not old[i]]
    after = [j for j in columns if not new[j]]
    inner = list(zip(before, after, strict=True)) if len(before) == len(after) else []
    return [*head, *inner, *tail[::-1]]


def _match_nonblank(
    old: Sequence[str], new: Sequence[str], same: Callable[[int, int], bool]
) -> list[tuple[int, int]]:
    """Return the pairs of lines that are all nonblank."""
    if len(old) * len(new) > MAX_CELLS:
        return _by_difflib(old, new)
    rows = len(new) + 1
    best = [[0] * rows for _ in range(len(old) + 1)]
    weights = [_weight(key) for key in old]
    for i in range(len(old) - 1, -1, -1):
        here, below, key, weight = best[i], best[i + 1], old[i], weights[i]
        for j in range(len(new) - 1, -1, -1):
            score = max(below[j], here[j + 1])
            if key == new[j]:
                score = max(score, below[j + 1] + weight + (_BONUS if same(i, j) else 0))
            here[j] = score
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        worth = weights[i] + (_BONUS if old[i] == new[j] and same(i, j) else 0)
        if old[i] == new[j] and best[i][j] == best[i + 1][j + 1] + worth:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _weight(key: str) -> int:
    return _FILLED + min(len(key), _LENGTH)


def _by_difflib(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [
        (block.a + n, block.b + n)
        for block in matcher.get_matching_blocks()
        for n in range(block.size)
    ]


def similarity(one: str, other: str) -> float:
    """Return the similarity from 0 (nothing in common) to 1 (the same)."""
    # Loaded only for an edit that does not fit as it is.
    from rapidfuzz import fuzz  # kept off the start-up path

    return fuzz.ratio(one, other) / 100


def is_typo(one: str, other: str) -> bool:
    """Return whether the lines differ in one character that is added, missing, replaced or swapped
    with its neighbor, or in capitals only."""
    # Loaded only for an edit that does not fit as it is.
    from rapidfuzz.distance import OSA  # kept off the start-up path

    return one.casefold() == other.casefold() or OSA.distance(one, other, score_cutoff=1) <= 1
