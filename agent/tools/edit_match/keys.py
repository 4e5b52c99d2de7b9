"""Keys by which lines are compared: as they are but for their end, or blind to white space."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

QUOTES = dict.fromkeys("‘’‚‛′", "'") | dict.fromkeys("“”„‟″", '"')
DASHES = dict.fromkeys("‐‑‒–—―−", "-")
SPACES = dict.fromkeys(
    "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
    " ",
)
NOTHING = dict.fromkeys("\u200b\u2060\ufeff", "")

PLAIN: dict[str, str] = QUOTES | DASHES | SPACES | NOTHING | {"…": "..."}
"""Typographic characters that models put for plain ones (and the reverse)."""

_FOLD = str.maketrans(PLAIN)
_FOLD_SPACES = str.maketrans(SPACES | NOTHING)

MIN_BLIND = 4
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


def blind(line: str) -> str:
    """The key of *line* without any white space, typographic characters as plain ones."""
    key = "".join(fold(line).split())
    while "--" in key:  # a dash stands for one hyphen or two
        key = key.replace("--", "-")
    return key


def indentation(line: str) -> str:
    """The white space that *line* starts with, in tabs and plain spaces."""
    lead = line[: len(line) - len(line.lstrip())]
    return lead if lead.isascii() else lead.translate(_FOLD_SPACES)


def body(line: str) -> str:
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
    def blind(self) -> list[str]:
        """Of each filled line: without any white space, characters folded."""
        return [blind(self.lines[number]) for number in self.filled]

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each blind key occurs."""
        return Counter(self.blind)

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Each blind key's places, as indices into ``filled``."""
        places: dict[str, list[int]] = {}
        for index, key in enumerate(self.blind):
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
