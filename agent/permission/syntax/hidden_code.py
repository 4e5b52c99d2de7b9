"""Code in text that bash expands but the grammar shows as plain text.

It does not show substitutions in a pattern, backticks in a here-document or in ``${x:-…}``, and
arithmetic in either. Where such a part ends is decided by parsing it: the first end with which the
grammar takes it for one complete expansion.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from agent.permission.syntax.parser import lost_text, parse, text_of
from agent.permission.syntax.source import CannotAnalyzeError

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_ENDS = 50
"""Ends of one part that are tried."""

_CLOSERS = {"$(": ")", "<(": ")", ">(": ")", "${": "}", "$[": "]"}


_EXPANSIONS = frozenset(
    {"command_substitution", "process_substitution", "expansion", "arithmetic_expansion"}
)


class Hidden(NamedTuple):
    """One expansion in text: its node, or the code between backticks."""

    node: "Node | None"
    code: str = ""


def hidden_expansions(text: str, *, streams: bool = True) -> Iterator[Hidden]:
    """Yield each substitution, ``${…}`` and arithmetic expansion in *text*, not those in another
    one. Without *streams*, ``<(`` and ``>(`` are plain text, as in a here-document.

    Single quotes do not count: between double quotes they are characters like others.
    """
    at = 0
    while at < len(text):
        opener = text[at : at + 2]
        if text[at] == "\\":
            at += 2
        elif text[at] == "`":
            end = _backtick_end(text, at + 1)
            yield Hidden(None, unescape_backticks(text[at + 1 : end]))
            at = end + 1
        elif opener in _CLOSERS and (streams or opener[0] == "$"):
            node, at = _expansion_at(text, at)
            yield Hidden(node)
        else:
            at += 1


def unescape_backticks(code: str, *, quoted: bool = False) -> str:
    """Return what bash runs for the text between backticks: one level of backslashes removed;
    *quoted* if the backticks are between double quotes."""
    return re.sub(r"\\([\\`$\"])" if quoted else r"\\([\\`$])", r"\1", code)


def _backtick_end(text: str, at: int) -> int:
    """Return the place of the next backtick without a backslash: it ends the code, whatever that
    is."""
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == "`":
            return at
        at += 1
    raise CannotAnalyzeError("a backtick is not closed")


def _expansion_at(text: str, at: int) -> "tuple[Node, int]":
    """Return the expansion that starts at *at*, and the place after it."""
    closer = _CLOSERS[text[at : at + 2]]
    end = at + 1
    for _ in range(_MAX_ENDS):
        end = text.find(closer, end + 1)
        if end < 0:
            break
        node = _whole_expansion(text[at : end + 1])
        if node is not None:
            return node, end + 1
    raise CannotAnalyzeError("an expansion in text is not closed, or not understood")


def _whole_expansion(text: str) -> "Node | None":
    """Return the node of *text* if it is one complete expansion, as a word or between double
    quotes."""
    for mark in ("", '"') if text.startswith("${") else ("",):
        source = f"{mark}{text}{mark}"
        node = parse(source)
        if node.has_error or lost_text(node, source):
            continue
        while text_of(node) == source and node.child_count == 1 and node.type not in _EXPANSIONS:
            node = node.children[0]
        if mark and node.type == "string" and node.child_count == 3:
            node = node.children[1]
        if node.type in _EXPANSIONS and text_of(node) == text:
            return node
    return None
