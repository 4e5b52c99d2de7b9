"""The map from the indentation of old_string to that of the file."""

from collections.abc import Sequence

import pytest

from agent.tools.edit_match.apply import find_offsets
from agent.tools.edit_match.indent import Pair, Style, describe_indent, detect_style, find_map
from tests.agent.tools.edit_match.hunks import after

SPACES, TABS, UNKNOWN = Style(tabs=False, unit=4), Style(tabs=True, unit=0), Style(False, 0)


def sp(count: int) -> str:
    return " " * count


@pytest.mark.parametrize(
    ("lines", "style"),
    [
        ([], UNKNOWN),
        (["a", "", "b"], UNKNOWN),
        (["a", "  b", "    c", "d", "  e"], Style(tabs=False, unit=2)),
        (["a", "    b", "", "        c"], SPACES),
        # The lines of a block comment are indented by one more column, and prove nothing.
        (["/*", " * a", " * b", " */", "    c"], SPACES),
        (["a", "\tb", "\t\tc"], TABS),
        (["a", "\tb", "\tc", "    d"], Style(tabs=True, unit=4)),
        (["a", "\tb", "    c", "    d"], SPACES),
        # As many steps of two widths: the smaller one makes both.
        (["a", "    b", "c", "  d"], Style(tabs=False, unit=2)),
        # A line with less indentation is no step, and the next one counts from it.
        (["a", "    b", "  c", "      d", "  e"], SPACES),
    ],
)
def test_the_style_of_lines_is_that_of_their_steps(lines: list[str], style: Style) -> None:
    assert detect_style(lines) == style


@pytest.mark.parametrize(
    ("lead", "words"),
    [
        ("", "nothing"),
        ("\t", "1 tab"),
        ("\t\t", "2 tabs"),
        (" ", "1 space"),
        (sp(4), "4 spaces"),
        ("\t  ", "1 tab and 2 spaces"),
    ],
)
def test_indentation_in_words(lead: str, words: str) -> None:
    assert describe_indent(lead) == words


@pytest.mark.parametrize(
    ("pairs", "needed", "style", "answers", "words"),
    [
        # The same text put before, or taken away.
        ([(sp(4), sp(4))], ["", sp(8)], SPACES, ["", sp(8)], ""),
        ([("", sp(4))], ["", sp(2)], UNKNOWN, [sp(4), sp(6)], "4 spaces more"),
        ([(sp(8), sp(4))], [sp(8), sp(12)], SPACES, [sp(4), sp(8)], "4 spaces less"),
        ([("\t\t", "\t")], ["\t\t\t"], TABS, ["\t\t"], "1 tab less"),
        # Other steps.
        (
            [(sp(2), sp(4)), (sp(4), sp(8))],
            [sp(6)],
            SPACES,
            [sp(12)],
            "from 2 to 4 spaces",
        ),
        ([(sp(4), "\t"), (sp(8), "\t\t")], [sp(12)], TABS, ["\t\t\t"], "from 4 spaces to tabs"),
        (
            [("\t", sp(2)), ("\t\t", sp(4))],
            ["\t\t\t"],
            Style(tabs=False, unit=2),
            [sp(6)],
            "from tabs to 2 spaces",
        ),
        # The remainder after whole steps stays.
        ([(sp(4), "\t"), (sp(8), "\t\t")], [sp(6)], TABS, ["\t  "], "from 4 spaces to tabs"),
        ([(sp(2), sp(4)), (sp(4), sp(8))], [sp(3)], UNKNOWN, [sp(5)], "from 2 to 4 spaces"),
        # Both: other steps, and deeper besides.
        (
            [("", "\t"), (sp(4), "\t\t"), (sp(8), "\t\t\t")],
            [sp(12)],
            TABS,
            ["\t\t\t\t"],
            "from 4 spaces to tabs, 1 tab more",
        ),
        (
            [("", sp(4)), (sp(2), sp(8)), (sp(4), sp(12))],
            [sp(6)],
            SPACES,
            [sp(16)],
            "from 2 to 4 spaces, 4 spaces more",
        ),
    ],
)
def test_the_map_explains_all_pairs(
    pairs: list[Pair], needed: Sequence[str], style: Style, answers: list[str], words: str
) -> None:
    found = find_map(pairs, needed, style)
    assert found is not None
    assert [found.apply(lead) for lead in needed] == answers
    assert found.description == words
    assert all(found.apply(old) == line for old, line in pairs)


