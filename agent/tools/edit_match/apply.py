"""Apply one edit: from the strictest way to find ``old_string`` to the loosest.

Malformed edits (escapes, entities or line numbers in ``old_string``) are repaired. ``new_string``
is repaired only if it has the same malformation and never the plain form; otherwise it is the text
that the model wants.
"""

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from agent.records.frozen import frozen
from agent.tools.edit_match.block import find_blocks, first_line
from agent.tools.edit_match.document import Document, Edit, EditRefused, Replacement, rebuild, to_lf
from agent.tools.edit_match.lines import LineKeys, compact_key, split_text
from agent.tools.edit_match.merge import merge_blocks
from agent.tools.edit_match.near import find_near
from agent.tools.edit_match.refusals import (
    ONE_LINE_NOTE,
    ambiguous_match,
    check_applied,
    match_note,
    not_found_error,
)


@frozen
class RepairedStrings:
    """Both strings without the malformation, and a note on the repair."""

    old: str
    new: str
    note: str


@frozen
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


@frozen
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


MIN_ADDED = 8
"""Characters, without whitespace, of an addition that is recognized as applied before."""


def apply_exact(document: Document, old: str, new: str, *, replace_all: bool) -> Edit | None:
    """Return the edit where *old* is in the file exactly, None if nowhere. Raises
    ``EditRefused``."""
    places = find_offsets(document.lf, old, overlapping=not replace_all)
    if not places:
        return None
    if len(places) > 1 and not replace_all:
        raise ambiguous_match([document.line_at(place) for place in places])
    if not replace_all:
        _check_applied_before(document, places[0], old, new)
    notes: dict[str, None] = {}
    replacements: list[Replacement] = []
    for place in places:
        fitted = repair_edges(document.lf, place, old, new, notes)
        replacements += document.replace_exact(place, old, fitted)
    text = rebuild(document.text, replacements)
    return Edit(text, tuple(replacements), len(places), tuple(notes))


def find_offsets(text: str, old: str, *, overlapping: bool) -> list[int]:
    """Return the offsets of *old* in *text*."""
    places: list[int] = []
    step = 1 if overlapping else len(old)
    position = text.find(old)
    while position >= 0:
        places.append(position)
        position = text.find(old, position + step)
    return places


def _check_applied_before(document: Document, place: int, old: str, new: str) -> None:
    """Refuse an addition to *old* that is in the file already: models repeat edits."""
    offset = new.find(old)
    if offset < 0 or len(compact_key(new)) - len(compact_key(old)) < MIN_ADDED:
        return
    start = place - offset
    if start >= 0 and document.lf.startswith(new, start):
        raise EditRefused(
            f"new_string is in the file already (line {document.line_at(start)}): this edit seems "
            "to have been applied already. To add the same text once more, give an old_string that "
            "reaches past it."
        )


def repair_edges(text: str, place: int, old: str, new: str, notes: dict[str, None]) -> str:
    """Return *new* with slips at its edges repaired, which would join lines or double
    indentation."""
    end = place + len(old)
    if new and old.endswith("\n") and not new.endswith("\n") and end < len(text):
        new += "\n"
        notes["kept the line break at the end of old_string, which new_string lacked"] = None
    if new and old.startswith("\n") and not new.startswith("\n") and place > 0:
        new = "\n" + new
        notes["kept the line break at the start of old_string, which new_string lacked"] = None
    line_start = text.rfind("\n", 0, place) + 1
    indent = text[line_start:place]
    if not indent or indent.strip(" \t") or old[:1] in " \t\n":
        return new
    return _repair_indent(indent, old, new, notes)


def _repair_indent(indent: str, old: str, new: str, notes: dict[str, None]) -> str:
    """Repair the indentation of *new* for an *old* that starts right after its line's *indent*."""
    first, *rest = new.split("\n")
    bare = first.lstrip(" \t")
    if bare and first == indent + bare:
        note = "omitted the indentation of new_string's first line, which the file already has"
        notes[note] = None
        first = bare
        return "\n".join([first, *rest])
    filled = [line for line in rest if line.strip()]
    if "\n" in old or not filled or first[:1] in (" ", "\t"):
        return new
    # A line after an open bracket is indented deeper than the bracket's line.
    opened = first.rstrip().endswith(("(", "[", "{", ":"))
    deep = all(line.startswith(indent) for line in filled)
    if deep and not (
        opened and filled[0].startswith(indent) and filled[0][len(indent)] not in " \t"
    ):
        return new
    notes["indented the further lines of new_string like the line that it replaces"] = None
    return "\n".join([first, *(indent + line if line.strip() else line for line in rest)])


MAX_SEARCHED = 20_000_000
"""Characters of the largest file that is split into lines and searched loosely: the lines and
their keys take about eight times its size in memory."""


def apply_edit(text: str, old: str, new: str, *, replace_all: bool = False) -> Edit:
    """Replace *old* by *new* in *text*, a file's text without BOM. Raises ``EditRefused``."""
    document = Document(text)
    old, new = to_lf(old), to_lf(new)
    if not document.lf.startswith("\ufeff"):
        old, new = old.removeprefix("\ufeff"), new.removeprefix("\ufeff")
    _check_strings(old, new)
    edit = _find_edit(document, old, new, replace_all=replace_all)
    if edit.text == text:
        raise EditRefused("The edit would leave the file as it is, so there is nothing to change.")
    return edit


def _check_strings(old: str, new: str) -> None:
    if old == new:
        raise EditRefused("old_string and new_string are the same, so there is nothing to change.")
    if not old:
        raise EditRefused(
            "old_string is empty, but the file has content. Give the text to replace, "
            "or use the write tool to replace the whole file."
        )
    if not old.strip():
        raise EditRefused(
            "old_string is only whitespace, which names no place in the file. "
            "Give lines around it too."
        )


def _find_edit(document: Document, old: str, new: str, *, replace_all: bool) -> Edit:
    edit = _find_exact_or_block(document, old, new, replace_all=replace_all)
    if edit is not None:
        return edit
    if len(document.lf) <= MAX_SEARCHED and (bare := strip_line_numbers(document, old, new)):
        edit = _find_edit(document, *bare, replace_all=replace_all)
        return replace(edit, notes=("line numbers were removed", *edit.notes))
    for repaired in repair_escapes(old, new):
        edit = _find_exact_or_block(document, repaired.old, repaired.new, replace_all=replace_all)
        if edit is not None:
            return replace(edit, notes=(repaired.note, *edit.notes))
    if len(document.lf) > MAX_SEARCHED:
        raise EditRefused(
            "old_string was not found in the file. In a file of this size only the exact text "
            "is looked for: read the place again and copy it."
        )
    check_applied(document, new)
    block = None if replace_all else find_near(document, old)
    if block is None:
        raise not_found_error(document, old)
    return merge_blocks(document, [block], split_text(old), split_text(new), ONE_LINE_NOTE)


def _find_exact_or_block(
    document: Document, old: str, new: str, *, replace_all: bool
) -> Edit | None:
    edit = apply_exact(document, old, new, replace_all=replace_all)
    if edit is not None:
        return edit
    if len(document.lf) > MAX_SEARCHED:
        return None
    found = find_blocks(document, LineKeys(split_text(old)), overlapping=not replace_all)
    if found is None:
        return None
    if len(found.blocks) > 1 and not replace_all:
        raise ambiguous_match([first_line(block) + 1 for block in found.blocks], found.ignored)
    return merge_blocks(
        document, found.blocks, split_text(old), split_text(new), match_note(found.ignored)
    )
