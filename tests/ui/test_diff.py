"""U2: diffs as full-width rows with changed words marked."""

from dataclasses import replace

import pytest

from agent.display import DiffBlock
from app.themes import DARK_TONES
from app.widgets.transcript.blocks import DIFF_LINES, Shown, draw
from app.widgets.transcript.diff import changed_words, diff_lines
from app.widgets.transcript.lines import Line, Page
from tests.support.records import diff

PAGE = Page(80, DARK_TONES)
EDIT = diff(
    "a.py",
    " def read_rows(path):",
    "-    header = next(rows)",
    "+    header = next(rows, None)",
    "+    if header is None:",
    first=38,
)


def grounds(line: Line) -> set[str]:
    return {s.style.bgcolor.name for s in line.strip if s.style and s.style.bgcolor}


def texts(block: DiffBlock, page: Page = PAGE) -> list[str]:
    return [line.strip.text.rstrip() for line in diff_lines(block, page, 4)]


def test_rows_have_numbers_and_signs() -> None:
    assert texts(EDIT) == [
        "      38   def read_rows(path):",
        "      39 −     header = next(rows)",
        "      39 +     header = next(rows, None)",
        "      40 +     if header is None:",
    ]


def test_one_of_several_diffs_says_what_it_is_of() -> None:
    moved = replace(EDIT, change="move", moved_from="old/b.py")
    gone = replace(EDIT, path="p" * 90, change="delete")
    for block, title in (
        (EDIT, "    a.py  +2 −1"),
        (moved, "    a.py  moved from old/b.py  +2 −1"),
    ):
        first, *rest = [
            line.strip.text.rstrip() for line in diff_lines(block, PAGE, 4, titled=True)
        ]
        assert first == title
        assert rest == texts(EDIT)
    first = next(diff_lines(gone, PAGE, 4, titled=True)).strip
    assert first.text.rstrip().endswith("p…  deleted  +2 −1")
    assert first.cell_length <= PAGE.width


def test_grounds_reach_from_the_indent_to_the_margin() -> None:
    context, removed, added, _ = diff_lines(EDIT, PAGE, 4)
    assert grounds(context) == {DARK_TONES.ground}
    assert DARK_TONES.removed in grounds(removed)
    assert grounds(added) == {DARK_TONES.ground, DARK_TONES.added, DARK_TONES.added_word}
    assert removed.strip.cell_length == added.strip.cell_length == PAGE.right


def test_changed_words_are_marked() -> None:
    added = list(diff_lines(EDIT, PAGE, 4))[2]
    ground = DARK_TONES.added_word
    marked = [s.text for s in added.strip if s.style and s.style.bgcolor.name == ground]
    assert marked == [", None"]


@pytest.mark.parametrize(
    ("old", "new", "spans"),
    [
        ("a = 1", "a = 2", ([(4, 5)], [(4, 5)])),
        ("f(a, b)", "f(a, c, b)", ([], [(5, 8)])),
        ("completely", "other thing here", ([], [])),
        ("x" * 600, "x" * 601, ([], [])),
    ],
)
def test_words_that_differ(old: str, new: str, spans: object) -> None:
    assert changed_words(old, new) == spans


def test_copying_leaves_numbers_and_signs_out() -> None:
    assert [line.copied for line in diff_lines(EDIT, PAGE, 4)] == [
        "def read_rows(path):",
        "    header = next(rows)",
        "    header = next(rows, None)",
        "    if header is None:",
    ]


@pytest.mark.parametrize("width", [20, 26, 40])
def test_long_lines_fold_within_the_width(width: int) -> None:
    page = Page(width, DARK_TONES)
    lines = list(diff_lines(diff("a", "+" + "表x" * 60), page, page.indent()))
    assert all(line.strip.cell_length <= page.right for line in lines)
    assert "".join(line.copied for line in lines) == "表x" * 60


def test_tabs_and_escapes_are_cleaned() -> None:
    assert texts(diff("a", "+\tif x:\x1b[2J")) == ["       1 +     if x:␛[2J"]


def test_long_diff_folds() -> None:
    block = diff("a", *[f"+line {n}" for n in range(DIFF_LINES + 20)])
    folded, foldable = draw(block, Shown(PAGE, 4))
    unfolded, _ = draw(block, Shown(PAGE, 4, open=True))
    assert foldable
    assert len(folded) == DIFF_LINES + 1
    assert folded[-1].strip.text.strip() == "… 20 more lines"
    assert folded[-1].toggles
    assert len(unfolded) == DIFF_LINES + 20


def test_what_was_left_out_is_said() -> None:
    block = DiffBlock("a", EDIT.hunks, 2, 1, change="move", moved_from="b.py", omitted=7)
    rows = texts(block)
    assert rows[0].strip() == "moved from b.py"
    assert rows[-1].strip() == "7 more lines are not shown"
