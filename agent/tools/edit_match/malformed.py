"""Repair malformed edits: escapes, entities and line numbers in ``old_string``.

``new_string`` is repaired only if it has the same malformation and never the plain form.
Otherwise it is the text that the model wants.
"""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agent.tools.edit_match.document import Document, EditRefused
from agent.tools.edit_match.lines import compact_key


@dataclass(frozen=True, slots=True)
class RepairedStrings:
    """Both strings without the malformation, and a note on the repair."""

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
    """Yield *old* and *new* (in LF) with one kind of malformation repaired, likely kinds first."""
    for malformation in _MALFORMATIONS:
        if not malformation.shows(old):
            continue
        repaired_old = malformation.undo(old)
        if repaired_old == old or not repaired_old.strip():
            continue
        yield RepairedStrings(
            repaired_old, _repaired_new(malformation, old, new), malformation.note
        )


def _repaired_new(malformation: _Malformation, old: str, new: str) -> str:
    """Return the repaired *new*: lines of *old* are repaired like those, the others if they show
    the malformation and never the plain form."""
    malformed = set(old.split("\n"))
    lines = new.split("\n")
    fresh = "\n".join(line for line in lines if line not in malformed)
    if malformation.shows(fresh) and not malformation.plain(fresh):
        return malformation.undo(new)
    return "\n".join(malformation.undo(line) if line in malformed else line for line in lines)


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
"""Consecutive numbered lines that are certainly line numbers; fewer must be the true numbers of
the lines, because ``404: gone`` can be a line of the file."""

_NUMBERED = re.compile(r"[ \t]{0,8}(\d{1,7})(→|\t|\||:)")


@dataclass(frozen=True, slots=True)
class _NumberedLines:
    """Lines with numbers, the *mark* after each number, and the rest of each line (*bare*)."""

    numbers: list[int]
    mark: str
    bare: list[str]


def strip_line_numbers(document: Document, old: str, new: str) -> tuple[str, str] | None:
    """Return both strings without line numbers, None if *old* has none.

    Raises ``EditRefused`` if only some lines of *new* have numbers.
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
    """Return *new* without numbers: the lines of old without theirs, and the others if all have
    one."""
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
    """Return the numbers of *lines* if each has one, followed by the same mark, and they rise."""
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
    """Return whether the file's lines from number *first* (from 1) are *bare*, ignoring white
    space."""
    there = document.lines[first - 1 : first - 1 + len(bare)] if first > 0 else []
    return [compact_key(line) for line in there] == [compact_key(line) for line in bare]
