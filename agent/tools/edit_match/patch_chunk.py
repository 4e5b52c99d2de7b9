"""Apply one chunk of a patch to a text: whole lines, in order, below the lines that it names.

The format has its own means to choose among several places: a chunk below ``@@`` lines is at the
first place below them, one that ends the file at its end, any other after the previous chunk.
If these leave a choice, the chunk is refused.
"""

from collections.abc import Sequence

from agent.records.frozen import frozen
from agent.tools.edit_match.block import Block, find_whole_lines, first_line, last_line
from agent.tools.edit_match.document import Document, Edit, EditRefused, Splice, rebuild
from agent.tools.edit_match.lines import LineKeys, compact_key
from agent.tools.edit_match.merge import merge_blocks
from agent.tools.edit_match.near import find_near
from agent.tools.edit_match.refusals import (
    ONE_LINE_NOTE,
    check_applied,
    match_note,
    not_found_error,
)


@frozen
class ChunkEdit:
    """*old* lines become *new* lines, below the lines *anchors*; *at_end*: at the end of the
    file."""

    old: Sequence[str]
    new: Sequence[str]
    anchors: Sequence[str] = ()
    at_end: bool = False


@frozen
class AppliedChunk:
    """The edit, and the line (from 0) after the changed place in the new text."""

    edit: Edit
    next_line: int


def apply_chunk(text: str, chunk: ChunkEdit, below: int = 0) -> AppliedChunk:
    """Apply *chunk* to *text*, below line *below* (from 0) if several places match.

    Raises ``EditRefused``, whose messages speak of old_string and new_string.
    """
    document = Document(text)
    if not chunk.old:
        return _append(document, chunk)
    found = find_whole_lines(document, LineKeys(chunk.old))
    if found is None:
        check_applied(document, "\n".join(chunk.new))
        old = "\n".join(chunk.old)
        block, note = find_near(document, old), ONE_LINE_NOTE
        if block is None:
            raise not_found_error(document, old)
    else:
        block = _choose_block(document, found.blocks, chunk, below)
        note = match_note(found.ignored)
    edit = merge_blocks(document, [block], chunk.old, chunk.new, note)
    ending = "\r" if document.lone_cr else "\n"
    more = edit.text.count(ending) - text.count(ending)
    return AppliedChunk(edit, last_line(block) + 1 + more)


def _append(document: Document, chunk: ChunkEdit) -> AppliedChunk:
    """Append lines that have no context."""
    if chunk.anchors:
        raise EditRefused(
            "The chunk only adds lines and shows none around them. Give the lines above or "
            "below the place too."
        )
    end = len(document.lines)
    replacement = document.to_replacement(Splice(end, end, tuple(chunk.new)))
    text = rebuild(document.text, [replacement])
    return AppliedChunk(Edit(text, (replacement,)), end + len(chunk.new))


def _anchored_lines(document: Document, anchors: Sequence[str], below: int) -> list[int]:
    """Return the lines after the last of *anchors*, none without anchors.

    Anchors are searched below the previous chunk first, then in the whole file, each below the
    one before it. Several anchors give one place, a single one can give several.
    """
    if not anchors:
        return []
    for start in dict.fromkeys((below, 0)):
        found = [start - 1]
        for anchor in anchors:
            found = _find_anchor(document.lines, anchor, found[0] + 1)
            if not found:
                break
        if found:
            return found if len(anchors) == 1 else found[:1]
    raise EditRefused(f"The line {anchors[-1][:80]!r} after @@ is not in the file.")


def _find_anchor(lines: Sequence[str], anchor: str, start: int) -> list[int]:
    """Return the lines from *start* that equal *anchor* without whitespace, else those that begin
    with it."""
    wanted = compact_key(anchor)
    keys = [(n, compact_key(lines[n])) for n in range(start, len(lines))]
    same = [n for n, key in keys if key == wanted]
    return same or [n for n, key in keys if wanted and key.startswith(wanted)]


def _choose_block(
    document: Document, blocks: Sequence[Block], chunk: ChunkEdit, below: int
) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    if chunk.at_end and last_line(blocks[-1]) == document.keys.filled[-1]:
        return blocks[-1]
    floors = _anchored_lines(document, chunk.anchors, below)
    if floors:  # the first place below each anchor
        under = [next((b for b in blocks if first_line(b) >= floor), None) for floor in floors]
    else:
        under = [block for block in blocks if first_line(block) >= below > 0]
    fitting = {first_line(block): block for block in under if block is not None}
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    numbers = ", ".join(str(first_line(block) + 1) for block in blocks[:10])
    raise EditRefused(
        f"The chunk fits in {len(blocks)} places (lines {numbers}). Add lines around it, or name "
        "the line above it (a function or class) after @@."
    )
