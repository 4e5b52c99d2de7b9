"""Keys by which lines are compared: as they are but for their end, or blind to white space."""

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
"""Typographic characters that models put for plain ones (and the reverse)."""

_FOLD = str.maketrans(PLAIN)
_FOLD_SPACES = str.maketrans(SPACES | INVISIBLE)

MIN_COMPACT = 4
"""Characters that a block must have at least to be found blind to white space."""


def split_text(text: str) -> list[str]:
    """Lines of an LF *text* without endings; a final line break opens no further line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def fold(text: str) -> str:
    """*text* with typographic characters as plain ones."""
    return text if text.isascii() else text.translate(_FOLD)


def compact_key(line: str) -> str:
    """The key of *line* without any white space, typographic characters as plain ones."""
    key = "".join(fold(line).split())
    while "--" in key:  # a dash stands for one hyphen or two
        key = key.replace("--", "-")
    return key


def indentation(line: str) -> str:
    """The white space that *line* starts with, in tabs and plain spaces."""
    lead = line[: len(line) - len(line.lstrip())]
    return lead if lead.isascii() else lead.translate(_FOLD_SPACES)


def strip_line(line: str) -> str:
    """*line* without its indentation and without white space at its end."""
    return line.strip()


class LineKeys:
    """The keys of lines. Blank lines have none: ``filled`` numbers the others, in order."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self.filled = [number for number, line in enumerate(lines) if line and not line.isspace()]

    @cached_property
    def trimmed(self) -> list[str]:
        """Of each filled line: as it is, without white space at its end."""
        return [self.lines[number].rstrip() for number in self.filled]

    @cached_property
    def compact(self) -> list[str]:
        """Of each filled line: without any white space, characters folded."""
        return [compact_key(self.lines[number]) for number in self.filled]

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each blind key occurs."""
        return Counter(self.compact)

    @cached_property
    def positions(self) -> dict[str, list[int]]:
        """Each blind key's places, as indices into ``filled``."""
        places: dict[str, list[int]] = {}
        for index, key in enumerate(self.compact):
            places.setdefault(key, []).append(index)
        return places


def find_runs(keys: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where *wanted* stands in *keys* as one run; runs may overlap."""
    # The longest key is the rarest, as a rule: few places are compared whole.
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
"""Lines times lines up to which the best answer is computed; ``difflib`` beyond."""

_FILLED, _LENGTH, _BONUS = 20, 20, 6
"""Of two lines the longer one says more, and an equal one more yet."""


def match_lines(
    old: Sequence[str],
    new: Sequence[str],
    same: Callable[[int, int], bool] = lambda _old, _new: True,
) -> list[tuple[int, int]]:
    """Pairs of indices, rising in both, of lines with equal keys.

    Where there is a choice, pairs that are the *same* by a stricter measure go first. Blank
    lines (their key is empty) pair with neighbours of other pairs only, or in order where
    both sides have as many between two pairs: one alone is no sign of anything.
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
    """Pairs of blank lines in a gap between two pairs of filled ones."""
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
    """The same for lines that are all filled."""
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
    """From 0 (nothing in common) to 1 (the same)."""
    # Loaded only for an edit that does not fit as it is.
    from rapidfuzz import fuzz  # kept off the start-up path

    return fuzz.ratio(one, other) / 100


def is_typo(one: str, other: str) -> bool:
    """Whether *one* is *other* with one letter too many, missing, other or swapped with its
    neighbour, or with other capitals."""
    # Loaded only for an edit that does not fit as it is.
    from rapidfuzz.distance import OSA  # kept off the start-up path

    return one.casefold() == other.casefold() or OSA.distance(one, other, score_cutoff=1) <= 1
