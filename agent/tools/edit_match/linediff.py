"""Which lines of one text are lines of another: the heaviest common subsequence."""

import difflib
from collections.abc import Callable, Sequence

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
    filled = _match_filled(
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


def _match_filled(
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
