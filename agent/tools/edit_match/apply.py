"""One edit of a text: from the strictest way to find ``old_string`` to the loosest (E1)."""

from dataclasses import replace

from agent.tools.edit_match.block import find_blocks, first_line
from agent.tools.edit_match.document import Document, to_lf
from agent.tools.edit_match.exact import apply_exact
from agent.tools.edit_match.keys import LineKeys, split_text
from agent.tools.edit_match.merge import merge_blocks
from agent.tools.edit_match.near import find_near
from agent.tools.edit_match.numbering import without_numbers
from agent.tools.edit_match.records import Edit, EditRefused
from agent.tools.edit_match.spoiling import unspoilt
from agent.tools.edit_match.wording import ONE_LINE, bent, check_applied, not_found, several

MAX_LOOSE = 20_000_000
"""Characters of a file up to which it is cut into lines and searched loosely: the lines and
their keys take about eight times its size in memory."""


def apply_edit(text: str, old: str, new: str, *, replace_all: bool = False) -> Edit:
    """Replace *old* by *new* in *text* (a file's text, BOM off). Raises ``EditRefused``."""
    document = Document(text)
    old, new = to_lf(old), to_lf(new)
    if not document.lf.startswith("\ufeff"):
        old, new = old.removeprefix("\ufeff"), new.removeprefix("\ufeff")
    _check_strings(old, new)
    edit = _find(document, old, new, replace_all=replace_all)
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


def _find(document: Document, old: str, new: str, *, replace_all: bool) -> Edit:
    edit = _strict(document, old, new, replace_all=replace_all)
    if edit is not None:
        return edit
    if len(document.lf) <= MAX_LOOSE and (bare := without_numbers(document, old, new)):
        edit = _find(document, *bare, replace_all=replace_all)
        return replace(edit, notes=("line numbers were taken off", *edit.notes))
    for meant in unspoilt(old, new):
        edit = _strict(document, meant.old, meant.new, replace_all=replace_all)
        if edit is not None:
            return replace(edit, notes=(meant.note, *edit.notes))
    if len(document.lf) > MAX_LOOSE:
        raise EditRefused(
            "old_string was not found in the file. In a file of this size only the exact text "
            "is looked for: read the place again and copy it."
        )
    check_applied(document, new)
    block = None if replace_all else find_near(document, old)
    if block is None:
        raise not_found(document, old)
    return merge_blocks(document, [block], split_text(old), split_text(new), ONE_LINE)


def _strict(document: Document, old: str, new: str, *, replace_all: bool) -> Edit | None:
    edit = apply_exact(document, old, new, replace_all=replace_all)
    if edit is not None:
        return edit
    if len(document.lf) > MAX_LOOSE:
        return None
    found = find_blocks(document, LineKeys(split_text(old)), overlapping=not replace_all)
    if found is None:
        return None
    if len(found.blocks) > 1 and not replace_all:
        raise several([first_line(block) + 1 for block in found.blocks], found.measure)
    return merge_blocks(
        document, found.blocks, split_text(old), split_text(new), bent(found.measure)
    )
