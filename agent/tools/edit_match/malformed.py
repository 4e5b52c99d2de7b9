"""Escapes and entities by which models spoil ``old_string``, and how each is undone (E3).

``new_string`` is undone only where it shows the same spoiling and never the plain form: then
it was spoilt on the same way. Otherwise it is what the model wants to be written.
"""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.tools.edit_match.document import Document, EditRefused
from agent.tools.edit_match.lines import compact_key


@dataclass(frozen=True, slots=True)
class RepairedStrings:
    """Both strings as they were meant, and what was undone."""

    old: str
    new: str
    note: str


@dataclass(frozen=True, slots=True)
class _Malformation:
    note: str
    undo: Callable[[str], str]
    shows: Callable[[str], bool]
    plain: Callable[[str], bool]


def repair_escapes(old: str, new: str) -> Iterator[RepairedStrings]:
    """The readings of *old* and *new* (in LF) with one kind of spoiling undone, likely first."""
    for spoiling in _MALFORMATIONS:
        if not spoiling.shows(old):
            continue
        meant_old = spoiling.undo(old)
        if meant_old == old or not meant_old.strip():
            continue
        yield RepairedStrings(meant_old, _repaired_new(spoiling, old, new), spoiling.note)


def _repaired_new(spoiling: _Malformation, old: str, new: str) -> str:
    """*new* as it is meant: lines as in *old* are undone like those, the others if they show
    the spoiling and nowhere the plain form."""
    spoilt = set(old.split("\n"))
    lines = new.split("\n")
    fresh = "\n".join(line for line in lines if line not in spoilt)
    if spoiling.shows(fresh) and not spoiling.plain(fresh):
        return spoiling.undo(new)
    return "\n".join(spoiling.undo(line) if line in spoilt else line for line in lines)


def _unescape_quotes(text: str) -> str:
    return text.replace('\\"', '"').replace("\\'", "'")


def _unescape_breaks(text: str) -> str:
    return re.sub(r"\\[nt]", lambda match: "\n" if match[0] == "\\n" else "\t", text)


def _unescape_all(text: str) -> str:
    meanings = {"n": "\n", "t": "\t", "r": "\r"}
    return re.sub(r"\\(.)", lambda match: meanings.get(match[1], match[1]), text)


def _is_escaped_line(text: str) -> bool:
    return "\n" not in text.strip("\n") and "\\n" in text


def _has_line_break(text: str) -> bool:
    return "\n" in text.strip("\n")


_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#39|#34);")

_MALFORMATIONS = (
    _Malformation(
        "doubled backslashes were made single",
        lambda text: text.replace("\\\\", "\\"),
        lambda text: "\\\\" in text,
        lambda text: re.search(r"(?<!\\)\\(?:\\\\)*(?!\\)", text) is not None,
    ),
    *(
        _Malformation(
            "escaped quotes were made plain",
            lambda text, q=quote: text.replace("\\" + q, q),
            lambda text, q=quote: "\\" + q in text,
            lambda text, q=quote: re.search(rf"(?<!\\){q}", text) is not None,
        )
        for quote in "\"'"
    ),
    _Malformation(
        "escaped quotes were made plain",
        _unescape_quotes,
        lambda text: '\\"' in text and "\\'" in text,
        lambda text: re.search(r"(?<!\\)[\"']", text) is not None,
    ),
    _Malformation(
        "\\t was read as a tab",
        lambda text: re.sub(r"(?m)^(?:\\t|[ \t])+", lambda m: m[0].replace("\\t", "\t"), text),
        lambda text: re.search(r"(?m)^[ \t]*\\t", text) is not None,
        lambda text: re.search(r"(?m)^[ ]*\t", text) is not None,
    ),
    _Malformation(
        "\\t was read as a tab",
        lambda text: text.replace("\\t", "\t"),
        lambda text: "\\t" in text,
        lambda text: "\t" in text,
    ),
    _Malformation(
        "\\n was read as a line break", _unescape_breaks, _is_escaped_line, _has_line_break
    ),
    _Malformation(
        "escaped line breaks and quotes were made plain",
        lambda text: _unescape_quotes(_unescape_breaks(text)),
        _is_escaped_line,
        _has_line_break,
    ),
    _Malformation("escapes were undone", _unescape_all, _is_escaped_line, _has_line_break),
    _Malformation(
        "entities were made plain",
        lambda text: _ENTITY.sub(lambda match: html.unescape(match[0]), text),
        lambda text: _ENTITY.search(text) is not None,
        lambda text: re.search(r"[<>]|&(?!\w+;|#\d+;)", text) is not None,
    ),
)


MIN_NUMBERED_LINES = 3
"""Lines whose numbers rise by one from which they are no text of the file, wherever they are;
fewer must be the true numbers: ``404: gone`` may be a line of its own."""

_NUMBERED = re.compile(r"[ \t]{0,8}(\d{1,7})(→|\t|\||:)")


@dataclass(frozen=True, slots=True)
class _NumberedLines:
    """Lines with what *mark* parts from their numbers; *bare* is the rest of each line."""

    numbers: list[int]
    mark: str
    bare: list[str]


def strip_line_numbers(document: Document, old: str, new: str) -> tuple[str, str] | None:
    """Both strings without the numbers, None if *old* has none.

    Raises ``EditRefused`` if it cannot be told what is meant to be in *new*.
    """
    lines = old.removesuffix("\n").split("\n")
    found = _read_numbers(lines)
    if found is None:
        return None
    first, count = found.numbers[0], len(lines)
    if found.numbers != list(range(first, first + count)):
        return None
    if not any(line.strip() for line in found.bare):
        return None
    if count < MIN_NUMBERED_LINES and not _is_at(document, first, found.bare):
        return None
    bare_of = dict(zip(lines, found.bare, strict=True))
    return "\n".join(found.bare) + old[len("\n".join(lines)) :], _strip_new(
        new, bare_of, found.mark
    )


def _strip_new(new: str, bare_of: dict[str, str], mark: str) -> str:
    """*new* without numbers: the lines of old without theirs, and the others if all have some."""
    lines = new.split("\n")
    fresh = [line for line in lines if line.strip() and line not in bare_of]
    read = _read_numbers(fresh)
    if read is not None and read.mark.strip() == mark.strip():
        bare_of = bare_of | dict(zip(fresh, read.bare, strict=True))
    elif any((match := _NUMBERED.match(line)) and match[2] == mark[0] for line in fresh):
        raise EditRefused(
            "old_string and some lines of new_string have line numbers, other lines have none. "
            "Give both without the numbers of the read tool."
        )
    return "\n".join(bare_of.get(line, line) for line in lines)


def _read_numbers(lines: list[str]) -> _NumberedLines | None:
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
    return _NumberedLines(numbers, mark, rest)


def _is_at(document: Document, first: int, bare: list[str]) -> bool:
    """Whether the file's lines from number *first* (from 1) are *bare*, white space aside."""
    there = document.lines[first - 1 : first - 1 + len(bare)] if first > 0 else []
    return [compact_key(line) for line in there] == [compact_key(line) for line in bare]