def test_one_slip_among_many_lines_is_passed_over() -> None:
    """Two odd lines are no slip, nor is one among few others, nor a line without indentation."""
    right = [(sp(2), sp(4)), (sp(4), sp(8)), (sp(6), sp(12)), (sp(2), sp(4))]
    slip = (sp(8), sp(15))
    found = find_map([*right, slip], [sp(10)], SPACES)
    assert found is not None
    assert found.apply(sp(10)) == sp(20)
    assert find_map([*right[1:], slip], [sp(10)], SPACES) is None
    assert find_map([*right, slip, (sp(12), sp(23))], [sp(10)], SPACES) is None
    assert find_map([*right, ("", sp(3))], [sp(10)], SPACES) is None
    same = [(sp(4), sp(4)), (sp(8), sp(8))]
    kept = find_map([*same, (sp(2), sp(3))], [sp(12)], SPACES)
    assert kept is not None
    assert kept.description == ""
    assert find_map([same[0], (sp(2), sp(3))], [sp(12)], SPACES) is None


def test_of_two_results_the_files_style_decides_or_the_edit_is_refused() -> None:
    """Four spaces that became eight mean four more or twice as many."""
    pair = [(sp(4), sp(8))]
    # A model that indents by the file's step started at another column.
    found = find_map(pair, [sp(4), sp(8)], SPACES)
    assert found is not None
    assert found.apply(sp(8)) == sp(12)
    # A model that indents by another step than the file means the file's step.
    found = find_map([(sp(2), sp(4))], [sp(2), sp(4)], SPACES)
    assert found is not None
    assert found.apply(sp(4)) == sp(8)
    # Without a known step of the file, nothing can be concluded.
    assert find_map([(sp(2), sp(4))], [sp(2), sp(4), sp(6)], Style(False, 3)) is None


def test_without_a_rule_each_indentation_is_looked_up() -> None:
    odd = [("", sp(1)), (sp(2), sp(7)), (sp(5), sp(9))]
    found = find_map(odd, ["", sp(5)], UNKNOWN)
    assert found is not None
    assert [found.apply(old) for old, _ in odd] == [line for _, line in odd]
    assert find_map(odd, [sp(4)], UNKNOWN) is None, "nothing was seen of it"
    assert find_map([*odd, (sp(2), sp(8))], [sp(2)], UNKNOWN) is None, "it leads to two"


def test_places_are_adjacent_or_overlap() -> None:
    assert find_offsets("aaaa", "aa", overlapping=False) == [0, 2]
    assert find_offsets("aaaa", "aa", overlapping=True) == [0, 1, 2]
    assert find_offsets("b", "aa", overlapping=True) == []


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        # An addition of a few characters can be intended twice.
        ("x = 1\nf()\nf()\n", "x = 1\nf()\n", "x = 1\nf()\nf()\n", "x = 1\nf()\nf()\nf()\n"),
        # A line break that new_string lacks, at either edge.
        ("a\nb\nc\n", "b\n", "B", "a\nB\nc\n"),
        ("a\nb\nc\n", "\nb", "B", "a\nB\nc\n"),
        ("a\nb\n", "b\n", "B", "a\nB"),
        # Indentation that the file has already is not doubled.
        ("  one(1)\n", "one(1)", "  two(2)", "  two(2)\n"),
        # Further lines are indented like the line that they replace.
        ("    one(1)\n", "one(1)", "one(1)\ntwo(2)", "    one(1)\n    two(2)\n"),
        ("    one(1)\n", "one(1)", "one(1)\n    two(2)", "    one(1)\n    two(2)\n"),
        # Below an open bracket they are indented deeper, if they are not yet.
        (
            "    one(1)\n",
            "one(1)",
            "one(\n    1,\n    2,\n)",
            "    one(\n        1,\n        2,\n    )\n",
        ),
        (
            "    one(1)\n",
            "one(1)",
            "one(\n        1,\n    )",
            "    one(\n        1,\n    )\n",
        ),
        ("  if a:\n", "if a:", "if b:\n  c()", "  if b:\n    c()\n"),
        # In the middle of a line nothing is indented.
        ("  x = one\n", "one", "one\ntwo", "  x = one\ntwo\n"),
    ],
)
def test_the_edges_of_an_exact_edit(text: str, old: str, new: str, result: str) -> None:
    assert after(text, old, new) == result
