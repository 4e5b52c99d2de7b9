"""Tokens of shell code in which a name is a command only where a command can be.

Pygments takes every ``test``, ``kill`` or ``done`` for the builtin or the keyword, also where it is
an argument.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

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


def commands_only(tokens: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield *tokens* (Pygments names with their texts) with arguments as plain text."""
    place, around, quoted, previous = Place(), list[Place](), False, ""
    for kind, text in tokens:
        word = text.strip()
        named = kind.startswith(("Token.Name.Builtin", "Token.Keyword")) and word.isalpha()
        if named and (not place.command or place.value) and not (place.listing and word == "in"):
            named, kind = False, TEXT  # noqa: PLW2901 - the token under another name
        yield kind, text
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
