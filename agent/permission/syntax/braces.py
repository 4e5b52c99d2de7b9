"""Brace expansion, as bash does it before it expands anything else in a word."""

import re

from agent.records.patterns import lazy_pattern

OPEN, COMMA, CLOSE, DOTS = "\ue000", "\ue001", "\ue002", "\ue008"
"""Marks of the unquoted characters ``{``, ``,``, ``}`` and ``..`` in a word."""

_RANGE = lazy_pattern(
    "([-+]?[0-9]+|[A-Za-z])\ue008([-+]?[0-9]+|[A-Za-z])(?:\ue008([-+]?[0-9]+))?", re.ASCII
)
_MAX_BRACES = 100
_PADDED = lazy_pattern(r"-?0\d+", re.ASCII)


class TooManyError(Exception):
    """A list that stands for too many words, or for characters that bash reads in an odd way."""


def expand_braces(text: str, limit: int) -> list[str]:
    """Return the words that *text* expands to, in bash's order.

    Braces that are no list stay in the words with their marks. Raises ``TooManyError`` for more
    than *limit* words.
    """
    if text.count(OPEN) > _MAX_BRACES:
        raise TooManyError
    at, close = _first_list(text)
    if at < 0:
        return [text]
    inner = text[at + 1 : close]
    items = _split(inner)
    if len(items) > 1:
        middle = [word for item in items for word in expand_braces(item, limit)]
    else:
        middle = _range(inner, limit) or [text[at : close + 1]]
    after = expand_braces(text[close + 1 :], limit)
    if len(middle) * len(after) > limit:
        raise TooManyError
    return [text[:at] + each + rest for each in middle for rest in after]


def _first_list(text: str) -> tuple[int, int]:
    """Return the places of the first brace that opens a list and of the one that closes it, -1 for
    none."""
    at = -1
    while (at := text.find(OPEN, at + 1)) >= 0:
        if at == 0 and text[1:2] in ("", CLOSE):
            continue
        close = _closing(text, at + 1)
        if close >= 0:
            return at, close
    return -1, -1


def _closing(text: str, start: int) -> int:
    """Return the place of the brace that closes a list; one without a comma or range closes
    none."""
    level = marks = 0
    for at in range(start, len(text)):
        char = text[at]
        if char == CLOSE and not level and marks:
            return at
        if char == OPEN:
            level += 1
        elif char == CLOSE and level:
            level -= 1
        elif not level:
            marks += char == COMMA or (char == DOTS and text[at + 1 : at + 2] != CLOSE)
    return -1


def _split(inner: str) -> list[str]:
    """Split the text between braces at its own commas."""
    level, start = 0, 0
    items: list[str] = []
    for at, char in enumerate(inner):
        if char == OPEN:
            level += 1
        elif char == CLOSE and level:
            level -= 1
        elif char == COMMA and not level:
            items.append(inner[start:at])
            start = at + 1
    return [*items, inner[start:]]


def _range(inner: str, limit: int) -> list[str]:
    """Return the items of ``1..5`` or ``a..e..2``; none for other text."""
    found = _RANGE.fullmatch(inner)
    if found is None or found[1].isalpha() != found[2].isalpha():
        return []
    letters = found[1].isalpha()
    first, last = (ord(x) if letters else int(x) for x in (found[1], found[2]))
    step = abs(int(found[3] or 1)) or 1
    numbers = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    if len(numbers) > limit:
        raise TooManyError
    if letters:
        items = list(map(chr, numbers))
        if not all(map(str.isalpha, items)):
            raise TooManyError
        return items
    padded = any(map(_PADDED.fullmatch, (found[1], found[2])))
    width = max(len(found[1]), len(found[2])) if padded else 0
    return [f"{number:0{width}d}" for number in numbers]
