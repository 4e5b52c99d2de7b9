"""The commands that a line can run if it is not understood; only deny rules look at them.

No limit applies that padding could fill: everything in the line is looked at once, however long it
is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from agent.permission.syntax.braces import CLOSE, COMMA, DOTS, OPEN, TooManyError, expand_braces
from agent.permission.syntax.parser import outermost, parse, text_of
from agent.permission.syntax.source import MAX_DEPTH

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_PARSED = 200_000
"""Characters that are parsed; longer text is only split at separators."""

_MAX_WHOLE_TAILS = 12
_MAX_TAIL = 300
"""The first tails of a command are given whole, the others up to so many characters."""

_OPAQUE = ("heredoc_body", "expansion", "regex", "extglob_pattern")
"""Nodes with text in which the grammar does not show all commands."""

_MAX_LIST = 64
"""Words of a brace list that are given."""

_SEPARATOR = re.compile(r"[\n;&|(){}`]+")
_OUTER_SEPARATOR = re.compile(r"[\n;&|()`]+")
_QUOTING = re.compile(r"['\"\\]")
_KEYWORDS = re.compile(r"^(?:\s*(?:!|then|do|else|elif|if|while|until|time|coproc)(?=\s))+\s*")


def tails(words: Sequence[str]) -> list[str]:
    """Return the command *words* without its first word, its first two, and so on."""
    found = [" ".join(words[at:]) for at in range(1, min(len(words), _MAX_WHOLE_TAILS))]
    rest = range(_MAX_WHOLE_TAILS, len(words))
    return found + [" ".join(words[at : at + _MAX_TAIL // 2])[:_MAX_TAIL] for at in rest]


def possible_commands(command: str) -> list[str]:
    """Return the texts in *command* that can be commands, each once."""
    text = _normalize_blanks(command)
    found: dict[str, None] = {}
    if len(text) <= MAX_PARSED:
        root = parse(text)
        _collect(found, _commands(root))
        if not root.has_error:
            for hidden in outermost(root, *_OPAQUE):
                found.update(dict.fromkeys(split_commands(text_of(hidden))))
            return list(found)
    found.update(dict.fromkeys(split_commands(text)))
    return list(found)


def _commands(root: "Node") -> Iterator[tuple[str, str]]:
    """Yield each command below *root*: the whole text, and its own words without inner commands.

    For a command nested more than ``MAX_DEPTH`` levels deep, the whole text is its own words too: a
    line that is nested a thousand times would otherwise be returned a thousand times over.
    """
    spans: list[list[tuple[int, int]]] = []
    commands: list[tuple[Node, int]] = []
    waiting: list[tuple[Node, int, int]] = [(root, -1, 0)]
    while waiting:
        node, around, depth = waiting.pop()
        if node.type == "command":
            if around >= 0:
                spans[around].append((node.start_byte, node.end_byte))
            around, depth = len(commands), depth + 1
            commands.append((node, depth))
            spans.append([])
        waiting += [(child, around, depth) for child in reversed(node.children)]
    for (node, depth), inner in zip(commands, spans, strict=True):
        own = _text_without(node, inner)
        yield (text_of(node) if inner and depth <= MAX_DEPTH else own), own


def _text_without(node: "Node", inner: Sequence[tuple[int, int]]) -> str:
    """Return the text of *node* without its *inner* spans (in order, not overlapping)."""
    data = node.text or b""
    pieces: list[bytes] = []
    at = node.start_byte
    for start, end in inner:
        pieces.append(data[at - node.start_byte : start - node.start_byte])
        at = end
    pieces.append(data[at - node.start_byte :])
    return b"".join(pieces).decode()


def split_commands(text: str) -> list[str]:
    """As ``possible_commands``, without parsing: cheaper, with more texts that are no commands."""
    found: dict[str, None] = {}
    text = _normalize_blanks(text)
    parts = _SEPARATOR.split(text)
    if "{" in text:
        parts += [part for part in _OUTER_SEPARATOR.split(text) if "{" in part]
    bare = (_KEYWORDS.sub("", part) for part in parts)
    _collect(found, ((part, part) for part in bare))
    return list(found)


def _normalize_blanks(text: str) -> str:
    spaced = re.sub(r"[^\S\n ]|[\x00-\x08\x0e-\x1f\x7f-\x9f]", "\n", text)
    return spaced.encode(errors="replace").decode()


def _collect(found: dict[str, None], commands: Iterable[tuple[str, str]]) -> None:
    """Add each whole command, and the tails of its own words."""
    for command, own in commands:
        words = _words(command)
        whole = " ".join(words)
        if not words or whole in found:
            continue
        if "{" in whole and (listed := _with_lists(words)) != words:
            found.update(dict.fromkeys([" ".join(listed), *tails(listed)]))
        found[whole] = None
        found[" ".join([words[0].rsplit("/", 1)[-1], *words[1:]])] = None
        found.update(dict.fromkeys(tails(words if own is command else _words(own))))


def _words(command: str) -> list[str]:
    return _QUOTING.sub("", command).split()


_MARKED = (("..", DOTS), ("{", OPEN), (",", COMMA), ("}", CLOSE))


def _with_lists(words: Sequence[str]) -> list[str]:
    """Return *words* with their brace lists expanded, as if no brace had a quote."""
    found: list[str] = []
    for word in words:
        marked = word
        for text, mark in _MARKED:
            marked = marked.replace(text, mark)
        try:
            made = expand_braces(marked, _MAX_LIST) if "{" in word else [word]
        except TooManyError:
            made = [word]
        for each in made:
            plain = each
            for text, mark in _MARKED:
                plain = plain.replace(mark, text)
            found += [plain] if plain else []
    return found
