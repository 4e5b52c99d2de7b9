"""Truncation of outputs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.process import CapturedOutput, SpillFile, SpillStore
from agent.tools.core.truncate import Keep, Limits, Truncator, count_lines, cut, fits

LIMITS = Limits(lines=10, bytes=4_000, line_chars=1_000)


def truncator(tmp_path: Path, limits: Limits = LIMITS) -> Truncator:
    return Truncator(limits, SpillStore(tmp_path / "spill"))


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def test_text_that_fits_is_unchanged(tmp_path: Path) -> None:
    text = numbered(10)
    assert truncator(tmp_path).apply(text, "head").text == text
    assert not (tmp_path / "spill").exists()


@pytest.mark.parametrize("keep", ["head", "tail"])
def test_lines_are_cut_with_a_notice_that_names_the_file(keep: str, tmp_path: Path) -> None:
    text = numbered(5_000)
    done = truncator(tmp_path).apply(text, "head" if keep == "head" else "tail")
    assert fits(done.text, LIMITS)
    assert "5,000 lines" in done.text
    assert f"{len(text):,} bytes" in done.text
    assert done.spill is not None
    assert done.spill in done.text
    assert "grep" in done.text
    assert Path(done.spill).read_text() == text
    if keep == "head":
        assert done.text.startswith("line 1\nline 2\n")
        assert done.text.endswith("]")
    else:
        assert done.text.startswith("[")
        assert done.text.endswith("line 4999\nline 5000")


def test_default_limits() -> None:
    assert fits("x\n" * 2_000, Limits())
    assert not fits("x\n" * 2_001, Limits())
    assert fits(("x" * 1023 + "\n") * 50, Limits())
    assert not fits(("x" * 1023 + "\n") * 50 + "x", Limits())
    assert not fits("é" * 26_000, Limits())


def test_long_lines_that_fit_are_whole(tmp_path: Path) -> None:
    text = f"a\n{'b' * 3_900}\nc\n"
    assert truncator(tmp_path).apply(text, "head").text == text


@pytest.mark.parametrize("keep", ["head", "tail"])
def test_long_lines_are_cut_no_more_than_needed(keep: Keep, tmp_path: Path) -> None:
    text = f"a\n{'b' * 9_000}\n{'d' * 1_200}\nc\n"
    done = truncator(tmp_path).apply(text, keep)
    assert fits(done.text, LIMITS)
    assert len(done.text.encode()) > LIMITS.bytes - 300
    assert f"b… (9,000 characters, cut)\n{'d' * 1_200}\nc" in done.text
    assert "lines are shown, 1 of them only in part." in done.text
    assert "column within a long line" in done.text
    assert Path(done.spill or "").read_text() == text


def test_lines_are_left_out_once_the_long_ones_are_short(tmp_path: Path) -> None:
    text = "".join(f"{number}{'x' * 3_000}\n" for number in range(9))
    done = truncator(tmp_path).apply(text, "head")
    assert fits(done.text, LIMITS)
    assert [line[:1] for line in done.text.split("\n")[:4]] == ["0", "1", "2", ""]
    assert "the first 3 lines are shown, 3 of them only in part" in done.text


def test_a_single_line_too_long_for_all_keeps_whole_characters() -> None:
    limits = Limits(lines=5, bytes=100, line_chars=1_000)
    for keep in ("head", "tail"):
        kept = cut("é" * 900, limits, keep)
        assert set(kept) == {"é"}
        assert len(kept.encode()) <= 100


@given(
    st.text(alphabet=st.sampled_from("ab\né漢😀"), max_size=400),
    st.integers(1, 12),
    st.integers(1, 300),
)
def test_a_cut_always_fits_and_is_an_end_of_the_text(text: str, lines: int, size: int) -> None:
    limits = Limits(lines=lines, bytes=size, line_chars=10_000)
    head, tail = cut(text, limits, "head"), cut(text, limits, "tail")
    for kept in (head, tail):
        assert len(kept.encode()) <= size
        assert count_lines(kept) <= lines
    assert text.startswith(head)
    assert text.endswith((tail, tail + "\n"))
    if fits(text, Limits(lines, size - 1, 10_000)):
        assert head.rstrip("\n") == tail.rstrip("\n") == text.rstrip("\n")


def test_a_full_disk_still_gives_the_cut_output(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    broken = Truncator(LIMITS, SpillStore(tmp_path / "file" / "spill"))
    done = broken.apply(numbered(100), "tail")
    assert done.spill is None
    assert done.text.endswith("line 100")
    assert "could not be kept" in done.text


def test_captured_output_leaves_room_for_notes(tmp_path: Path) -> None:
    ready = truncator(tmp_path)
    spilled = SpillFile("/x/y", omitted=1_234)
    captured = CapturedOutput(
        numbered(50), lines=1_000_000, size=7_000_000, complete=False, spill=spilled
    )
    done = ready.apply_captured(captured, note_lines=3, note_bytes=100)
    assert count_lines(done.text) <= LIMITS.lines - 3
    assert "1,000,000 lines and 7,000,000 bytes" in done.text
    assert done.spill == "/x/y"
    assert "All but 1,234 bytes of its middle is in /x/y" in done.text
    assert done.text.endswith("line 50")


def test_captured_output_that_fits_without_notes_only_is_kept_whole(tmp_path: Path) -> None:
    captured = CapturedOutput(numbered(9), lines=9, size=63, complete=True)
    done = truncator(tmp_path).apply_captured(captured, note_lines=3, note_bytes=100)
    assert done.spill is not None
    assert Path(done.spill).read_text() == numbered(9)


def test_a_paged_output_can_add_numbers_and_a_note(tmp_path: Path) -> None:
    ready = truncator(tmp_path)
    text = numbered(12)
    assert not ready.fits(text)
    assert ready.fits(text, paged=True)
    assert not ready.fits(numbered(30), paged=True)
