"""Map the indentation of old_string and new_string to that of the file.

The pairs of indentation of matched lines are the evidence; a map is a hypothesis that explains
them. Lines that ``new_string`` adds get the file's indentation by that map. If two maps explain
the evidence and lead to different results, none is chosen.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from agent.records.frozen import frozen
from agent.tools.edit_match.block import ThreeWay
from agent.tools.edit_match.document import EditRefused
from agent.tools.edit_match.lines import compact_key, indentation, similarity

Pair = tuple[str, str]
"""The indentations of a line in old_string and in the file."""

_WIDTHS = (4, 2, 8, 3)
"""Spaces per level of indentation, the likely ones first."""


@frozen
class Style:
    """The indentation style of the file near the block: tabs, or *unit* spaces (0: unknown)."""

    tabs: bool
    unit: int


@frozen
class IndentMap:
    """A map from the indentation of old_string to that of the file."""

    apply: Callable[[str], str | None]
    """Returns the file's indentation for one of old_string, None if it has none."""

    description: str
    """The change in words, "" for no change."""

    units: tuple[int, int] | None = None
    """The spaces per level before and after, if it turns spaces into spaces."""


def detect_style(lines: Sequence[str]) -> Style:
    """Return the style of *lines*, from the steps between neighboring lines."""
    tabs = spaces = 0
    steps: Counter[int] = Counter()
    before = 0
    for line in lines:
        text = line.lstrip(" \t")
        if not text:
            continue
        lead = line[: len(line) - len(text)]
        if lead.startswith("\t"):
            tabs += 1
        elif not text.startswith("*"):  # the lines of a block comment are a column deeper
            spaces += bool(lead)
            if len(lead) > before:
                steps[len(lead) - before] += 1
            before = len(lead)
    unit = max(steps, key=lambda step: (steps[step], -step), default=0)
    return Style(tabs > spaces, unit)


def find_map(pairs: Sequence[Pair], needed: Sequence[str], style: Style) -> IndentMap | None:
    """Return the map that explains *pairs*. None without one, or if several do that lead to
    different results for the *needed* indentations."""
    own = _model_unit([*needed, *(old for old, _ in pairs)])
    distinct = Counter(pairs)
    simple = _matching_maps([_IDENTITY, *_simple_maps(distinct)], distinct, needed)
    two_steps = _matching_maps(_two_step_maps(distinct, style), distinct, needed)
    for group in (
        [found for found, misfits in simple if not misfits],
        [found for found, misfits in simple if misfits],
        [found for found, misfits in two_steps if not misfits],
    ):
        if group:
            return _agreed_map(group, needed, style, own)
    return _lookup_map(distinct, needed)


def _matching_maps(
    hypotheses: Iterable[IndentMap], pairs: Counter[Pair], needed: Sequence[str]
) -> list[tuple[IndentMap, int]]:
    return [
        (found, misfits)
        for found in hypotheses
        if (misfits := _count_misfits(found, pairs)) is not None
        and all(found.apply(lead) is not None for lead in needed)
    ]


def _count_misfits(found: IndentMap, pairs: Counter[Pair]) -> int | None:
    """Return how many pairs *found* does not explain, None if they are too many."""
    wrong = [pair for pair in pairs if found.apply(pair[0]) != pair[1]]
    count = sum(pairs[pair] for pair in wrong)
    if count == 0:
        return 0
    total = pairs.total()
    if count > 1:
        return None
    # A line at column 0 can have lost its indentation: that is no slip in one line.
    return count if total >= (5 if found.description else 3) and wrong[0][0] else None


def _model_unit(leads: Sequence[str]) -> int:
    """Return the spaces per level that the model uses, 0 if unknown."""
    widths = sorted({len(lead) for lead in leads})
    return math.gcd(*(b - a for a, b in itertools.pairwise(widths)))


def _agreed_map(
    group: list[IndentMap], needed: Sequence[str], style: Style, own: int
) -> IndentMap | None:
    answers: dict[tuple[str | None, ...], IndentMap] = {}
    for found in group:
        answers.setdefault(tuple(found.apply(lead) for lead in needed), found)
    if len(answers) > 1:
        # If the model's spaces per level are the file's, only its base level differs; if they
        # are others, it means the file's.
        other = bool(own) and bool(style.unit) and own != style.unit
        fitting = [
            found
            for answer, found in answers.items()
            if all(_matches_style(lead or "", style) for lead in answer)
            and found.units in (((own, style.unit),) if other else (None, (own, style.unit)))
        ]
        return fitting[0] if len(fitting) == 1 else None
    return next(iter(answers.values()))


def _matches_style(lead: str, style: Style) -> bool:
    if not lead:
        return True
    if style.tabs:
        return lead.startswith("\t")
    return "\t" not in lead and (not style.unit or len(lead) % style.unit == 0)


