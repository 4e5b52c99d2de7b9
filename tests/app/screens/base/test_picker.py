"""List rows with notes in a column and text at their right edge."""

import pytest
from textual.content import Content

from app.screens.base.picker import TwoColumnRow


@pytest.mark.parametrize(
    ("left", "right", "width", "shown"),
    [
        ("New session", "ctrl+x n", 24, "New session     ctrl+x n"),
        ("New session", "ctrl+x n", 20, "New sessi…  ctrl+x n"),
        ("New session", "ctrl+x n", 16, "New session"),
        ("New session", "", 8, "New ses…"),
        ("表の幅を測る長い題", "4 turns", 20, "表の幅を測…  4 turns"),
        ("a", "b", 6, "a    b"),
    ],
)
def test_the_left_is_cut_and_the_right_stays(left: str, right: str, width: int, shown: str) -> None:
    line = TwoColumnRow(Content(left), Content(right)).line(width)
    assert line.plain == shown
    assert line.cell_length <= width


@pytest.mark.parametrize(
    ("note", "right", "width", "shown"),
    [
        ("/new", "ctrl+x n", 40, "New session      /new           ctrl+x n"),
        ("platform.example.org", "", 38, "New session      platform.example.org"),
        ("platform.example.org", "", 36, "New session      platform.example.o…"),
        ("platform.example.org", "", 32, "New session   platform.example.…"),
        ("platform.example.org", "", 28, "New session"),
        ("/new", "ctrl+x n", 25, "New session      ctrl+x n"),
    ],
)
def test_a_note_is_in_its_column_if_it_fits_there(
    note: str, right: str, width: int, shown: str
) -> None:
    row = TwoColumnRow(Content("New session"), Content(right), Content(note), columns=(17,))
    assert row.line(width).plain == shown


def test_long_notes_stay_in_the_column_of_the_others() -> None:
    notes = {"Vertex AI": "console.cloud.google.com/vertex-ai/studio/keys", "Groq": "groq.com"}
    for width, column in ((80, 20), (40, 20), (32, 14)):
        for title, note in notes.items():
            row = TwoColumnRow(Content(title), Content(""), Content(note), columns=(14, 20, 45))
            assert row.line(width).plain.index(note[:5]) == column


def test_a_heading_has_no_columns_where_its_rows_have_none() -> None:
    row = TwoColumnRow(Content("bench-model"), Content("context   $/M in"))
    heading = TwoColumnRow(Content("local"), Content("context   $/M in"), heading=True)
    for width in (26, 27, 28, 40):
        assert ("context" in row.line(width).plain) == ("context" in heading.line(width).plain)


def test_the_right_side_is_shortened_before_the_title_is_lost() -> None:
    right = Content("working 2m  Bash pytest -q tests/imports  6 turns  $0.42")
    row = TwoColumnRow(Content("Fix empty CSV import"), right, short_right=Content("working 2m"))
    assert row.line(90).plain.endswith("$0.42")
    narrow = row.line(60).plain
    assert narrow.startswith("Fix empty CSV import")
    assert narrow.endswith("working 2m")
