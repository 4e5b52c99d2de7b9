"""The indentation of the lines that a merge writes."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.tools.edit_match.indent import IndentMap, find_map, guess_style
from agent.tools.edit_match.keys import blind, indentation
from agent.tools.edit_match.likeness import likeness
from agent.tools.edit_match.records import EditRefused
from agent.tools.edit_match.sides import Sides

NEAR = 200
"""Lines around the block by which the file's style is judged."""

MIN_LIKENESS = 0.5
"""How much a changed line must be like the one in whose place it comes to take its depth."""
MIN_LENGTH = 8
"""Characters, white space aside, that such a line must have."""

_CANNOT_TELL = (
    "old_string has another indentation than the file, and it cannot be told whether "
    "new_string indents lines on purpose. Give old_string with the file's indentation."
)


@dataclass(frozen=True, slots=True)
class Reindent:
    """The map for the lines of new_string; *special* gives the indentation of single ones."""

    map: IndentMap
    special: Mapping[int, str] = field(default_factory=dict[int, str])
    notes: tuple[str, ...] = ()

    def lead(self, number: int, lead: str) -> str:
        """The file's indentation for line *number* of new_string, which has *lead* there."""
        if number in self.special:
            return self.special[number]
        found = self.map.apply(lead)
        return lead if found is None else found


_AS_IT_IS = Reindent(IndentMap(lambda lead: lead, ""))


def is_only_old_off(sides: Sides, pairs: Sequence[tuple[int, int]]) -> bool:
    """Whether new_string has the file's indentation, and only old_string has another.

    *pairs* are the lines that both strings have. Raises ``EditRefused`` if it cannot be told
    from an edit that indents those lines on purpose.
    """
    leads = {old: (was, is_) for old, was, is_ in sides.indents}
    if all(was == is_ for was, is_ in leads.values()):
        return False
    kept = [(*leads[i], indentation(sides.new[j])) for i, j in pairs if i in leads]
    paired = {j for _, j in pairs}
    added = [
        indentation(line) for j, line in enumerate(sides.new) if j not in paired and line.strip()
    ]
    if not kept:
        return _shallowest_is_files(sides, leads)
    # Lines that old_string shows as the file has them tell nothing.
    telling = [(new == was, new == line) for was, line, new in kept if was != line]
    said = [sides_with for sides_with in telling if any(sides_with)]
    if not said or (said[0][0] and said[-1][0]):
        return False
    if said[0] != said[-1]:
        raise EditRefused(_CANNOT_TELL)
    shallowest = min(len(line) for _, line in leads.values())
    if all(was != line for was, line, _ in kept) and any(len(lead) < shallowest for lead in added):
        raise EditRefused(_CANNOT_TELL)
    return True


def _shallowest_is_files(sides: Sides, leads: dict[int, tuple[str, str]]) -> bool:
    """With no line in common: whether new_string starts at the file's depth, not at old's."""
    new = [indentation(line) for line in sides.new if line.strip()]
    if not new or not leads:
        return False
    shallowest = min(new, key=len)
    was = min((was for was, _ in leads.values()), key=len)
    line = min((line for _, line in leads.values()), key=len)
    return was != line and shallowest == line


def choose_reindent(
    sides: Sides, changed: Sequence[int], partner_of: Mapping[int, int], *, only_old: bool
) -> Reindent:
    """The indentation of the lines *changed* (their numbers in new). *partner_of* names the
    line of old that each one replaces, where that is clear. Raises ``EditRefused``."""
    leads = {n: indentation(sides.new[n]) for n in changed}
    if only_old or not leads:
        return _AS_IT_IS
    lost = _lost_first(sides, leads)
    if lost is not None:
        return Reindent(_AS_IT_IS.map, lost, ("the first line got its indentation back",))
    style = guess_style(sides.document.lines[max(0, sides.first - NEAR) : sides.stop + NEAR])
    pairs = [(was, line) for _, was, line in sides.indents]
    needed = sorted(set(leads.values()))
    found = None if _is_flattened(sides) else find_map(pairs, needed, style)
    if found is not None:
        notes = (f"new_string was indented as the file is ({found.words})",) if found.words else ()
        return Reindent(found, notes=notes)
    special = _by_partner(sides, leads, partner_of)
    if special is not None:
        note = "each changed line was indented like the one that it replaces"
        return Reindent(_AS_IT_IS.map, special, (note,))
    raise EditRefused(
        "old_string is in the file with another indentation, and it cannot be told how "
        "new_string's lines are to be indented. Give both with the file's indentation."
    )


def _is_flattened(sides: Sides) -> bool:
    """Whether both strings have lost all indentation: a line after an open bracket stands at
    column 0 as well."""
    lines = [line.rstrip() for line in sides.new if line.strip()]
    if any(map(indentation, (*lines, *filter(str.strip, sides.old)))) or not any(
        line for _, _, line in sides.indents
    ):
        return False
    return any(
        line.endswith(("{", "(", "[")) and not after.startswith(("}", ")", "]", "case", "default"))
        for line, after in itertools.pairwise(lines)
    )


def _lost_first(sides: Sides, leads: dict[int, str]) -> dict[int, str] | None:
    """The first line's indentation, if just that line has lost it in both strings."""
    (_, was, line), *rest = sides.indents
    if was or not line or not rest or any(old != file for _, old, file in rest):
        return None
    first = next(n for n, text in enumerate(sides.new) if text.strip())
    others = [lead for n, lead in leads.items() if n != first]
    if not all(others) and all(old for _, old, _ in rest):
        return None
    return {first: line} if leads.get(first) == "" else {}


def _by_partner(
    sides: Sides, leads: dict[int, str], partner_of: Mapping[int, int]
) -> dict[int, str] | None:
    """Each line's indentation as that of the line which it replaces, if it is much like it."""
    known = {old: (was, line) for old, was, line in sides.indents}
    special: dict[int, str] = {}
    for n, lead in leads.items():
        i = partner_of.get(n)
        if i is None or i not in known or known[i][0] != lead:
            return None
        if (
            len(blind(sides.old[i])) < MIN_LENGTH
            or likeness(blind(sides.old[i]), blind(sides.new[n])) < MIN_LIKENESS
        ):
            return None
        special[n] = known[i][1]
    return special
