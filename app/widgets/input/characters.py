"""The characters of a line as they are seen: an emoji of several joined ones, a flag, or a
letter with its accents is one (trial WIDE-CHARS)."""

from rich.cells import split_graphemes

_FLAGS = range(0x1F1E6, 0x1F200)
"""The letters of which two make a flag, which Rich takes for one each."""


def grapheme_boundaries(line: str) -> list[int]:
    """Where a character of *line* begins, and its end."""
    if line.isascii():
        return list(range(len(line) + 1))
    found: list[int] = []
    half = False
    for start, end, _ in split_graphemes(line)[0]:
        letter = end == start + 1 and ord(line[start]) in _FLAGS
        half = letter and not half
        if half or not letter:
            found.append(start)
    return [*found, len(line)]


def previous_boundary(line: str, at: int) -> int:
    """The edge of *line* before *at*; 0 at its begin."""
    return max((edge for edge in grapheme_boundaries(line) if edge < at), default=0)


def next_boundary(line: str, at: int) -> int:
    """The edge of *line* behind *at*; its length at its end."""
    return next((edge for edge in grapheme_boundaries(line) if edge > at), len(line))
