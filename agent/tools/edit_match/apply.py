"""Apply one edit: from the strictest way to find ``old_string`` to the loosest."""

from dataclasses import replace

from agent.tools.edit_match.block import find_blocks, first_line
from agent.tools.edit_match.document import Document, Edit, EditRefused, Replacement, rebuild, to_lf
from agent.tools.edit_match.lines import LineKeys, compact_key, split_text
from agent.tools.edit_match.malformed import repair_escapes, strip_line_numbers
from agent.tools.edit_match.merge import merge_blocks
from agent.tools.edit_match.near import find_near
from agent.tools.edit_match.refusals import (
    ONE_LINE_NOTE,
    ambiguous_match,
    check_applied,
    match_note,
    not_found_error,
)

MIN_ADDED = 8
"""Characters, without white space, of an addition that is recognized as applied before."""


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
            f"new_string is in the file already (line {document.line_at(start)}), so this edit "
            "seems to be applied already. To add the same text once more, give an old_string "
            "that reaches past it."
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
        notes["left out the indentation of new_string's first line, which the file has"] = None
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
            "old_string is only white space, which names no place in the file. "
            "Give lines around it too."
        )


def _find_edit(document: Document, old: str, new: str, *, replace_all: bool) -> Edit:
    edit = _find_exact_or_block(document, old, new, replace_all=replace_all)
    if edit is not None:
        return edit
    if len(document.lf) <= MAX_SEARCHED and (bare := strip_line_numbers(document, old, new)):
        edit = _find_edit(document, *bare, replace_all=replace_all)
        return replace(edit, notes=("line numbers were taken off", *edit.notes))
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
