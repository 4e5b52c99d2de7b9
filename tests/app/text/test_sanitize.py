"""Shown text can neither control the terminal nor hide anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.sanitize import (
    PLAIN,
    AnsiStyle,
    sanitize,
    sanitize_ansi,
    sanitize_line,
    without_colors,
)

EVIL = "\x1b]52;c;aGk=\x07\x1b[2J\x9b31m\x1b]8;;http://x\x1b\\text"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain, 表 é [/] [red]", "plain, 表 é [/] [red]"),
        ("\x1b[31mred", "␛[31mred"),
        ("bell\x07", "bell␇"),
        ("del\x7f", "del␡"),
        ("c1 \x9b", "c1 \\u{9b}"),
        ("nul\x00", "nul␀"),
        ("admin\u202etxt.exe", "admin\\u{202e}txt.exe"),
        ("zero\u200bwidth", "zero\\u{200b}width"),
        ("a\u200db", "a\\u{200d}b"),
        ("tag\U000e0041", "tag\\u{e0041}"),
        ("lone \ud800", "lone \\u{d800}"),
        ("bom\ufeff", "bom\\u{feff}"),
        ("line\u2028sep", "line\\u{2028}sep"),
        ("a\tb", "a   b"),
        ("ab\tc\n\td", "ab  c\n    d"),
        ("rm -rf x\recho hi", "rm -rf x␍echo hi"),
        ("50%\r", "50%␍"),
        ("a\r\nb", "a\nb"),
    ],
)
def test_control_characters_become_visible(raw: str, shown: str) -> None:
    assert sanitize(raw) == shown


@pytest.mark.parametrize(
    ("raw", "shown"), [("10%\r50%\r100%", "100%"), ("50%\r", "50%"), ("a\r\nb", "a\nb")]
)
def test_carriage_returns_in_output_overwrite_the_line(raw: str, shown: str) -> None:
    assert sanitize(raw, overwriting=True) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (EVIL, "text"),
        ("\x9d0;x\x9chi", "hi"),
        ("hi\x1b]0;x", "hi"),
        ("hi\x1b[3", "hi"),
        ("hi\x1b", "hi"),
        ("\x1b]0;never ended\nhi", "\nhi"),
    ],
)
def test_escapes_of_programs_are_left_out(raw: str, shown: str) -> None:
    assert without_colors(raw) == shown


@pytest.mark.parametrize("text", ["👩‍👩‍👧", "❤️ 1️⃣", "می‌خواهم", "क्‍ष", "e\u0301"])
def test_joiners_of_scripts_and_emoji_are_kept(text: str) -> None:
    assert sanitize(text) == text


@given(st.text(st.characters()))
def test_no_control_sequence_is_left(text: str) -> None:
    for shown in (sanitize(text), *(p for line in sanitize_ansi(text) for p, _ in line)):
        assert not any(ord(c) < 0x20 and c != "\n" for c in shown)
        assert not any(0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000 for c in shown)
        assert not any(c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" for c in shown)


@given(st.text(st.characters()))
def test_sanitizing_twice_changes_nothing(text: str) -> None:
    assert sanitize(sanitize(text)) == sanitize(text)


@given(st.text(st.sampled_from("ab\n\t\x1b\u202e"), max_size=40))
def test_the_number_of_lines_is_kept(text: str) -> None:
    assert sanitize(text).count("\n") == text.count("\n")


def test_sanitize_line_returns_one_line() -> None:
    assert sanitize_line("a\nb\x1b") == "a b␛"


def test_ansi_colors_are_kept_and_other_sequences_dropped() -> None:
    assert sanitize_ansi(EVIL) == [[("text", PLAIN)]]
    assert sanitize_ansi("a\x1b[1;31mb\x1b[0mc\x1b[2Kd") == [
        [("a", PLAIN), ("b", AnsiStyle("red", bold=True)), ("cd", PLAIN)]
    ]


@pytest.mark.parametrize(
    ("codes", "style"),
    [
        ("38;5;9", AnsiStyle("bright_red")),
        ("38;5;196", AnsiStyle("#ff0000")),
        ("38;5;232", AnsiStyle("#080808")),
        ("38;2;1;2;3", AnsiStyle("#010203")),
        ("48;2;255;0;0", PLAIN),
        ("8", PLAIN),
        ("5", PLAIN),
        ("94;4", AnsiStyle("bright_blue", underline=True)),
        ("38;5", PLAIN),
        ("1;22;3", AnsiStyle(italic=True)),
        ("4:3", AnsiStyle(underline=True)),
        ("21", AnsiStyle(underline=True)),
        ("4;4:0", PLAIN),
        ("4:3;1;31", AnsiStyle("red", bold=True, underline=True)),
        ("38:5:196", AnsiStyle("#ff0000")),
        ("38:2:1:2:3", AnsiStyle("#010203")),
        ("38:2::1:2:3", AnsiStyle("#010203")),
        ("38:2::1:2:3:0:0;9", AnsiStyle("#010203", strike=True)),
        ("48:2::1:2:3;58:5:9;3", AnsiStyle(italic=True)),
        ("38;2;1;2;3;4:3", AnsiStyle("#010203", underline=True)),
        ("38:2", PLAIN),
        ("9" * 5_000, PLAIN),
    ],
)
def test_ansi_styles(codes: str, style: AnsiStyle) -> None:
    assert sanitize_ansi(f"\x1b[{codes}mx") == [[("x", style)]]


def test_ansi_style_continues_over_lines() -> None:
    assert sanitize_ansi("\x1b[32ma\nb") == [
        [("a", AnsiStyle("green"))],
        [("b", AnsiStyle("green"))],
    ]


def test_ansi_carriage_return_overwrites() -> None:
    assert sanitize_ansi("\x1b[31m10%\r\x1b[32m20%\r\n") == [[("20%", AnsiStyle("green"))], []]
