"""Where Vim's motions lead in a text. Places are offsets in characters."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["exclusive", "inclusive", "lines"]
"""What an operator takes of the way there: up to its end, with it, or whole lines."""


@dataclass(frozen=True, slots=True)
class Motion:
    """Where a motion leads, and how an operator takes it."""

    to: int
    kind: Kind = "exclusive"


def line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def line_end(text: str, at: int) -> int:
    """The place of the line's break, or the text's end."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def last_column(text: str, at: int) -> int:
    """The last place on a line that the cursor may stand on outside of typing."""
    return max(line_start(text, at), line_end(text, at) - 1)


def _kind_of(char: str, whole: bool) -> int:
    """0 blank, 1 word, 2 other; with *whole* words go from blank to blank."""
    if char.isspace():
        return 0
    return 1 if whole or char.isalnum() or char == "_" else 2


def word_start(text: str, at: int, *, whole: bool = False) -> int:
    """``w``: the next word's beginning. An empty line is a word."""
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
    """``e``: the end of this word, or of the next."""
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
    """``b``: the beginning of this word, or of the one before."""
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
    """``^``: the line's first character that is no blank."""
    start, end = line_start(text, at), line_end(text, at)
    while start < end and text[start] in " \t":
        start += 1
    return start


def vertical(text: str, at: int, lines: int) -> int | None:
    """So many *lines* down (or up) or as far as there are, in the same column; None where
    there is not one."""
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
    """``f``, ``t``, ``F`` and ``T`` within the line."""
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
    """Where *key* leads, *count* times; *given* is the count as typed, None if none was. ``g``
    stands for ``gg``. None where it leads nowhere."""
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
