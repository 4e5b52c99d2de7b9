"""What fits what was typed: first what holds all words, then what nearly does."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

ItemT = TypeVar("ItemT")

MIN_SIMILARITY = 75.0
"""The likeness, of 100, from which a mistyped word is taken to mean a row."""


def fuzzy_filter(
    typed: str, items: Sequence[ItemT], text_of: Callable[[ItemT], str]
) -> list[ItemT]:
    """Those of *items* that fit, in their own order where every word stands in them.

    Where none does: those that hold the letters of each word in their order (``snt45``), the
    tightest first; else those that are nearest to what was typed (``cluade``).
    """
    words = typed.lower().split()
    if not words:
        return list(items)
    texts = [text_of(item).lower() for item in items]
    whole = [
        item for item, text in zip(items, texts, strict=True) if all(word in text for word in words)
    ]
    return whole or _scattered(words, items, texts) or _near(typed.lower(), items, texts)


def _scattered(words: Sequence[str], items: Sequence[ItemT], texts: Sequence[str]) -> list[ItemT]:
    patterns = [re.compile("(?=(" + ".*?".join(map(re.escape, word)) + "))") for word in words]
    found: list[tuple[int, int]] = []
    for at, text in enumerate(texts):
        spans = [min((len(m[1]) for m in p.finditer(text)), default=0) for p in patterns]
        if all(spans):
            found.append((sum(spans), at))
    tight = 4 * sum(map(len, words))  # letters from all over a line fit everything
    return [items[at] for spread, at in sorted(found) if spread <= tight]


def _near(typed: str, items: Sequence[ItemT], texts: Sequence[str]) -> list[ItemT]:
    from rapidfuzz import fuzz, process  # kept off the start-up path

    scored = process.extract(
        typed, texts, scorer=fuzz.partial_ratio, limit=50, score_cutoff=MIN_SIMILARITY
    )
    return [items[at] for _, _, at in scored]
