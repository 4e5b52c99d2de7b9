"""From kept lines to splices: what goes, what comes, and where (spec 3, E2)."""

from collections.abc import Sequence

from agent.tools.edit_match.block import Tie
from agent.tools.edit_match.keys import blind
from agent.tools.edit_match.records import EditRefused, Splice
from agent.tools.edit_match.sides import Sides


def write_changes(
    sides: Sides, kept: Sequence[tuple[int, int]], texts: Sequence[str]
) -> tuple[Splice, ...]:
    """The splices of the file: everything between *kept* pairs (old, new) is replaced by the
    *texts* of new's lines there. Raises ``EditRefused`` for what old_string did not show."""
    splices: list[Splice] = []
    i = j = 0
    for a, b in [*kept, (len(sides.old), len(texts))]:
        if i < a or j < b:
            _check_odd(sides, (i - 1, a), texts[j:b])
            splice = _change(sides, range(i, a), list(texts[j:b]))
            if splice is not None:
                splices.append(splice)
        i, j = a + 1, b + 1
    return tuple(splices)


def _check_odd(sides: Sides, neighbours: tuple[int, int], added: Sequence[str]) -> None:
    """Refuse an addition beside a line that old_string has otherwise than the file, if it is
    the same text: it cannot be told which of the two is kept and which is new."""
    keys = {blind(line) for line in added if line.strip()}
    for n in neighbours:
        if not 0 <= n < len(sides.old) or blind(sides.old[n]) not in keys:
            continue
        if n not in sides.line_of or sides.tie_of[n] is not Tie.SAME:
            raise EditRefused(
                f"The line {sides.old[n].strip()[:80]!r} is not in the file there, and the edit "
                "adds the same line beside it. Repeat the edit with the text as it is."
            )


def _change(sides: Sides, old: range, added: list[str]) -> Splice | None:
    """Lines *old* of old_string are replaced by *added*."""
    _check_removed(sides, old)
    lines = sides.document.lines
    first, stop = _region(sides, old)
    gone = [sides.line_of[n] for n in old if n in sides.line_of]
    unseen = [n for n in range(first, stop) if n not in gone]
    filled = next((n for n in unseen if lines[n].strip()), None)
    if filled is not None:
        raise EditRefused(
            f"Line {filled + 1} of the file lies where the edit changes lines, but old_string "
            "does not show it. Give old_string with every line."
        )
    if not gone:
        return _insertion(first, stop, added)
    start, end = gone[0], gone[-1] + 1
    # Blank lines that old_string left out and new_string brings along are there already.
    added = added[min(start - first, _blanks(added)) :]
    added = added[: len(added) - min(stop - end, _blanks(added[::-1]))]
    if len(added) == len(gone):
        for n in range(start, end):
            if n in unseen:
                added.insert(n - start, lines[n])
    return Splice(start, end, tuple(added))


def _insertion(first: int, stop: int, added: list[str]) -> Splice | None:
    """*added* between two neighbours; the lines from *first* to *stop* are blank and unseen."""
    unseen = stop - first
    lead = min(unseen, _blanks(added))
    added = added[lead:]
    trail = 0 if lead else min(unseen, _blanks(added[::-1]))
    added = added[: len(added) - trail]
    return Splice(stop - trail, stop - trail, tuple(added)) if added else None


def _blanks(lines: Sequence[str]) -> int:
    """How many blank lines *lines* start with."""
    return next((n for n, line in enumerate(lines) if line.strip()), len(lines))


def _check_removed(sides: Sides, old: range) -> None:
    for n in old:
        line = sides.old[n]
        if not line.strip():
            continue
        if n not in sides.line_of:
            raise EditRefused(
                f"The edit replaces the line {line.strip()[:80]!r}, which is not there in the "
                "file. Read the lines around it and repeat the edit with the text as it is."
            )
        if sides.tie_of[n] is Tie.OTHER:
            raise EditRefused(
                f"The edit replaces the line {line.strip()[:80]!r}, but the file has another "
                f"one there (line {sides.line_of[n] + 1}). Repeat the edit with the text as it is."
            )


def _region(sides: Sides, old: range) -> tuple[int, int]:
    """The file's lines between the neighbours that stay on both sides of lines *old*."""
    before = [sides.line_of[n] + 1 for n in range(old.start) if n in sides.line_of]
    after = [sides.line_of[n] for n in range(old.stop, len(sides.old)) if n in sides.line_of]
    return (before[-1] if before else sides.first), (after[0] if after else sides.stop)