def _lookup_map(pairs: Counter[Pair], needed: Sequence[str]) -> IndentMap | None:
    """Return the map that looks up the file's indentation, if each of old_string's has just one."""
    table: dict[str, str] = {}
    for old, line in pairs:
        if table.setdefault(old, line) != line:
            return None
    if any(lead not in table for lead in needed):
        return None
    return IndentMap(table.get, "indentation as of the matched lines")


_IDENTITY = IndentMap(lambda lead: lead, "")


def _simple_maps(pairs: Counter[Pair]) -> Iterator[IndentMap]:
    first = next((pair for pair in pairs if pair[0] != pair[1]), None)
    if first is not None:
        yield from _shift_maps(first, _IDENTITY)
        yield from _unit_maps(pairs)


def _two_step_maps(pairs: Counter[Pair], style: Style) -> Iterator[IndentMap]:
    """Yield maps that change the unit and then shift the lines."""
    for conversion in _unit_maps(pairs):
        if conversion.units is not None and style.unit not in (0, conversion.units[1]):
            continue
        for old, line in pairs:
            turned = conversion.apply(old)
            if turned is not None and turned != line:
                yield from _shift_maps((turned, line), conversion)
                break


def _shift_maps(pair: Pair, first: IndentMap) -> Iterator[IndentMap]:
    """Yield maps that put the same text before every line, or remove it, after *first*."""
    old, line = pair

    def shift(change: Callable[[str], str | None], words: str) -> IndentMap:
        def apply(lead: str) -> str | None:
            turned = first.apply(lead)
            return None if turned is None else change(turned)

        return IndentMap(apply, f"{first.description}, {words}" if first.description else words)

    if line.endswith(old):
        more = line[: len(line) - len(old)]
        yield shift(lambda lead: more + lead, f"{describe_indent(more)} more")
    elif old.endswith(line):
        less = old[: len(old) - len(line)]
        yield shift(
            lambda lead: lead[len(less) :] if lead.startswith(less) else None,
            f"{describe_indent(less)} less",
        )


def _unit_maps(pairs: Counter[Pair]) -> Iterator[IndentMap]:
    if any("\t" in line for _, line in pairs) and not all("\t" in old for old, _ in pairs if old):
        yield from map(_to_tabs, _WIDTHS)
    elif any("\t" in old for old, _ in pairs):
        yield from map(_to_spaces, _WIDTHS)
    else:
        yield from (_scale(a, b) for a in _WIDTHS for b in _WIDTHS if a != b)


def _to_tabs(width: int) -> IndentMap:
    def convert(lead: str) -> str:
        tabs, rest = divmod(len(lead.expandtabs(width)), width)
        return "\t" * tabs + " " * rest

    return IndentMap(convert, f"from {width} spaces to tabs")


def _to_spaces(width: int) -> IndentMap:
    return IndentMap(lambda lead: lead.replace("\t", " " * width), f"from tabs to {width} spaces")


def _scale(a: int, b: int) -> IndentMap:
    def convert(lead: str) -> str:
        steps, rest = divmod(len(lead), a)
        return " " * (steps * b + rest)

    return IndentMap(convert, f"from {a} to {b} spaces", (a, b))


def describe_indent(lead: str) -> str:
    """Return indentation in words: "4 spaces", "2 tabs"."""
    tabs, spaces = lead.count("\t"), lead.count(" ")
    parts = [
        f"{count} {word if count == 1 else word + 's'}"
        for count, word in ((tabs, "tab"), (spaces, "space"))
        if count
    ]
    return " and ".join(parts) or "nothing"


STYLE_CONTEXT = 200
"""Lines around the block from which the file's style is detected."""

MIN_SIMILARITY = 0.5
"""The similarity of a changed line to the one that it replaces, to get its indentation."""
MIN_LENGTH = 8
"""Characters, without whitespace, that such a line must have."""

_AMBIGUOUS = (
    "old_string has another indentation than the file, and it is unclear whether "
    "new_string indents lines on purpose. Give old_string with the file's indentation."
)


@frozen
class Reindent:
    """The indentation of the lines of new_string in the file."""

    map: IndentMap
    overrides: Mapping[int, str] = field(default_factory=dict[int, str])
    """The indentation of single lines, by their number in new_string."""

    notes: tuple[str, ...] = ()

    def indent_of(self, number: int, lead: str) -> str:
        """Return the file's indentation for line *number* of new_string, which has *lead* there."""
        if number in self.overrides:
            return self.overrides[number]
        found = self.map.apply(lead)
        return lead if found is None else found


_NO_CHANGE = Reindent(IndentMap(lambda lead: lead, ""))


