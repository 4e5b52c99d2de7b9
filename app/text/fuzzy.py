"""Fuzzy filtering of list rows by what was typed."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

ItemT = TypeVar("ItemT")

MIN_SIMILARITY = 75.0
"""The similarity (0 to 100) from which a misspelled word matches a row."""


def fuzzy_filter(
    typed: str, items: Sequence[ItemT], text_of: Callable[[ItemT], str]
) -> list[ItemT]:
    """Return the items that match what was *typed*.

    If any items contain every word, those are returned in their own order. Otherwise the items that
    contain the letters of each word in order (``snt45``) are returned, the tightest match first;
    otherwise those most similar to what was typed (``cluade``).
    """
    words = typed.lower().split()
    if not words:
        return list(items)
    texts = [text_of(item).lower() for item in items]
    exact = [
        item for item, text in zip(items, texts, strict=True) if all(word in text for word in words)
    ]
    return exact or _scattered(words, items, texts) or _similar(typed.lower(), items, texts)


def _scattered(words: Sequence[str], items: Sequence[ItemT], texts: Sequence[str]) -> list[ItemT]:
    patterns = [re.compile("(?=(" + ".*?".join(map(re.escape, word)) + "))") for word in words]
    found: list[tuple[int, int]] = []
    for at, text in enumerate(texts):
        spans = [min((len(m[1]) for m in p.finditer(text)), default=0) for p in patterns]
        if all(spans):
            found.append((sum(spans), at))
    tight = 4 * sum(map(len, words))  # letters scattered over a whole line match everything
    return [items[at] for spread, at in sorted(found) if spread <= tight]


def _similar(typed: str, items: Sequence[ItemT], texts: Sequence[str]) -> list[ItemT]:
    from rapidfuzz import fuzz, process  # kept out of start-up

    scored = process.extract(
        typed, texts, scorer=fuzz.partial_ratio, limit=50, score_cutoff=MIN_SIMILARITY
    )
    return [items[at] for _, _, at in scored]
