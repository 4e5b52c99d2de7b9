"""Characters that a reader does not see, or takes for others, by what Unicode says of them."""

import re
import unicodedata
from functools import lru_cache

from rich.cells import get_character_cell_size

from app.text.sanitize import is_needed

_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
"""Categories without a shape: controls, formats, unassigned and private characters, separators."""

_BLANK_NAME = re.compile(
    r"\b(FILLER|INVISIBLE|VARIATION SELECTOR|GRAPHEME JOINER|NULL NOTEHEAD|VOWEL INHERENT"
    r"|PATTERN BLANK)\b"
)
"""In names of letters, marks and symbols that are drawn as nothing."""

_PUNCTUATION = re.compile(
    r"\b(HYPHEN|MINUS|DASH|SOLIDUS|SLASH|COLON|SEMICOLON|APOSTROPHE|QUOTATION|PRIME|FULL STOP|COMMA"
    r"|ASTERISK|TILDE|VERTICAL LINE|VERTICAL BAR|RATIO|AMPERSAND|LOW LINE|EXCLAMATION|BACKSLASH)\b"
)
"""In names of punctuation that looks like that of a command line."""

_WORD = re.compile(r"\w+")
_ASCII_LETTER = re.compile(r"[A-Za-z]")
_PHONETIC = ((0x0250, 0x02AF), (0x1D00, 0x1DBF), (0xA720, 0xA7FF))
"""Latin letters of no everyday language."""


def hidden_characters(text: str) -> tuple[str, ...]:
    """Return each character of *text* that is not seen, once: one without a shape, and a combining
    mark that stands by itself."""
    if text.isascii() and text.isprintable():
        return ()
    found: dict[str, None] = {}
    for at, char in enumerate(text):
        if char in " \n\t" or (char.isascii() and char.isprintable()):
            continue
        if _is_unseen(char):
            if not is_needed(text, at):
                found[char] = None
        elif unicodedata.category(char)[0] == "M" and not _carries(text[at - 1] if at else ""):
            found[char] = None
    return tuple(found)


def reveal(text: str) -> str:
    r"""Return *text* with each character that is not seen as its code: ``\u{2800}``. Controls are
    left to ``sanitize``, which has pictures for them."""
    hidden = [c for c in hidden_characters(text) if unicodedata.category(c) != "Cc"]
    if not hidden:
        return text
    return "".join(
        f"\\u{{{ord(char):x}}}" if char in hidden and not is_needed(text, at) else char
        for at, char in enumerate(text)
    )


@lru_cache(maxsize=4096)
def _is_unseen(char: str) -> bool:
    category = unicodedata.category(char)
    if category == "Cn" and 0x1F000 <= ord(char) <= 0x1FAFF:
        return False  # an emoji that is newer than the tables
    if category in _UNSEEN or _BLANK_NAME.search(unicodedata.name(char, "")):
        return True
    return category[0] != "M" and get_character_cell_size(char) == 0


def _carries(char: str) -> bool:
    """Return whether a combining mark can belong to *char*: to a letter, a digit, another mark or a
    symbol such as an emoji."""
    return (
        bool(char)
        and unicodedata.category(char) != "Sk"
        and (unicodedata.category(char)[0] in "LNM" or unicodedata.category(char) == "So")
    )


def lookalikes(text: str, *, code: bool = True) -> tuple[str, ...]:
    """Return each character of *text* that can be mistaken for an ASCII one.

    Those are forms of ASCII characters (a wide letter), phonetic letters, and letters of another
    alphabet in a word with ASCII letters; in *code* punctuation too, such as a dash.
    """
    if text.isascii():
        return ()
    found = [char for char in dict.fromkeys(text) if _resembles(char, code=code)]
    for word in _WORD.findall(text):
        if not word.isascii() and _ASCII_LETTER.search(word):
            found += [char for char in word if _is_foreign(char)]
    return tuple(dict.fromkeys(char for char in found if not _is_unseen(char)))


@lru_cache(maxsize=4096)
def _resembles(char: str, *, code: bool) -> bool:
    if char.isascii():
        return False
    form = unicodedata.normalize("NFKC", char)
    if form.isascii() and len(form) == 1:
        return True
    if any(first <= ord(char) <= last for first, last in _PHONETIC):
        return True
    marks = unicodedata.category(char)[0] in "PS" and unicodedata.east_asian_width(char) != "W"
    return code and marks and _PUNCTUATION.search(unicodedata.name(char, "")) is not None


@lru_cache(maxsize=4096)
def _is_foreign(char: str) -> bool:
    """Return whether *char* is a letter of another alphabet than the Latin one; the wide characters
    of East Asia resemble no Latin letter."""
    if char.isascii() or unicodedata.category(char)[0] != "L":
        return False
    wide = unicodedata.east_asian_width(char) in "WF"
    return not wide and not unicodedata.name(char, "").startswith(
        ("LATIN ", "FEMININE", "MASCULINE")
    )


def name_of(char: str) -> str:
    """Return the name of *char*, its code if it has none."""
    return unicodedata.name(char, "").lower() or f"U+{ord(char):04X}"
