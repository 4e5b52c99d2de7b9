"""Line numbers of read output that models copy into their strings, taken off (spec 3, E3)."""

import re
from dataclasses import dataclass

from agent.tools.edit_match.document import Document
from agent.tools.edit_match.keys import blind
from agent.tools.edit_match.records import EditRefused

MIN_TRUSTED = 3
"""Lines whose numbers rise by one from which they are no text of the file, wherever they are;
fewer must be the true numbers: ``404: gone`` may be a line of its own."""

_NUMBERED = re.compile(r"[ \t]{0,8}(\d{1,7})(→|\t|\||:)")


@dataclass(frozen=True, slots=True)
class _Numbered:
    """Lines with what *mark* parts from their numbers; *bare* is the rest of each line."""

    numbers: list[int]
    mark: str
    bare: list[str]


def without_numbers(document: Document, old: str, new: str) -> tuple[str, str] | None:
    """Both strings without the numbers, None if *old* has none.

    Raises ``EditRefused`` if it cannot be told what is meant to be in *new*.
    """
    lines = old.removesuffix("\n").split("\n")
    found = _read(lines)
    if found is None:
        return None
    first, count = found.numbers[0], len(lines)
    if found.numbers != list(range(first, first + count)):
        return None
    if not any(line.strip() for line in found.bare):
        return None
    if count < MIN_TRUSTED and not _stands_at(document, first, found.bare):
        return None
    bare_of = dict(zip(lines, found.bare, strict=True))
    return "\n".join(found.bare) + old[len("\n".join(lines)) :], _bare_new(new, bare_of, found.mark)


def _bare_new(new: str, bare_of: dict[str, str], mark: str) -> str:
    """*new* without numbers: the lines of old without theirs, and the others if all have some."""
    lines = new.split("\n")
    fresh = [line for line in lines if line.strip() and line not in bare_of]
    read = _read(fresh)
    if read is not None and read.mark.strip() == mark.strip():
        bare_of = bare_of | dict(zip(fresh, read.bare, strict=True))
    elif any((match := _NUMBERED.match(line)) and match[2] == mark[0] for line in fresh):
        raise EditRefused(
            "old_string and some lines of new_string have line numbers, other lines have none. "
            "Give both without the numbers of the read tool."
        )
    return "\n".join(bare_of.get(line, line) for line in lines)


def _read(lines: list[str]) -> _Numbered | None:
    """The numbers of *lines* if each has one, with the same mark behind it, rising."""
    found = [match for line in lines if (match := _NUMBERED.match(line))]
    marks = {match[2] for match in found}
    numbers = [int(match[1]) for match in found]
    if len(found) < len(lines) or len(marks) != 1 or numbers != sorted(set(numbers)):
        return None
    (mark,) = marks
    rest = [line[match.end() :] for line, match in zip(lines, found, strict=True)]
    if mark in "|:" and all(not text or text.startswith(" ") for text in rest):
        mark, rest = mark + " ", [text[1:] for text in rest]
    return _Numbered(numbers, mark, rest)


def _stands_at(document: Document, first: int, bare: list[str]) -> bool:
    """Whether the file's lines from number *first* (from 1) are *bare*, white space aside."""
    there = document.lines[first - 1 : first - 1 + len(bare)] if first > 0 else []
    return [blind(line) for line in there] == [blind(line) for line in bare]
