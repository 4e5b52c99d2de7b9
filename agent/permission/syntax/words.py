"""Words of a command line as bash will see them.

While a word is read, characters that bash would act on (an unquoted ``*`` or ``{``) become
marks from the private use area, so that quoted ones stay plain. Each part that is only known
at run time becomes a mark of its own.
"""

import glob
import itertools
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from agent.permission.syntax.braces import CLOSE, COMMA, DOTS, OPEN, TooManyError, expand_braces
from agent.permission.syntax.source import CannotAnalyzeError
from agent.records.patterns import lazy_pattern

_ACTIVE = {"{": OPEN, ",": COMMA, "}": CLOSE, "*": "\ue003", "?": "\ue004", "[": "\ue005"}
_TILDE = "\ue006"
_BREAK = "\ue007"
"""A place in a word where it is split."""
NUMBER = "\ue009"
"""Stands for some whole number."""
_PLAIN = str.maketrans(
    {mark: char for char, mark in (*_ACTIVE.items(), ("~", _TILDE), ("..", DOTS), ("0", NUMBER))}
)
_NO_PATTERNS = str.maketrans({mark: char for char, mark in (*_ACTIVE.items(), ("..", DOTS))})
_LITERAL_BRACES = str.maketrans({OPEN: "{", COMMA: ",", CLOSE: "}", DOTS: ".."})
_GLOBS = tuple(_ACTIVE[char] for char in "*?[")
_WILD = _GLOBS[:2]
_SET = lazy_pattern("\ue005[^/]*\\]")
_GLOB = lazy_pattern(f"[{''.join(_GLOBS)}]")
_FLAG_TAIL = lazy_pattern(r"[A-Za-z0-9-]*")
_NO_DASH = lazy_pattern("\ue005(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[A-Za-z0-9_.])+\\]", re.ASCII)
"""A set at the start of a pattern that does not match a dash."""
_FIRST_PART = 0xE100
_BARE = lazy_pattern(r"[\w./:@%+=-]+", re.ASCII)
"""A literal word."""
_IN_BARE = lazy_pattern(r"[\w./@%+-]+")
_IN_LIST = lazy_pattern(r"[\w/@%+-]+")
_IN_DOUBLE = lazy_pattern(r"[^\\\"$`]+")
_CODE = lazy_pattern(r"\$\(|`")
_MANY = lazy_pattern(r"\$\{?@|\[@\]")
"""An expansion that becomes several words even in quotes."""
_BLANKS = lazy_pattern(r"[ \t\n]+")
_ACTIVATE = str.maketrans({char: _ACTIVE[char] for char in "*?["})
_QUOTE = lazy_pattern(r"['\"\\]")
_SPLITS = lazy_pattern(r"[\s*?\[\\]|^$")
"""A value that bash splits or expands to other words if it is put in without quotes."""
STREAM = "/dev/fd/63"
"""The value of a word that is a process substitution: an open file."""

MAX_VALUES = 256
"""Limit of the values of one word (brace lists, loop variables)."""


class Part(NamedTuple):
    """A part of a word that is known only at run time."""

    start: int
    end: int
    source: str

    values: tuple[str, ...] | None
    """All texts that it can be, None if unknown."""

    quoted: bool = False

    @property
    def splits(self) -> bool:
        """Return whether bash can make several words, or a pattern, of it; always for an unknown
        one."""
        if self.quoted:
            return self.values is None and _MANY.search(self.source) is not None
        return self.values is None or any(map(_SPLITS.search, self.values))


