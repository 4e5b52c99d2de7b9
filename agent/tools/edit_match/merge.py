"""The three-way merge: base ``old_string``, ours the file, theirs ``new_string`` (E2).

A line that the model did not change keeps the file's bytes. A line that it removed goes from
the file, if it is really that line. A line that it added or changed is written with the
file's indentation. What cannot be decided is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from agent.tools.edit_match.block import Block, Tie, first_line, last_line
from agent.tools.edit_match.document import Document
from agent.tools.edit_match.keys import blind, body, indentation
from agent.tools.edit_match.linediff import match_lines
from agent.tools.edit_match.nearest import quote_lines
from agent.tools.edit_match.records import Edit, EditRefused, Replacement, Splice, rebuild
from agent.tools.edit_match.reindent import choose_reindent, is_only_old_off
from agent.tools.edit_match.residue import clean_like
from agent.tools.edit_match.sides import Sides
from agent.tools.edit_match.writing import write_changes


@dataclass(frozen=True, slots=True)
class Merged:
    """The lines to write, and what was bent."""

    splices: tuple[Splice, ...]
    notes: tuple[str, ...]


def merge_blocks(
    document: Document, blocks: Sequence[Block], old: Sequence[str], new: Sequence[str], bent: str
) -> Edit:
    """The edit made on each of *blocks*; *bent* says how they were found, empty if exactly.

    Raises ``EditRefused`` that quotes the block.
    """
    replacements: list[Replacement] = []
    notes = {bent: None} if bent else {}
    for block in blocks:
        try:
            merged = merge_block(document, block, old, new)
        except EditRefused as refused:
            lines = first_line(block), last_line(block) + 1
            hint = quote_lines(document.lines, *lines, "The place meant")
            raise EditRefused(refused.reason, hint) from None
        replacements += [document.splice(splice) for splice in merged.splices]
        notes |= dict.fromkeys(merged.notes)
    text = rebuild(document.text, replacements)
    return Edit(text, tuple(replacements), len(blocks), tuple(notes))


def merge_block(document: Document, block: Block, old: Sequence[str], new: Sequence[str]) -> Merged:
    """The edit from *old* to *new* made on *block*. Raises ``EditRefused`` when in doubt."""
    sides = Sides(document, block, old, new)
    keys = [blind(line) for line in old], [blind(line) for line in new]
    only_old = is_only_old_off(sides, match_lines(*keys))
    base = [sides.text_of.get(n, line) if only_old else line for n, line in enumerate(old)]
    pairs = match_lines(*keys, lambda i, j: base[i].rstrip() == new[j].rstrip())
    kept = [(i, j) for i, j in pairs if _is_kept(sides, i, j, only_old=only_old)]
    texts, notes = _texts(sides, kept, dict(pairs), only_old=only_old)
    splices = write_changes(sides, kept, texts)
    return Merged(splices, (*notes, *_kept_otherwise(sides, kept)))


def _kept_otherwise(sides: Sides, kept: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """A note on the lines that stay though old_string has others there, or none."""
    lines = sides.document.lines
    numbers = [sides.line_of[i] for i, _ in kept if sides.tie_of[i] is not Tie.SAME]
    numbers += [
        link.line
        for link in sides.block
        if link.old is None and link.line is not None and lines[link.line].strip()
    ]
    if not numbers:
        return ()
    shown = ", ".join(str(number + 1) for number in sorted(numbers))
    return (f"kept as in the file, though old_string differs there: line {shown}",)


def _texts(
    sides: Sides, kept: Sequence[tuple[int, int]], pairs: dict[int, int], *, only_old: bool
) -> tuple[list[str], tuple[str, ...]]:
    """The lines of new as they are to be written, and what was bent for it."""
    fixed = {j for _, j in kept}
    moved = {j: i for i, j in pairs.items() if j not in fixed}
    changed = [n for n, line in enumerate(sides.new) if n not in fixed and line.strip()]
    reindent = choose_reindent(sides, changed, _partners(sides, kept), only_old=only_old)
    cleaned, notes = clean_like(sides, changed)
    texts = list(sides.new)
    for n in changed:
        i = moved.get(n)
        text = cleaned[n].lstrip()
        if i is not None and i in sides.text_of and body(sides.new[n]) == body(sides.old[i]):
            text = _merged_end(sides.old[i], sides.text_of[i], sides.new[n])
        texts[n] = reindent.lead(n, indentation(sides.new[n])) + text
    return texts, (*reindent.notes, *notes)


def _partners(sides: Sides, kept: Sequence[tuple[int, int]]) -> dict[int, int]:
    """For each line of new that takes the place of one line of old: that line."""
    found: dict[int, int] = {}
    i = j = 0
    for a, b in [*kept, (len(sides.old), len(sides.new))]:
        if a - i == b - j:
            found |= {j + n: i + n for n in range(a - i)}
        i, j = a + 1, b + 1
    return found


def _merged_end(old: str, line: str, new: str) -> str:
    """The file's *line* without indentation; white space at its end goes or comes if the
    model changed that, and not if only old_string was off there."""
    was, is_, wanted = (text[len(text.rstrip()) :] for text in (old, line, new))
    return line.strip() + (wanted if was == is_ else is_)


def _is_kept(sides: Sides, i: int, j: int, *, only_old: bool) -> bool:
    """Whether line *j* of new says the same as line *i* of old: then the file's line stays."""
    old, new = sides.old[i], sides.new[j]
    line = sides.text_of.get(i, old)
    if not new.strip():
        return True
    if indentation(new) != indentation(line if only_old else old):
        return False
    return body(new) in (body(old), body(line)) and _merged_end(old, line, new) == line.lstrip()
