"""Diffs as full-width rows with changed words marked."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style
from rich.text import Text
from textual.theme import BUILTIN_THEMES

from agent.records.blocks import DiffBlock, DiffLine, Hunk
from app.text.file_links import FileLinks
from app.theme.themes import (
    DARK_PALETTE,
    LIGHT_PALETTE,
    MIN_CONTRAST,
    Palette,
    contrast,
    palette_of,
)
from app.widgets.transcript.blocks import DIFF_LINES, BlockContext, draw_block
from app.widgets.transcript.diff import changed_words, diff_head, diff_lines, split_fits
from app.widgets.transcript.lines import Line, Page, add_links, fold, make_line
from tests.support.records import diff

PAGE = Page(80, DARK_PALETTE)
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
        "      38   38   def read_rows(path):",
        "      39      −     header = next(rows)",
        "           39 +     header = next(rows, None)",
        "           40 +     if header is None:",
    ]


def test_one_of_several_diffs_has_a_title() -> None:
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


def test_backgrounds_reach_from_the_indent_to_the_margin() -> None:
    context, removed, added, _ = diff_lines(EDIT, PAGE, 4)
    assert grounds(context) == {DARK_PALETTE.ground}
    assert DARK_PALETTE.removed in grounds(removed)
    assert grounds(added) == {DARK_PALETTE.ground, DARK_PALETTE.added, DARK_PALETTE.added_word}
    assert removed.strip.cell_length == added.strip.cell_length == PAGE.right


def test_changed_words_are_marked() -> None:
    added = list(diff_lines(EDIT, PAGE, 4))[2]
    ground = DARK_PALETTE.added_word
    marked = [s.text for s in added.strip if s.style and s.style.bgcolor.name == ground]
    assert "".join(marked) == ", None"


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
    page = Page(width, DARK_PALETTE)
    lines = list(diff_lines(diff("a", "+" + "表x" * 60), page, page.indent))
    assert all(line.strip.cell_length <= page.right for line in lines)
    assert "".join(line.copied for line in lines) == "表x" * 60


def test_tabs_and_escapes_are_sanitized() -> None:
    assert texts(diff("a", "+\tif x:\x1b[2J")) == ["       1 +     if x:␛[2J"]


LONG_EDIT = diff(
    "src/imports/reader.py",
    " def read_rows(path: Path) -> Iterator[Row]:",
    '     """Rows of a file."""',
    "-    header = next(rows)",
    "-    # the first row names the columns",
    "+    header = next(rows, None)",
    " ",
    " for 表 in rows:",
    "+    if header is None:  # 漢字の注釈",
    '+        return "' + "x" * 70 + '"',
    first=38,
)
WIDE = Page(140, DARK_PALETTE)


def test_wide_pages_show_old_and_new_side_by_side() -> None:
    rows = list(diff_lines(LONG_EDIT, WIDE, 4))
    texts = [row.strip.text for row in rows]
    assert "next(rows)" in texts[2]
    assert "next(rows, None)" in texts[2]
    assert "names the columns" in texts[3]
    assert all(row.strip.cell_length == WIDE.right for row in rows)
    assert texts[0].index("def read_rows", 60) == texts[2].index("header", 60) - 4


@pytest.mark.parametrize("width", [118, 119, 140, 200, 240])
def test_side_by_side_keeps_its_columns_with_wide_characters(width: int) -> None:
    page = Page(width, DARK_PALETTE)
    rows = list(diff_lines(LONG_EDIT, page, 4))
    assert {row.strip.cell_length for row in rows} == {page.right}


def test_copying_a_side_by_side_diff_gives_the_new_text_or_only_removed_lines() -> None:
    copied = "".join(
        f"{row.join}{row.copied}" if at else row.copied
        for at, row in enumerate(diff_lines(LONG_EDIT, WIDE, 4))
    )
    assert copied.split("\n") == [
        "def read_rows(path: Path) -> Iterator[Row]:",
        '    """Rows of a file."""',
        "    header = next(rows, None)",
        "    # the first row names the columns",
        "",
        "for 表 in rows:",
        "    if header is None:  # 漢字の注釈",
        '        return "' + "x" * 70 + '"',
    ]


@pytest.mark.parametrize(
    ("page", "block", "split"),
    [
        (WIDE, EDIT, True),
        (Page(119, DARK_PALETTE), EDIT, True),
        (Page(110, DARK_PALETTE), EDIT, False),
        (Page(140, DARK_PALETTE, "unified"), EDIT, False),
        (Page(80, DARK_PALETTE, "split"), EDIT, True),
        (Page(50, DARK_PALETTE, "split"), EDIT, False),
        (WIDE, diff("a.py", "+only", "+added"), False),
    ],
)
def test_when_diffs_are_shown_side_by_side(page: Page, block: DiffBlock, split: bool) -> None:
    assert split_fits(block, page, 4) is split


def colors(line: Line) -> dict[str, str]:
    """Return the color of each piece of a row."""
    return {s.text.strip(): s.style.color.name for s in line.strip if s.style and s.style.color}


def test_code_is_highlighted() -> None:
    context, removed, *_ = diff_lines(EDIT, PAGE, 4)
    assert colors(context)["def"] == DARK_PALETTE.blue
    assert colors(context)["read_rows"] == DARK_PALETTE.accent
    assert colors(removed)["header"] == DARK_PALETTE.text
    unknown = next(diff_lines(replace(EDIT, path="notes"), PAGE, 4))
    assert colors(unknown)["def read_rows(path):"] == DARK_PALETTE.muted


@pytest.mark.parametrize("tones", [DARK_PALETTE, LIGHT_PALETTE], ids=["dark", "light"])
def test_code_is_readable_on_the_backgrounds_of_a_diff(tones: Palette) -> None:
    page = Page(80, tones)
    for line in diff_lines(LONG_EDIT, page, 4):
        for part in line.strip:
            if part.text.strip() and part.style and part.style.color and part.style.bgcolor:
                assert contrast(part.style.color.name, part.style.bgcolor.name) >= MIN_CONTRAST


def test_without_backgrounds_the_text_color_shows_changes() -> None:
    ansi = palette_of(BUILTIN_THEMES["ansi-dark"])
    _, removed, added, _ = diff_lines(EDIT, Page(80, ansi), 4)
    assert {"red"} <= set(colors(removed).values()) <= {"red", "default"}
    assert {"green"} <= set(colors(added).values()) <= {"green", "default"}


def test_a_huge_diff_is_highlighted_compared_and_drawn_only_in_part() -> None:
    long = diff(
        "a.py", *[f"{sign} = {n} # {'y' * 40}" for n in range(2_000) for sign in ("-x", "+z")]
    )
    rows = list(diff_lines(long, PAGE, 4))
    assert len(rows) == 4_000
    assert colors(rows[0])[f"# {'y' * 40}"] != DARK_PALETTE.removed_text
    assert DARK_PALETTE.removed_text in colors(rows[-2]).values()
    assert DARK_PALETTE.removed_word in grounds(rows[2])
    assert DARK_PALETTE.removed_word not in grounds(rows[-2])
    head, left = diff_head(long, PAGE, 4, 40)
    assert [row.copied for row in head] == [row.copied for row in rows[:40]]
    assert left == 3_960


def test_long_diff_folds() -> None:
    block = diff("a", *[f"+line {n}" for n in range(DIFF_LINES + 20)])
    folded, foldable = draw_block(block, BlockContext(PAGE, 4))
    unfolded, _ = draw_block(block, BlockContext(PAGE, 4, open=True))
    assert foldable
    assert len(folded) == DIFF_LINES + 1
    assert folded[-1].strip.text.strip() == "… 20 more lines"
    assert folded[-1].toggles
    assert len(unfolded) == DIFF_LINES + 20


def test_omitted_lines_are_counted() -> None:
    block = DiffBlock("a", EDIT.hunks, 2, 1, change="move", moved_from="b.py", omitted=7)
    rows = texts(block)
    assert rows[0].strip() == "moved from b.py"
    assert rows[-1].strip() == "7 more lines are not shown"


def test_one_column_of_numbers_is_enough_for_one_side_and_narrow_pages() -> None:
    made = DiffBlock("a.py", (Hunk(0, (DiffLine("add", None, 1, "one"),)),), 1, 0, change="create")
    assert texts(made) == ["       1 + one"]
    narrow = replace(PAGE, width=50)
    rows = [line.strip.text.rstrip() for line in diff_lines(EDIT, narrow, 0)]
    assert rows[:2] == ["38   def read_rows(path):", "39 −     header = next(rows)"]


def test_rows_end_at_spaces_and_a_broken_word_is_marked_but_not_copied() -> None:
    def folded(text: str, width: int) -> list[str]:
        rows = fold(Text(text), width)
        return ["".join(segment.text for segment in row) for row, _ in rows]

    assert folded("one two three four five", 14) == ["one two three ", "four five"]
    assert folded("a" * 50, 24) == ["a" * 23 + "↩", "a" * 23 + "↩", "aaaa"]
    assert folded("表" * 15, 20) == ["表" * 10, "表" * 5]
    assert folded("    " + "b" * 30, 24) == ["    " + "b" * 19 + "↩", "b" * 11]
    lines = [make_line(row, join=join) for row, join in fold(Text("a" * 50), 24)]
    assert "".join(line.join.strip() + line.copied for line in lines) == "a" * 50


@given(st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=120), st.integers(1, 40))
def test_a_folded_line_has_the_same_text_within_its_width(text: str, width: int) -> None:
    rows = list(fold(Text(text), width))
    lines = [make_line(row) for row, _ in rows]
    assert "".join(line.copied for line in lines) == text
    if width > 2:
        assert all(line.strip.cell_length <= width for line in lines)


def test_web_addresses_are_links_without_the_punctuation_after_them() -> None:
    text = add_links(Text("see (https://example.org/a?b=c#d), or http://x.org/y_z."), FileLinks())
    links = [span.style.link for span in text.spans if isinstance(span.style, Style)]
    assert links == ["https://example.org/a?b=c#d", "http://x.org/y_z"]
    rows = [row for row, _ in fold(text, 20)]
    assert all(any(s.style and s.style.link for s in row) for row in rows[:3])
    assert (
        add_links(Text("https://a\x1b]8;;x\x07b"), FileLinks()).spans[0].style.link == "https://a"
    )
