"""The refusals that several tiers share, as sentences for the model (spec 3, E4)."""

import re
from collections.abc import Sequence

from agent.tools.edit_match.block import find_blocks, first_line
from agent.tools.edit_match.document import Document
from agent.tools.edit_match.keys import LineKeys, split_text
from agent.tools.edit_match.nearest import describe_nearest
from agent.tools.edit_match.records import EditRefused

SHOWN_PLACES = 10
"""Line numbers listed when there are several matches."""

ONE_LINE = "matched but for one line"
"""The note on a success by the loosest measure."""

MIN_APPLIED = 8
"""Characters, white space aside, of a new_string that is known again."""

_PLACEHOLDER = re.compile(
    r"(?i)(\.\.\.|…).*\b(code|rest|lines|unchanged|existing|omitted|remain\w*)\b"
    r"|\brest of (the )?(code|file|function|class|method)\b|\bexisting code\b"
)


def bent(measure: str) -> str:
    """The note on a success by a measure that is not the strictest, none for that one."""
    return f"matched without regard to {measure}" if measure else ""


def several(lines: Sequence[int], measure: str = "") -> EditRefused:
    """old_string fits at all of *lines* (from 1), compared without regard to *measure*."""
    numbers = ", ".join(map(str, lines[:SHOWN_PLACES]))
    more = ", …" if len(lines) > SHOWN_PLACES else ""
    but = f", {measure} aside," if measure else ""
    return EditRefused(
        f"old_string matches{but} in {len(lines)} places (lines {numbers}{more}). "
        "Add lines around it until it is unique, or set replace_all to change every one."
    )


def check_applied(document: Document, new: str) -> None:
    """Refuse an edit whose result is there already: models repeat edits."""
    keys = LineKeys(split_text(new))
    if sum(map(len, keys.blind)) < MIN_APPLIED:
        return
    place = document.lf.find(new)
    found = None if place >= 0 else find_blocks(document, keys, overlapping=True)
    if place < 0 and found is None:
        return
    line = document.line_at(place) if found is None else first_line(found.blocks[0]) + 1
    raise EditRefused(
        f"old_string is not in the file, but new_string is (line {line}): this edit seems "
        "to be applied already. Read the file if you are not sure."
    )


def not_found(document: Document, old: str) -> EditRefused:
    """old_string is nowhere: why that may be, and the nearest text."""
    left_out = next((line for line in old.split("\n") if _PLACEHOLDER.search(line)), None)
    why = (
        f"the line {left_out.strip()[:80]!r} stands for text that it leaves out. Give all lines"
        if left_out is not None and left_out not in document.lf
        else "it must match the text exactly, without the line numbers of the read tool"
    )
    return EditRefused(
        f"old_string was not found in the file: {why}.", describe_nearest(document.lf, old)
    )