@dataclass(frozen=True)
class Word:
    """One word of a command line."""

    raw: str
    """The text with marks."""

    source: str
    """The text in the line."""

    parts: tuple[Part, ...] = ()

    code: bool = False
    """True if quoted text holds a substitution as data."""

    text: str = field(init=False, compare=False, repr=False)
    """The word without quotes, with unknown parts as they are written; computed once, because it
    is needed some twenty times."""

    plain: bool = field(init=False, compare=False, repr=False)
    """True if it represents itself; no mark is ASCII."""

    def __post_init__(self) -> None:
        plain = self.raw.isascii()
        written = self.raw if plain else self.fill([part.source for part in self.parts])
        object.__setattr__(self, "plain", plain)
        object.__setattr__(self, "text", written if plain else written.translate(_PLAIN))

    @property
    def known(self) -> bool:
        return self.values is not None

    @property
    def literal(self) -> bool:
        """Return whether it is one fixed text: no expansion, list, pattern or output of a
        command."""
        if self.plain:
            return True
        if any(part.values is None or part.values == (STREAM,) for part in self.parts):
            return False
        return self.values is not None and len(self.values) == 1 and not self.globs

    @property
    def stream(self) -> bool:
        """Return whether it is a process substitution: its name is known, its content is not."""
        return any(part.values == (STREAM,) for part in self.parts)

    @property
    def globs(self) -> bool:
        return is_pattern(self.raw)

    @property
    def globbed(self) -> list[str]:
        """Return the values that are patterns."""
        return [value for value in self.values or () if is_pattern(value)] if self.globs else []

    @property
    def values(self) -> tuple[str, ...] | None:
        """Every text that the word can represent, with marks; None if that is not known."""
        return (self.raw,) if self.plain else self._values

    @cached_property
    def _values(self) -> tuple[str, ...] | None:
        if not self.parts:
            return self._with_braces_expanded((self.raw,))
        choices: list[tuple[str, ...]] = []
        for part in self.parts:
            if part.values is None or part.splits:
                return None
            choices.append(part.values)
        filled = itertools.islice(itertools.product(*choices), MAX_VALUES + 1)
        return self._with_braces_expanded([self.fill(chosen) for chosen in filled])

    def _with_braces_expanded(self, texts: Sequence[str]) -> tuple[str, ...] | None:
        """Return *texts* with their brace lists expanded, None for too many."""
        if OPEN in self.raw:
            try:
                texts = [each for text in texts for each in expand_braces(text, MAX_VALUES)]
            except TooManyError:
                return None
            texts = [text.translate(_LITERAL_BRACES) for text in texts]
        return None if len(texts) > MAX_VALUES else tuple(texts)

    @property
    def may_be_option(self) -> bool:
        """Return whether the word can start with a dash, or split so that one of its words does."""
        values = self.values
        if values is not None:
            return any(map(starts_with_pattern, values)) or self.text.startswith("-")
        unquoted = any(not part.quoted and part.splits for part in self.parts)
        return unquoted or not self.raw or ord(self.raw[0]) >= _FIRST_PART

    def fill(self, chosen: Sequence[str]) -> str:
        """Return the raw text with the *chosen* values of its parts."""
        raw = self.raw
        for index, value in enumerate(chosen):
            raw = raw.replace(chr(_FIRST_PART + index), value)
        return raw


def plain(value: str) -> str:
    """Return a value without its marks."""
    return value if value.isascii() else value.translate(_PLAIN)


def is_pattern(value: str) -> bool:
    return not value.isascii() and _GLOB.search(value) is not None


def starts_with_pattern(value: str) -> bool:
    """Return whether *value* is a pattern that can match a name with a dash in front."""
    if not value.startswith((*_GLOBS, "-")):
        return False
    return is_pattern(value) and not _NO_DASH.match(value)


def matches_flag(value: str) -> bool:
    """Return whether the pattern *value* can match an option without a value in the same word."""
    tail = value[max(value.rfind(mark) for mark in (*_WILD, "]")) + 1 :]
    return starts_with_pattern(value) and _FLAG_TAIL.fullmatch(plain(tail)) is not None


def has_tilde(value: str) -> bool:
    return value.startswith(_TILDE)


def is_one_word(word: Word) -> bool:
    """Return whether bash makes one word of it, whatever the values of its variables."""
    if any(mark in word.raw for mark in (OPEN, *_GLOBS)):
        return False
    return not any(part.splits for part in word.parts)


def glob_pattern(value: str) -> str:
    """Return *value* for ``glob.glob``: quoted wildcards escaped, active ones kept.

    ``[…]`` becomes ``*``, which matches more: bash knows classes and ``[^…]``, and a quote in it
    makes ``!`` and ``]`` literal.
    """
    value = _SET.sub(_ACTIVE["*"], value)
    return "".join(
        char.translate(_PLAIN) if char in _WILD else glob.escape(char.translate(_PLAIN))
        for char in value
    )


def literal_word(text: str) -> Word:
    return Word(text, text)


def as_written(words: Sequence[Word]) -> str:
    """Return the text that rules are matched against: one space between unquoted words."""
    return " ".join([word.text for word in words])  # a list: each step of a generator is a call


_ESCAPES = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


