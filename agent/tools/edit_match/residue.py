"""Spoilings of ``old_string`` that are seen line by line, undone in the lines to be written.

old_string showed typographic quotes, dashes or odd spaces where the file has plain ones, or
white space at line ends where the file has none: the same in a changed line of new_string is
no wish of the model's either. Unless such lines have the plain form too.
"""

from collections.abc import Sequence

from agent.tools.edit_match.keys import DASHES, NOTHING, PLAIN, QUOTES, SPACES
from agent.tools.edit_match.sides import Sides

_KINDS = (QUOTES, DASHES, SPACES | NOTHING, {"…": "..."})


def clean_like(sides: Sides, changed: Sequence[int]) -> tuple[dict[int, str], tuple[str, ...]]:
    """The *changed* lines of new (by number) as they are meant, and what was undone."""
    both = [(sides.old[old], text) for old, text in sides.text_of.items() if sides.old[old].strip()]
    lines = {n: sides.new[n] for n in changed}
    notes: tuple[str, ...] = ()
    table = _typographic(both, "".join(lines.values()))
    if table:
        mapping = str.maketrans(table)
        lines = {n: line.translate(mapping) for n, line in lines.items()}
        notes = ("typographic characters became plain ones, as the file has them",)
    if any(old != old.rstrip() and text == text.rstrip() for old, text in both):
        lines = {n: line.rstrip() for n, line in lines.items()}
    return lines, notes


def _typographic(both: Sequence[tuple[str, str]], written: str) -> dict[str, str]:
    """What to put for characters of *written*, by pairs of a line of old and the file's."""
    if written.isascii():
        return {}
    table: dict[str, str] = {}
    for kind in _KINDS:
        spoilt = [(old, text) for old, text in both if set(kind) & (set(old) - set(text))]
        genuine = {char for _, text in both for char in text if char in kind}
        if not spoilt:
            continue
        for char in set(kind) & set(written) - genuine:
            plain = PLAIN[char]
            if kind is DASHES and any(char in old and "--" in text for old, text in spoilt):
                plain = "--"
            if not plain.strip() or plain not in written:
                table[char] = plain
    return table
