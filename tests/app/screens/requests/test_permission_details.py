"""The details of a permission request."""

from dataclasses import replace

import pytest
from textual.content import Content

from agent.records.requests import EvaluatedNeed, PermissionNeed
from app.screens.requests.permission_details import (
    VERDICT_WIDTH,
    always_text,
    hanging_indent,
    needs_text,
    scope_text,
)
from tests.app.screens.requests.examples import request

LONG = (
    "uv run pytest tests/app/screens/requests/test_permission.py -q -k 'long or wide' --maxfail=1"
)
PATH = "/srv/" + "deep/" * 40 + "end"


def judged(text: str, reason: str = "no rule allows it", **more: object) -> EvaluatedNeed:
    return EvaluatedNeed(PermissionNeed("bash", text, **more), "ask", reason)  # pyright: ignore[reportArgumentType]


def rows(width: int, *needs: EvaluatedNeed, above: bool = True) -> list[str]:
    return needs_text(needs, width, above=above).plain.split("\n")


@pytest.mark.parametrize("width", [30, 38, 60, 74, 120])
def test_rows_fit_the_dialog_and_wrapped_lines_are_indented(width: int) -> None:
    shown = rows(width, judged("cd app"), judged(LONG), judged(PATH, "outside", destructive=True))
    assert max(Content(row).cell_length for row in shown) <= width
    starts = [row for row in shown if row.startswith("ask")]
    assert len(starts) == 3
    assert all(row.startswith(" " * VERDICT_WIDTH) for row in shown if not row.startswith("ask"))
    words = " ".join("\n".join(shown).split())
    assert "--maxfail=1" in words
    assert "".join(PATH.split()) in words.replace(" ", "")


def test_a_short_part_has_its_reason_next_to_it() -> None:
    assert rows(60, judged("cd app"), judged("npm ci", "no rule")) == [
        "ask   cd app   no rule allows it",
        "ask   npm ci   no rule",
    ]


def test_a_long_reason_stays_in_its_column() -> None:
    reason = "writes outside the project, to a folder that nobody named before"
    shown = rows(50, judged("npm ci", reason))
    assert len(shown) > 1
    assert all(row.startswith(" " * 15) for row in shown[1:])


def test_only_parts_that_are_shown_in_full_above_are_cut() -> None:
    whole = "x" * 1_000
    assert "1,000 characters, shown in full above" in " ".join(
        " ".join(rows(80, judged(whole))).split()
    )
    shown = rows(80, judged(whole), above=False)
    assert "".join(row.removeprefix("ask").strip() for row in shown).startswith(whole)


def test_the_always_patterns_are_indented() -> None:
    asked = request(always=(("bash", LONG + " *"), ("edit", PATH)))
    for width in (38, 74):
        shown = always_text(asked, width).plain.split("\n")
        assert max(Content(row).cell_length for row in shown) <= width
        assert shown[0].startswith("“Always” allows")
        assert all(row.startswith("  ") for row in shown[1:])


def test_always_to_every_call_of_a_tool_does_not_read_as_everything() -> None:
    asked = replace(request(always=(("shop_buy", "*"), ("bash", "ls *"))), tool="shop_buy")
    assert always_text(asked, 80).plain.split("\n") == [
        "“Always” allows  every call of shop_buy",
        "                 bash: ls *   for this session",
    ]


def test_the_scope_wraps_fact_by_fact() -> None:
    needs = (EvaluatedNeed(PermissionNeed("external_directory", PATH), "ask", "outside"),)
    shown = scope_text(replace(request(), needs=needs), "/home/me", 60).plain.split("\n")
    assert shown[0].startswith("outside  ")
    assert any(row.startswith("folder  ~/shop") for row in shown)
    assert max(len(row) for row in shown) <= 60


def test_a_label_that_is_too_wide_is_placed_above() -> None:
    shown = hanging_indent(
        Content("a label of many words  "), Content("one two three four five"), 26
    )
    assert shown.plain.split("\n")[1:] == ["  one two three four five"]
