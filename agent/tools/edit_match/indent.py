"""From old_string's indentation to the file's (spec 3, E2).

The pairs of indentation of matched lines are evidence; a map is a hypothesis that explains
them. Lines that ``new_string`` adds take the file's indentation by that map. Where the
evidence allows two answers and nothing tells them apart, there is no answer.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

Pair = tuple[str, str]
"""The indentation of a line in old_string and in the file."""

_WIDTHS = (4, 2, 8, 3)
"""Spaces that stand for a step of indentation, likely first."""


@dataclass(frozen=True, slots=True)
class Style:
    """How the file indents near the block: by tabs, or by *unit* spaces (0: unknown)."""

    tabs: bool
    unit: int


@dataclass(frozen=True, slots=True)
class IndentMap:
    """*apply* gives the file's indentation for one of old_string, None where it has none.

    *words* say what it does, empty for "nothing"; *units* are the steps that it turns from
    and into, where it turns spaces into spaces.
    """

    apply: Callable[[str], str | None]
    words: str
    units: tuple[int, int] | None = None


def guess_style(lines: Sequence[str]) -> Style:
    """The style of *lines*, from the steps between neighbours."""
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
        elif not text.startswith("*"):  # the lines of a block comment stand a column further in
            spaces += bool(lead)
            if len(lead) > before:
                steps[len(lead) - before] += 1
            before = len(lead)
    unit = max(steps, key=lambda step: (steps[step], -step), default=0)
    return Style(tabs > spaces, unit)


def find_map(pairs: Sequence[Pair], needed: Sequence[str], style: Style) -> IndentMap | None:
    """The map that explains *pairs*, or None if there is none or they leave a choice that
    matters for the *needed* indentations."""
    own = _own_unit([*needed, *(old for old, _ in pairs)])
    distinct = Counter(pairs)
    simple = _fitting([_AS_IT_IS, *_hypotheses(distinct)], distinct, needed)
    two_steps = _fitting(_two_steps(distinct, style), distinct, needed)
    for group in (
        [found for found, misfits in simple if not misfits],
        [found for found, misfits in simple if misfits],
        [found for found, misfits in two_steps if not misfits],
    ):
        if group:
            return _agreed(group, needed, style, own)
    return _table(distinct, needed)


def _fitting(
    hypotheses: Iterable[IndentMap], pairs: Counter[Pair], needed: Sequence[str]
) -> list[tuple[IndentMap, int]]:
    return [
        (found, misfits)
        for found in hypotheses
        if (misfits := _misfits(found, pairs)) is not None
        and all(found.apply(lead) is not None for lead in needed)
    ]


def _misfits(found: IndentMap, pairs: Counter[Pair]) -> int | None:
    """How many pairs *found* does not explain; None if that is too many for it."""
    wrong = [pair for pair in pairs if found.apply(pair[0]) != pair[1]]
    count = sum(pairs[pair] for pair in wrong)
    if count == 0:
        return 0
    total = pairs.total()
    if count > 1:
        return None
    # A line at column 0 may have lost its indentation on the way: that is no slip of one line.
    return count if total >= (5 if found.words else 3) and wrong[0][0] else None


def _own_unit(leads: Sequence[str]) -> int:
    """The step by which the model indents, 0 if that cannot be seen."""
    widths = sorted({len(lead) for lead in leads})
    return math.gcd(*(b - a for a, b in itertools.pairwise(widths)))


def _agreed(
    group: list[IndentMap], needed: Sequence[str], style: Style, own: int
) -> IndentMap | None:
    answers: dict[tuple[str | None, ...], IndentMap] = {}
    for found in group:
        answers.setdefault(tuple(found.apply(lead) for lead in needed), found)
    if len(answers) > 1:
        # Whoever indents by the file's step has only begun elsewhere; who indents by another
        # one means the file's.
        other = bool(own) and bool(style.unit) and own != style.unit
        fitting = [
            found
            for answer, found in answers.items()
            if all(_in_style(lead or "", style) for lead in answer)
            and found.units in (((own, style.unit),) if other else (None, (own, style.unit)))
        ]
        return fitting[0] if len(fitting) == 1 else None
    return next(iter(answers.values()))


def _in_style(lead: str, style: Style) -> bool:
    if not lead:
        return True
    if style.tabs:
        return lead.startswith("\t")
    return "\t" not in lead and (not style.unit or len(lead) % style.unit == 0)


def _table(pairs: Counter[Pair], needed: Sequence[str]) -> IndentMap | None:
    """Each of old_string's indentations leads to just one of the file's: look it up."""
    table: dict[str, str] = {}
    for old, line in pairs:
        if table.setdefault(old, line) != line:
            return None
    if any(lead not in table for lead in needed):
        return None
    return IndentMap(table.get, "indentation as of the matched lines")


_AS_IT_IS = IndentMap(lambda lead: lead, "")


def _hypotheses(pairs: Counter[Pair]) -> Iterator[IndentMap]:
    first = next((pair for pair in pairs if pair[0] != pair[1]), None)
    if first is not None:
        yield from _shifts(first, _AS_IT_IS)
        yield from _conversions(pairs)


def _two_steps(pairs: Counter[Pair], style: Style) -> Iterator[IndentMap]:
    """Other units, and deeper or less deep besides."""
    for conversion in _conversions(pairs):
        if conversion.units is not None and style.unit not in (0, conversion.units[1]):
            continue
        for old, line in pairs:
            turned = conversion.apply(old)
            if turned is not None and turned != line:
                yield from _shifts((turned, line), conversion)
                break


def _shifts(pair: Pair, first: IndentMap) -> Iterator[IndentMap]:
    """The same text put before, or taken away, everywhere, after what *first* does."""
    old, line = pair

    def shift(change: Callable[[str], str | None], words: str) -> IndentMap:
        def apply(lead: str) -> str | None:
            turned = first.apply(lead)
            return None if turned is None else change(turned)

        return IndentMap(apply, f"{first.words}, {words}" if first.words else words)

    if line.endswith(old):
        more = line[: len(line) - len(old)]
        yield shift(lambda lead: more + lead, f"{name(more)} more")
    elif old.endswith(line):
        less = old[: len(old) - len(line)]
        yield shift(
            lambda lead: lead[len(less) :] if lead.startswith(less) else None, f"{name(less)} less"
        )


def _conversions(pairs: Counter[Pair]) -> Iterator[IndentMap]:
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


def name(lead: str) -> str:
    """Indentation in words: "4 spaces", "2 tabs"."""
    tabs, spaces = lead.count("\t"), lead.count(" ")
    parts = [
        f"{count} {word if count == 1 else word + 's'}"
        for count, word in ((tabs, "tab"), (spaces, "space"))
        if count
    ]
    return " and ".join(parts) or "nothing"