def is_only_old_misindented(sides: ThreeWay, pairs: Sequence[tuple[int, int]]) -> bool:
    """Return whether new_string has the file's indentation, and only old_string has another.

    *pairs* are the lines that both strings have. Raises ``EditRefused`` if the edit might also
    indent those lines on purpose.
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
        return _starts_at_file_depth(sides, leads)
    # Lines with the same indentation in old_string and the file prove nothing.
    telling = [(new == was, new == line) for was, line, new in kept if was != line]
    said = [sides_with for sides_with in telling if any(sides_with)]
    if not said or (said[0][0] and said[-1][0]):
        return False
    if said[0] != said[-1]:
        raise EditRefused(_AMBIGUOUS)
    shallowest = min(len(line) for _, line in leads.values())
    if all(was != line for was, line, _ in kept) and any(len(lead) < shallowest for lead in added):
        raise EditRefused(_AMBIGUOUS)
    return True


def _starts_at_file_depth(sides: ThreeWay, leads: dict[int, tuple[str, str]]) -> bool:
    """Return whether new_string, without a line in common with old, starts at the file's depth
    and not at old's."""
    new = [indentation(line) for line in sides.new if line.strip()]
    if not new or not leads:
        return False
    shallowest = min(new, key=len)
    was = min((was for was, _ in leads.values()), key=len)
    line = min((line for _, line in leads.values()), key=len)
    return was != line and shallowest == line


def choose_reindent(
    sides: ThreeWay, changed: Sequence[int], partner_of: Mapping[int, int], *, only_old: bool
) -> Reindent:
    """Return the indentation of the lines *changed* (their numbers in new). *partner_of* is the
    line of old that each one replaces, where that is clear. Raises ``EditRefused``."""
    leads = {n: indentation(sides.new[n]) for n in changed}
    if only_old or not leads:
        return _NO_CHANGE
    lost = _first_line_indent(sides, leads)
    if lost is not None:
        return Reindent(_NO_CHANGE.map, lost, ("the first line got its indentation back",))
    style = detect_style(
        sides.document.lines[max(0, sides.first - STYLE_CONTEXT) : sides.stop + STYLE_CONTEXT]
    )
    pairs = [(was, line) for _, was, line in sides.indents]
    needed = sorted(set(leads.values()))
    found = None if _lost_all_indentation(sides) else find_map(pairs, needed, style)
    if found is not None:
        notes = (
            (f"new_string was indented as the file is ({found.description})",)
            if found.description
            else ()
        )
        return Reindent(found, notes=notes)
    special = _indent_of_partners(sides, leads, partner_of)
    if special is not None:
        note = "each changed line was indented like the one that it replaces"
        return Reindent(_NO_CHANGE.map, special, (note,))
    raise EditRefused(
        "old_string is in the file with another indentation, and it is unclear how "
        "new_string's lines are to be indented. Give both with the file's indentation."
    )


def _lost_all_indentation(sides: ThreeWay) -> bool:
    """Return whether both strings have lost all indentation: even a line after an open bracket is
    at column 0."""
    lines = [line.rstrip() for line in sides.new if line.strip()]
    if any(map(indentation, (*lines, *filter(str.strip, sides.old)))) or not any(
        line for _, _, line in sides.indents
    ):
        return False
    return any(
        line.endswith(("{", "(", "[")) and not after.startswith(("}", ")", "]", "case", "default"))
        for line, after in itertools.pairwise(lines)
    )


def _first_line_indent(sides: ThreeWay, leads: dict[int, str]) -> dict[int, str] | None:
    """Return the first line's indentation, if only that line has lost it in both strings."""
    (_, was, line), *rest = sides.indents
    if was or not line or not rest or any(old != file for _, old, file in rest):
        return None
    first = next(n for n, text in enumerate(sides.new) if text.strip())
    others = [lead for n, lead in leads.items() if n != first]
    if not all(others) and all(old for _, old, _ in rest):
        return None
    return {first: line} if leads.get(first) == "" else {}


def _indent_of_partners(
    sides: ThreeWay, leads: dict[int, str], partner_of: Mapping[int, int]
) -> dict[int, str] | None:
    """Return the indentation of each line as that of the similar line that it replaces."""
    known = {old: (was, line) for old, was, line in sides.indents}
    special: dict[int, str] = {}
    for n, lead in leads.items():
        i = partner_of.get(n)
        if i is None or i not in known or known[i][0] != lead:
            return None
        if (
            len(compact_key(sides.old[i])) < MIN_LENGTH
            or similarity(compact_key(sides.old[i]), compact_key(sides.new[n])) < MIN_SIMILARITY
        ):
            return None
        special[n] = known[i][1]
    return special
