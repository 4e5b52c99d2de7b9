"""One edit of a text: from the strictest way to find ``old_string`` to the loosest (E1)."""

import re
from collections.abc import Sequence

from agent.tools.edit_match.block import Block, find_blocks
from agent.tools.edit_match.document import Document, to_lf
from agent.tools.edit_match.exact import apply_exact
from agent.tools.edit_match.keys import LineKeys, split_text
from agent.tools.edit_match.merge import merge_block
from agent.tools.edit_match.near import find_near
from agent.tools.edit_match.nearest import describe_nearest, quote_lines
from agent.tools.edit_match.records import Edit, EditRefused, Replacement, rebuild
from agent.tools.edit_match.spoiling import unspoilt
from agent.tools.edit_match.wording import several

MIN_APPLIED = 8
"""Characters, white space aside, of a new_string that is known again."""

MAX_LOOSE = 20_000_000
"""Characters of a file up to which it is cut into lines and searched loosely: the lines and
their keys take about eight times its size in memory."""

_PLACEHOLDER = re.compile(
    r"(?i)(\.\.\.|…).*\b(code|rest|lines|unchanged|existing|omitted|remain\w*)\b"
    r"|\brest of (the )?(code|file|function|class|method)\b|\bexisting code\b"
)


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
    for meant in unspoilt(old, new):
        edit = _strict(document, meant.old, meant.new, replace_all=replace_all)
        if edit is not None:
            return Edit(edit.text, edit.replacements, edit.places, (meant.note, *edit.notes))
        if meant.certain:
            old, new = meant.old, meant.new
    if len(document.lf) > MAX_LOOSE:
        raise EditRefused(
            "old_string was not found in the file. In a file of this size only the exact text "
            "is looked for: read the place again and copy it."
        )
    _check_applied(document, new)
    block = None if replace_all else find_near(document, old)
    if block is None:
        raise _not_found(document, old)
    return _merged(document, [block], old, new, "one line")


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
        raise several([n + 1 for n in _first_lines(found.blocks)], found.measure)
    return _merged(document, found.blocks, old, new, found.measure)


def _first_lines(blocks: Sequence[Block]) -> list[int]:
    return [min(link.line for link in block if link.line is not None) for block in blocks]


def _merged(document: Document, blocks: Sequence[Block], old: str, new: str, measure: str) -> Edit:
    replacements: list[Replacement] = []
    notes = {f"matched without regard to {measure}": None}
    for block in blocks:
        try:
            merged = merge_block(document, block, split_text(old), split_text(new))
        except EditRefused as refused:
            lines = [link.line for link in block if link.line is not None]
            hint = quote_lines(document.lines, min(lines), max(lines) + 1, "The place meant")
            raise EditRefused(refused.reason, hint) from None
        replacements += [document.splice(splice) for splice in merged.splices]
        notes |= dict.fromkeys(merged.notes)
    text = rebuild(document.text, replacements)
    return Edit(text, tuple(replacements), len(blocks), tuple(notes))


def _check_applied(document: Document, new: str) -> None:
    """Refuse an edit whose result is there already: models repeat edits."""
    keys = LineKeys(split_text(new))
    if sum(map(len, keys.blind)) < MIN_APPLIED:
        return
    place = document.lf.find(new)
    found = None if place >= 0 else find_blocks(document, keys, overlapping=True)
    if place < 0 and found is None:
        return
    line = document.line_at(place) if found is None else _first_lines(found.blocks)[0] + 1
    raise EditRefused(
        f"old_string is not in the file, but new_string is (line {line}): this edit seems "
        "to be applied already. Read the file if you are not sure."
    )


def _not_found(document: Document, old: str) -> EditRefused:
    left_out = next((line for line in old.split("\n") if _PLACEHOLDER.search(line)), None)
    why = (
        f"the line {left_out.strip()[:80]!r} stands for text that it leaves out. Give all lines"
        if left_out is not None and left_out not in document.lf
        else "it must match the text exactly, without the line numbers of the read tool"
    )
    return EditRefused(
        f"old_string was not found in the file: {why}.", describe_nearest(document.lf, old)
    )
