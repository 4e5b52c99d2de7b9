"""Chunks of patches are applied where the format says, and refused if the place is ambiguous."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.tools.edit_match import ChunkEdit, EditRefused, apply_chunk

TEXT = """\
class A:
    def one(self):
        x = 10
        return x

    def two(self):
        x = 10
        return x


class B:
    def two(self):
        x = 10
        return x
"""
OLD, NEW = ["        x = 10"], ["        x = 20"]


def lines_changed(text: str, after: str) -> list[int]:
    pairs = zip(text.splitlines(), after.splitlines(), strict=True)
    return [n for n, (a, b) in enumerate(pairs, 1) if a != b]


@pytest.mark.parametrize(
    ("anchors", "below", "line"),
    [
        (["def one(self):"], 0, 3),
        (["class A:", "def two(self):"], 0, 7),
        (["class B:"], 0, 13),
        (["class B"], 0, 13),
        (["def two(self):"], 10, 13),
        ([], 9, 13),
    ],
)
def test_anchors_and_order_distinguish_places(anchors: list[str], below: int, line: int) -> None:
    placed = apply_chunk(TEXT, ChunkEdit(OLD, NEW, anchors), below)
    assert lines_changed(TEXT, placed.edit.text) == [line]
    assert placed.next_line == line


@pytest.mark.parametrize("anchors", [[], ["def two(self):"]])
def test_indistinguishable_places_are_refused(anchors: list[str]) -> None:
    with pytest.raises(EditRefused) as raised:
        apply_chunk(TEXT, ChunkEdit(OLD, NEW, anchors))
    assert "fits in 3 places (lines 3, 7, 13)" in raised.value.reason


def test_the_end_of_the_file_distinguishes_places() -> None:
    old = ["        x = 10", "        return x"]
    placed = apply_chunk(TEXT, ChunkEdit(old, NEW, at_end=True))
    assert placed.edit.text == TEXT[: TEXT.rindex("        x = 10")] + "        x = 20\n"


def test_a_missing_anchor_matters_only_for_ambiguous_places() -> None:
    placed = apply_chunk(TEXT, ChunkEdit(["class B:"], ["class C:"], ["no such line"]))
    assert "class C:" in placed.edit.text
    with pytest.raises(EditRefused) as raised:
        apply_chunk(TEXT, ChunkEdit(OLD, NEW, ["no such line"]))
    assert "'no such line' after @@ is not in the file" in raised.value.reason


@pytest.mark.parametrize(
    ("text", "after"),
    [("a\n", "a\nb\nc\n"), ("a", "a\nb\nc"), ("", "b\nc\n"), ("a\r\n", "a\r\nb\r\nc\r\n")],
)
def test_lines_without_any_around_them_come_at_the_end(text: str, after: str) -> None:
    placed = apply_chunk(text, ChunkEdit([], ["b", "c"]))
    assert placed.edit.text == after
    assert placed.next_line == len(after.splitlines())


def test_lines_below_a_function_need_lines_around_them() -> None:
    with pytest.raises(EditRefused) as raised:
        apply_chunk(TEXT, ChunkEdit([], ["x"], ["class A:"]))
    assert "shows none around them" in raised.value.reason


def test_lines_are_whole_lines() -> None:
    with pytest.raises(EditRefused):
        apply_chunk("barfoo = 1\n", ChunkEdit(["foo = 1"], ["foo = 2"]))


def test_white_space_is_corrected_and_reported() -> None:
    placed = apply_chunk(
        "\tif x {\n\t\ty()\n\t}\n", ChunkEdit(["if x {", "    y()"], ["if x {", "    z()"])
    )
    assert placed.edit.text == "\tif x {\n\t\tz()\n\t}\n"
    assert "matched after ignoring differences in whitespace" in placed.edit.notes
    exact = apply_chunk(TEXT, ChunkEdit(["class B:"], ["class C:"]))
    assert exact.edit.notes == ()


def chunks_between(before: list[str], after: list[str]) -> list[ChunkEdit]:
    """Return the change as chunks with up to three lines around each."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        ChunkEdit(before[group[0][1] : group[-1][2]], after[group[0][3] : group[-1][4]])
        for group in matcher.get_grouped_opcodes(3)
    ]


@given(st.data(), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_a_change_cut_into_chunks_is_applied_completely_or_not_at_all(
    data: st.DataObject, ending: str, last: bool
) -> None:
    words = st.sampled_from(["    a = 1", "    b = 2", "}", "", "def f():", "\treturn x", "end"])
    numbered = st.integers(0, 60).map("    line {}".format)
    before = data.draw(st.lists(st.one_of(words, numbered), min_size=2, max_size=40))
    after = list(before)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(after)))
        gone = data.draw(st.integers(0, 2))
        after[at : at + gone] = data.draw(st.lists(st.one_of(words, numbered), max_size=2))
    text = ending.join(before) + (ending if last else "")
    below = 0
    for chunk in chunks_between(before, after):
        try:
            placed = apply_chunk(text, chunk, below)
        except EditRefused:
            return
        text, below = placed.edit.text, placed.next_line
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    assert [line for line in lines if line.strip()] == [line for line in after if line.strip()]
    assert text.count("\n") == text.count(ending)
