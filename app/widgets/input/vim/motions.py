"""Vim's motions. Positions are offsets in characters."""

from collections.abc import Callable
from typing import Literal

from agent.records.frozen import frozen

Kind = Literal["exclusive", "inclusive", "lines"]
"""The text that an operator takes: up to the target, including it, or whole lines."""


@frozen
class Motion:
    """The target of a motion and the text that an operator takes."""

    to: int
    kind: Kind = "exclusive"


def line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """Return the offset of the line break, or the end of the text."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def last_column(text: str, at: int) -> int:
    """Return the last offset on a line where the cursor can be in normal mode."""
    return max(line_start(text, at), line_end(text, at) - 1)


def _kind_of(char: str, whole: bool) -> int:
    """Return 0 for a space, 1 for a word, 2 for others; *whole* words end at spaces."""
    if char.isspace():
        return 0
    return 1 if whole or char.isalnum() or char == "_" else 2


def word_start(text: str, at: int, *, whole: bool = False) -> int:
    """Return the target of ``w``: the beginning of the next word. An empty line is a word."""
    if at >= len(text):
        return at
    kind = _kind_of(text[at], whole)
    while at < len(text) and kind and _kind_of(text[at], whole) == kind:
        at += 1
    while at < len(text) and text[at].isspace():
        if text[at] == "\n" and at + 1 < len(text) and text[at + 1] == "\n":
            return at + 1
        at += 1
    return at


def word_end(text: str, at: int, *, whole: bool = False) -> int:
    """Return the target of ``e``: the end of this word or the next."""
    at += 1
    while at < len(text) and text[at].isspace():
        at += 1
    if at >= len(text):
        return last_column(text, len(text))
    kind = _kind_of(text[at], whole)
    while at + 1 < len(text) and _kind_of(text[at + 1], whole) == kind:
        at += 1
    return at


def word_back(text: str, at: int, *, whole: bool = False) -> int:
    """Return the target of ``b``: the beginning of this word or the previous one."""
    at -= 1
    while at > 0 and text[at].isspace():
        if text[at] == "\n" and text[at - 1] == "\n":
            return at
        at -= 1
    if at <= 0:
        return 0
    kind = _kind_of(text[at], whole)
    while at > 0 and _kind_of(text[at - 1], whole) == kind:
        at -= 1
    return at


def first_char(text: str, at: int) -> int:
    """Return the target of ``^``: the line's first character that is not a space."""
    start, end = line_start(text, at), line_end(text, at)
    while start < end and text[start] in " \t":
        start += 1
    return start


def vertical(text: str, at: int, lines: int) -> int | None:
    """Return the offset *lines* down (or up), or as far as there are lines, in the same column;
    None if there is no such line."""
    column, first = at - line_start(text, at), at
    for _ in range(abs(lines)):
        if lines > 0:
            end = line_end(text, at)
            if end == len(text):
                break
            at = end + 1
        else:
            start = line_start(text, at)
            if start == 0:
                break
            at = line_start(text, start - 1)
    if lines and line_start(text, at) == line_start(text, first):
        return None
    return min(line_start(text, at) + column, last_column(text, at))


def find(text: str, at: int, key: str, char: str, count: int) -> Motion | None:
    """Return the target of ``f``, ``t``, ``F`` and ``T`` within the line."""
    back = key in "FT"
    place: int | None = at
    for _ in range(count):
        if back:
            place = text.rfind(char, line_start(text, at), place)
        else:
            place = text.find(char, place + 1, line_end(text, at))
        if place < 0:
            return None
    if key == "t":
        place -= 1
    elif key == "T":
        place += 1
    return Motion(place, "exclusive" if back else "inclusive")


_SIMPLE: dict[str, Callable[[str, int], Motion]] = {
    "0": lambda text, at: Motion(line_start(text, at)),
    "^": lambda text, at: Motion(first_char(text, at)),
}

_WORDS: dict[str, tuple[Callable[..., int], Kind]] = {
    "w": (word_start, "exclusive"),
    "e": (word_end, "inclusive"),
    "b": (word_back, "exclusive"),
}

KEYS = frozenset("0^$webWEBhljkGg")


def motion(text: str, at: int, key: str, count: int, given: int | None) -> Motion | None:
    """Return the target of *key*, repeated *count* times, or None if there is none.

    *given* is the count as typed, None if none was. ``g`` represents ``gg``.
    """
    if key in _SIMPLE:
        return _SIMPLE[key](text, at)
    if key.lower() in _WORDS:
        step, kind = _WORDS[key.lower()]
        for _ in range(count):
            at = step(text, at, whole=key.isupper())
        return Motion(at, kind)
    match key:
        case "$":
            below = vertical(text, at, count - 1) if count > 1 else at
            return None if below is None else Motion(last_column(text, below), "inclusive")
        case "h":
            return Motion(max(line_start(text, at), at - count))
        case "l":
            return Motion(min(line_end(text, at), at + count))
        case "j" | "k":
            to = vertical(text, at, count if key == "j" else -count)
            return None if to is None else Motion(to, "lines")
        case "G" | "g":
            lines = text.split("\n")
            line = given if given is not None else (len(lines) if key == "G" else 1)
            before = sum(len(one) + 1 for one in lines[: max(0, min(line, len(lines)) - 1)])
            return Motion(first_char(text, min(before, len(text))), "lines")
        case _:
            return None