def _ansi(found: re.Match[str]) -> str:
    code = found[1]
    if code in _ESCAPES:
        return _ESCAPES[code]
    if code[0] == "x":
        return chr(int(code[1:].strip("{}") or "0", 16) & 0xFF)
    if code[0] in "uU":
        return chr(int(code[1:], 16)) if int(code[1:], 16) < 0x110000 else "\ufffd"
    if code[0] in "01234567":
        return chr(int(code, 8) & 0xFF)
    if code[0] == "c":
        return "\x7f" if code[1] == "?" else chr(ord(code[1].upper()) & 0x1F)
    return found[0]


def ansi_text(body: str) -> str:
    """Return the value of ``$'body'``; it ends at a NUL as in bash."""
    value = re.sub(
        r"\\([abeEfnrtv\\'\"?]|x[0-9a-fA-F]{1,2}|x\{[0-9a-fA-F]*\}?|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}"
        r"|[0-7]{1,3}|c\\\\|c.)",
        _ansi,
        body,
        flags=re.DOTALL,
    )
    if any(0xD800 <= ord(char) < 0xF900 for char in value):
        raise CannotAnalyzeError("it contains an escape for an unassigned character")
    return value.split("\0", 1)[0]


def read_word(source: str, parts: Sequence[Part]) -> Word:
    """Return *source* unquoted. *parts* are the spans that bash expands, in order, not nested."""
    if not parts and _BARE.fullmatch(source):
        return Word(source, source)
    if len(parts) == 1 and parts[0].source == source:
        whole = Word(chr(_FIRST_PART), source, (parts[0],))
        return replace(whole, code=True) if _holds_code(whole) else whole
    reader = _Reader(source, {part.start: part for part in parts})
    reader.run()
    word = Word("".join(reader.raw), source, tuple(reader.parts))
    return replace(word, code=True) if _holds_code(word) else word


def _holds_code(word: Word) -> bool:
    """Return whether the unquoted text holds a substitution.

    Each quote or variable can hold one character of it (``"\\$"'(x)'``), so the whole is searched.
    What bash itself runs here is a part, which has a mark.
    """
    if word.raw.isascii() and "$" not in word.raw and "`" not in word.raw:
        return False
    return any(_CODE.search(text) for text in word.values or (word.raw,))


class _Reader:
    def __init__(self, source: str, spans: Mapping[int, Part]) -> None:
        self.source = source
        self.spans = spans
        self.at = 0
        self.raw: list[str] = []
        self.parts: list[Part] = []
        self.double = False
        self.list = False
        """True after an unquoted brace: a comma, a range and a tilde count then."""

    def run(self) -> None:
        while self.at < len(self.source):
            part = self.spans.get(self.at)
            if part is not None:
                self.raw.append(chr(_FIRST_PART + len(self.parts)))
                self.parts.append(part._replace(quoted=self.double))
                self.at = part.end
            elif self.source[self.at] == '"':
                self.double = not self.double
                self.at += 1
            elif self.source[self.at] in "$`":
                self.dollar()
            elif self.double:
                self.in_double()
            else:
                self.bare()

    def dollar(self) -> None:
        """A dollar or backtick outside the known spans."""
        after = self.source[self.at + 1 : self.at + 2]
        if self.source[self.at] == "$" and not self.double and after == "'":
            closing = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL).match(self.source, self.at)
            if closing is None:
                raise CannotAnalyzeError("a quote is not closed")
            self.raw.append(ansi_text(closing[1]))
            self.at = closing.end()
        elif self.source[self.at] == "$" and not self.double and after == '"':
            self.at += 1
        elif self.source[self.at] == "$" and not (after.isalnum() or after in set("_({[?!#@*-$")):
            self.raw.append("$")
            self.at += 1
        else:
            raise CannotAnalyzeError("it contains an expansion that is not understood")

    def in_double(self) -> None:
        char = self.source[self.at]
        after = self.source[self.at + 1 : self.at + 2]
        if char == "\\" and after and after in '$`"\\\n':
            self.raw.append(after)
            self.at += 2
        else:
            self.take_run(_IN_DOUBLE)

    def bare(self) -> None:
        char = self.source[self.at]
        after = self.source[self.at + 1 : self.at + 2]
        if char == "\\":
            self.raw.append(after or "\\")
            self.at += 2
        elif char == "'":
            end = self.source.find("'", self.at + 1)
            if end < 0:
                raise CannotAnalyzeError("a quote is not closed")
            self.raw.append(self.source[self.at + 1 : end])
            self.at = end + 1
        elif char in "()" or (char in "<>" and after == "("):
            raise CannotAnalyzeError("it contains a pattern or substitution that is not supported")
        else:
            tilde = char == "~" and (not self.raw or self.list or self.raw[-1] in ("=", ":"))
            active = _TILDE if tilde else _ACTIVE.get(char)
            if active in (COMMA, CLOSE) and not self.list:
                active = None
            self.list = self.list or active == OPEN
            if self.list and char == "." and after == ".":
                self.raw.append(DOTS)
                self.at += 2
            elif active is None:
                self.take_run(_IN_LIST if self.list else _IN_BARE)
            else:
                self.raw.append(active)
                self.at += 1

    def take_run(self, run: re.Pattern[str]) -> None:
        """Take the next character and the plain text after it."""
        found = run.match(self.source, self.at)
        self.raw.append(found[0] if found else self.source[self.at])
        self.at = found.end() if found else self.at + 1


