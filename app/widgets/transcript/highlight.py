"""Syntax highlighting with Pygments lexers and the colors of our palettes."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from threading import Thread
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Span, Text

from app.theme.themes import Palette

if TYPE_CHECKING:
    from pygments.lexer import Lexer

MAX_CHARACTERS = 60_000
"""Characters beyond which code is not highlighted: lexing takes about 1 ms per 1,000."""

# The first of these prefixes that matches a token decides its tone and attributes.
_TOKENS = (
    ("Token.Comment", "faint", "italic"),
    ("Token.Keyword", "blue", ""),
    ("Token.Operator.Word", "blue", ""),
    ("Token.Name.Program", "blue", ""),
    ("Token.Name.Function", "accent", ""),
    ("Token.Name.Class", "accent", ""),
    ("Token.Name.Decorator", "plan", ""),
    ("Token.Name.Tag", "blue", ""),
    ("Token.Name.Attribute", "accent", ""),
    ("Token.Name.Builtin", "accent", ""),
    ("Token.Literal.String", "ok", ""),
    ("Token.Literal.Number", "warn", ""),
    ("Token.Operator", "muted", ""),
    ("Token.Punctuation", "muted", ""),
    ("Token.Generic.Inserted", "ok", ""),
    ("Token.Generic.Deleted", "err", ""),
    ("Token.Generic.Heading", "accent", ""),
    ("Token.Generic.Prompt", "faint", ""),
)


@lru_cache(1024)
def token_style(token: str, palette: Palette, on: str) -> Style:
    """Return the style of a token (a Pygments name) that is readable on a background."""
    for prefix, tone, attributes in _TOKENS:
        if token.startswith(prefix):
            return palette.style(palette.legible_tone(tone, on), on, attributes)
    return palette.style("text", on)


_LOADERS: dict[str, Thread] = {}
"""The threads that load grammars, also those that have ended, by language."""


def has_grammar(language: str) -> bool:
    """Return whether the grammar of *language*, in lower case, is loaded. If not, a thread begins
    to: Pygments takes 30 ms and more to compile one."""
    loader = _LOADERS.get(language)
    if loader is None:
        loader = Thread(target=_lexer, args=(language, ""), daemon=True, name=f"load {language}")
        _LOADERS[language] = loader
        loader.start()
    return not loader.is_alive()


@lru_cache(64)
def _lexer(language: str, path: str) -> "Lexer | None":
    # Pygments is loaded with the first shown code, not at start.
    from pygments.lexers import (  # see above
        find_lexer_class_by_name,
        find_lexer_class_for_filename,
    )
    from pygments.util import ClassNotFound  # see above

    found = None
    try:
        found = find_lexer_class_by_name(language) if language else None
    except ClassNotFound:
        found = None
    if found is None and path:
        found = find_lexer_class_for_filename(path)
    return found(stripnl=False, ensurenl=False) if found is not None else None


Piece = tuple[str, str]
"""The name of a token and its text, which contains no line break."""


def token_lines(code: str, *, path: str) -> Iterator[list[Piece]] | None:
    """Return the tokens of *code* (already sanitized) line by line, each lexed when it is
    requested; None if the file name has no known language."""
    lexer = _lexer("", path)
    return _lines(lexer, code) if lexer is not None else None


def _tokens(lexer: "Lexer", code: str) -> Iterable[tuple[object, str]]:
    """Return the tokens of *code*, or their names, with their texts, which can contain line
    breaks."""
    tokens: Iterable[tuple[object, str]] = lexer.get_tokens(code)
    if lexer.name == "Bash":
        return commands_only((str(token), text) for token, text in tokens)
    return tokens


def _lines(lexer: "Lexer", code: str) -> Iterator[list[Piece]]:
    line: list[Piece] = []
    for token, value in _tokens(lexer, code):
        first, *others = value.split("\n")
        if first:
            line.append((str(token), first))
        for text in others:
            yield line
            line = [(str(token), text)] if text else []
    yield line


@lru_cache(32)
def highlight(
    code: str, palette: Palette, *, language: str = "", path: str = "", on: str = "ground"
) -> tuple[Text, ...]:
    """Return the lines of *code* (already sanitized), highlighted if the language is known."""
    return tuple(highlighted_lines(code, palette, language=language, path=path, on=on))


def highlighted_lines(
    code: str, palette: Palette, *, language: str = "", path: str = "", on: str = "ground"
) -> Iterator[Text]:
    """Yield what ``highlight`` returns, each line lexed when it is requested."""
    base, language = palette.style("text", on), language.lower()
    if (loader := _LOADERS.get(language)) is not None:
        loader.join()
    lexer = _lexer(language, path) if len(code) <= MAX_CHARACTERS else None
    if lexer is None:
        yield from (Text(line, style=base) for line in code.split("\n"))
        return
    pieces: list[str] = []
    spans: list[Span] = []
    end = 0
    styles: dict[object, Style] = {}
    for token, value in _tokens(lexer, code):
        style = styles.get(token)
        if style is None:
            style = styles[token] = token_style(str(token), palette, on)
        first, *others = value.split("\n") if "\n" in value else (value,)
        if first:
            pieces.append(first)
            spans.append(Span(end, end := end + len(first), style))
        for piece in others:
            yield Text("".join(pieces), style=base, spans=spans)
            pieces, end = [piece] if piece else [], len(piece)
            spans = [Span(0, end, style)] if piece else []
    yield Text("".join(pieces), style=base, spans=spans)


# Tokens of shell code in which a name is a command only where a command can be.
#
# Pygments takes every ``test``, ``kill`` or ``done`` for the builtin or the keyword, also where it
# is an argument.

BEFORE_COMMANDS = frozenset({";", ";;", "&&", "||", "|", "&", "(", "{", "!", "$(", "<(", ">("})
"""Operators, and what opens a group: a command follows."""

KEYWORDS_BEFORE = frozenset({"if", "then", "elif", "else", "while", "until", "do"})
"""Keywords that a command follows."""

BUILTINS_BEFORE = frozenset({"time", "command", "exec", "builtin", "eval"})
"""Builtins whose argument is a command."""

LISTS = frozenset({"for", "case", "select"})
"""Keywords with an ``in``."""

TEXT = "Token.Text"


@dataclass(slots=True)
class Place:
    """A place in a command line."""

    command: bool = True
    """True where a command can be."""
    value: bool = False
    """True in the value of an assignment, after which a command can be."""
    listing: bool = False
    """True between ``for`` or ``case`` and ``in``."""


PROGRAM = "Token.Name.Program"
_PROGRAM_NAME = re.compile(r"[\w.~/][\w.~/+-]*")


def commands_only(tokens: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield *tokens* (Pygments names with their texts) with arguments as plain text, and the names
    of programs and builtins as ``PROGRAM``."""
    place, around, quoted, previous = Place(), list[Place](), False, ""
    for kind, text in tokens:
        word = text.strip()
        named = kind.startswith(("Token.Name.Builtin", "Token.Keyword")) and word.isalpha()
        if named and (not place.command or place.value) and not (place.listing and word == "in"):
            named, kind = False, TEXT  # noqa: PLW2901 - the token under another name
        program = named and kind.startswith("Token.Name.Builtin")
        if kind == TEXT and place.command and not (place.value or place.listing):
            program = _PROGRAM_NAME.fullmatch(text) is not None
        yield (PROGRAM if program else kind), text
        if not word:
            place = Place() if "\n" in text else replace(place, value=False)
        elif word == "$(":
            around.append(place)
            place = Place()
        elif word == ")" and around and kind.startswith("Token.Keyword"):
            place = around.pop()
            place.command = place.command and place.value
        elif kind == "Token.Literal.String.Backtick":
            quoted = not quoted
            place = Place(command=quoted)
        elif word in BEFORE_COMMANDS:
            place = Place()
        elif word == "=" and place.command and previous == "Token.Name.Variable":
            place.value = True
        elif not place.value and not (kind == "Token.Name.Variable" and word[0] != "$"):
            leads = KEYWORDS_BEFORE if kind.startswith("Token.Keyword") else BUILTINS_BEFORE
            place.command = named and word in leads
            place.listing = place.listing or (named and word in LISTS)
        previous = kind
