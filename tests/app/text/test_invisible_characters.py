"""Characters that are not seen, or taken for others."""

import unicodedata

import pytest
from rich.cells import cell_len

from app.text.invisible_characters import hidden_characters, lookalikes, reveal
from app.text.sanitize import sanitize

HIDDEN = [
    chr(code)
    for code in (
        *(0x2800, 0x3164, 0x115F, 0x1160, 0xFFA0, 0x200B, 0x200C, 0x200D, 0x2060, 0x2063, 0xFEFF),
        *(0x202E, 0x2066, 0x061C, 0xAD, 0xFE00, 0xFE0F, 0xE0100, 0xE0041, 0x34F, 0x17B4, 0x180E),
        *(0xA0, 0x202F, 0x3000, 0x2003, 0x2028, 0x1D173, 0xE000, 0x1B, 0x7F, 0xFFF9),
    )
]
"""One of each kind."""

SEEN = [
    "naïve café", "привет, мир", "表の幅", "👩‍👩‍👧", "❤️", "1️⃣", "हिन्दी क्‍ष", "می‌خواهم", "e\u0301",
    "עִבְרִית", "ไทยที่",
    "한국어", "\U0001fa77", "a\tb\nc",
]  # fmt: skip


@pytest.mark.parametrize("char", HIDDEN)
@pytest.mark.parametrize("around", ["a{}b", "{}", "rm {}x", "x{}"])
def test_a_character_without_a_shape_is_named_and_shown_as_its_code(char: str, around: str) -> None:
    text = around.format(char)
    assert hidden_characters(text) == (char,)
    shown = sanitize(reveal(text))
    assert char not in shown
    assert len(shown) > len(text) or unicodedata.category(char) == "Cc"


@pytest.mark.parametrize("text", SEEN)
def test_text_of_any_language_is_seen(text: str) -> None:
    assert hidden_characters(text) == ()
    assert reveal(text) == text


def test_every_character_of_no_width_is_hidden_or_a_mark() -> None:
    for code in (*range(0x80, 0x3000), *range(0xFE00, 0x10000)):
        char = chr(code)
        if cell_len(char) == 0 and unicodedata.category(char)[0] != "M":
            assert hidden_characters(f"a{char}a") == (char,), hex(code)


@pytest.mark.parametrize("mark", ["\u0301", "\u0336", "\u20dd", "\u0489", "\u093e"])
def test_a_mark_by_itself_is_hidden_and_one_on_a_letter_is_not(mark: str) -> None:
    for text in (mark, f"rm {mark}x", f"a/{mark}", f"-{mark}f"):
        assert hidden_characters(text) == (mark,)
    assert hidden_characters(f"a{mark}") == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("p\u0430ypal", "\u0430"), ("\u03bfpen", "\u03bf"), ("x\u13a2", "\u13a2"), ("ɡit", "ɡ"),
        ("ｇit", "ｇ"), ("rm \u2013rf", "\u2013"), ("a\u2215b", "\u2215"),
        ("\u2019x\u2019", "\u2019"),
        ("a\u2236b", "\u2236"), ("\u2212f", "\u2212"),
    ],
)  # fmt: skip
def test_characters_that_resemble_ascii_ones_are_named(text: str, found: str) -> None:
    assert lookalikes(text) == (found,)


def test_punctuation_of_prose_is_not_named_outside_of_code() -> None:
    assert lookalikes("it’s – fine…", code=False) == ()
