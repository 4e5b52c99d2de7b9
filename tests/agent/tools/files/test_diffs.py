"""Diffs match the bytes and can be applied in part."""

from hypothesis import given
from hypothesis import strategies as st

from agent.records.blocks import DiffBlock
from agent.tools.files.diffs import MAX_LINES, apply_hunks, change_note, make_diff

texts = st.lists(st.sampled_from(["a", "b", "c", "", "x\r"]), max_size=30).map("\n".join)


@given(texts, texts)
def test_all_hunks_give_the_new_text_and_none_the_old(old: str, new: str) -> None:
    diff = make_diff("f", old, new)
    assert apply_hunks(old, new, diff, frozenset(range(len(diff.spans)))) == new
    assert apply_hunks(old, new, diff, frozenset()) == old


@given(texts, texts)
def test_line_numbers_and_texts_are_those_of_the_files(old: str, new: str) -> None:
    before, after = old.split("\n"), new.split("\n")
    for hunk in make_diff("f", old, new).block.hunks:
        for line in hunk.lines:
            text = line.text.partition(" (no newline")[0].removesuffix("\r")
            if line.old is not None:
                assert before[line.old - 1].removesuffix("\r") == text
            if line.new is not None:
                assert after[line.new - 1].removesuffix("\r") == text


def _lines(block: DiffBlock) -> list[tuple[str, str]]:
    return [(line.kind, line.text) for hunk in block.hunks for line in hunk.lines]


def test_far_changes_are_hunks_of_their_own() -> None:
    old = "".join(f"{n}\n" for n in range(40))
    new = old.replace("5\n", "five\n", 1).replace("30\n", "thirty\n")
    diff = make_diff("f", old, new)
    assert [hunk.index for hunk in diff.block.hunks] == [0, 1]
    assert apply_hunks(old, new, diff, frozenset({1})) == old.replace("30\n", "thirty\n")
    assert change_note(diff.block) == "+2 −2"


def test_a_missing_last_newline_is_shown_only_when_it_changes() -> None:
    assert _lines(make_diff("f", "a\nb", "a\nc").block) == [
        ("context", "a"),
        ("remove", "b"),
        ("add", "c"),
    ]
    assert _lines(make_diff("f", "a\nb", "a\nb\n").block)[1:] == [
        ("remove", "b (no newline at end of file)"),
        ("add", "b"),
    ]


def test_line_endings_show_only_when_they_differ() -> None:
    assert ("remove", "b") in _lines(make_diff("f", "a\r\nb\r\n", "a\r\nc\r\n").block)
    assert ("remove", "b\r") in _lines(make_diff("f", "a\r\nb\r\n", "a\r\nb\n").block)


def test_a_new_file_is_all_added() -> None:
    block = make_diff("f", "", "a\nb\n", "create").block
    assert (block.change, block.added, block.removed) == ("create", 2, 0)
    assert [line.new for line in block.hunks[0].lines] == [1, 2]


def test_a_very_long_diff_is_cut_with_a_note() -> None:
    new = "".join(f"{n}\n" for n in range(50_000))
    block = make_diff("f", "", new).block
    assert sum(len(hunk.lines) for hunk in block.hunks) == MAX_LINES
    assert (block.added, block.omitted) == (50_000, 50_000 - MAX_LINES)