def brace_words(word: Word) -> list[Word]:
    """Return the words that the brace lists in *word* make of it."""
    if OPEN not in word.raw:
        return [word]
    try:
        texts = expand_braces(word.raw, MAX_VALUES)
    except TooManyError:
        return [unknown_word(word)]
    if len(texts) == 1:
        return [_piece(word, texts[0])]
    # An empty item is no word, except if a quote makes it one.
    return [_piece(word, text) for text in texts if text or _QUOTE.search(word.source)]


def _piece(word: Word, text: str) -> Word:
    """Return a word of its own for *text*, a part of the raw text of *word*."""
    raw: list[str] = []
    parts: list[Part] = []
    for at, char in enumerate(text):
        if char == _TILDE and at and text[at - 1] not in "=:":
            raw.append("~")
        elif 0 <= ord(char) - _FIRST_PART < len(word.parts):
            raw.append(chr(_FIRST_PART + len(parts)))
            parts.append(word.parts[ord(char) - _FIRST_PART])
        else:
            raw.append(char)
    return Word("".join(raw).translate(_LITERAL_BRACES), word.source, tuple(parts), word.code)


def assigned_texts(word: Word) -> tuple[str, ...] | None:
    """Return every text that a variable has after *word* was assigned to it, None if unknown: in
    an assignment nothing is split, and only a tilde keeps its mark."""
    choices: list[tuple[str, ...]] = []
    for part in word.parts:
        if part.values is None or part.values == (STREAM,):
            return None
        choices.append(part.values)
    fixed = Word(word.raw.translate(_NO_PATTERNS), word.source, word.parts)
    texts = itertools.islice(itertools.product(*choices), MAX_VALUES + 1)
    filled = tuple(dict.fromkeys(map(fixed.fill, texts)))
    later = any(_TILDE in text[1:] for text in filled)
    return None if later or len(filled) > MAX_VALUES else filled


def without_values(word: Word) -> Word:
    """Return *word* with variables of which nothing is known."""
    parts = (
        part if part.values == (STREAM,) else part._replace(values=None) for part in word.parts
    )
    return replace(word, parts=tuple(parts))


def unknown_word(word: Word) -> Word:
    """Return *word* as one of which nothing is known, not even how many words it becomes."""
    source = word.source
    return Word(chr(_FIRST_PART), source, (Part(0, len(source), source, None),), word.code)


def fill_in(word: Word, chosen: Mapping[str, str]) -> list[Word]:
    """Return the words that *word* becomes if its variables have the *chosen* values, by source.

    A value without quotes around it is split at spaces, and its wildcards count.
    """
    filled: list[str] = []
    for char in word.raw:
        at = ord(char) - _FIRST_PART
        part = word.parts[at] if 0 <= at < len(word.parts) else None
        value = chosen.get(part.source) if part is not None else None
        if part is None or value is None:
            filled.append(char)
        elif part.quoted:
            filled.append(value)
        elif "\\" in value:
            return [unknown_word(word)]
        else:
            filled.append(_BLANKS.sub(_BREAK, value).translate(_ACTIVATE))
    pieces = "".join(filled).split(_BREAK)
    whole = [_piece(word, piece) for piece in pieces if piece]
    if len(whole) == len(pieces):
        return whole
    if not _QUOTE.search(word.source):
        return whole
    return [_piece(word, "")] if len(pieces) == 1 else [unknown_word(word)]


def tilde_expanded(value: str, home: str) -> str | None:
    """Return *value* with the path for a leading unquoted tilde, ``~+`` relative to the folder;
    None for another user's home."""
    if not has_tilde(value):
        return value
    rest = value[1:]
    if rest[:1] == "+" and rest[1:2] in ("", "/"):
        return f".{rest[1:]}"
    if rest and not rest.startswith("/"):
        return None
    return os.path.normpath(home + rest)
