"""The first words of an answer on one line, as they read and not as they are marked up."""

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_CHARACTERS = 2_000
"""Characters that are looked at."""

_SHOWN = frozenset({"text", "code_inline"})
_BREAKS = frozenset({"softbreak", "hardbreak"})


def excerpt(markdown: str, max_blocks: int = 1_000) -> str:
    """The words of the first *blocks* paragraphs, headings, items and so on of *markdown*."""
    found: list[str] = []
    for token in _parser().parse(markdown[:MAX_CHARACTERS]):
        said = token.content if token.type in {"fence", "code_block"} else _words(token.children)
        if said.strip():
            found.append(" ".join(said.split()))
        if len(found) == max_blocks:
            break
    return " ".join(found)


@functools.cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # kept off the start-up path

    return MarkdownIt("commonmark").enable("table")


def _words(tokens: "Iterable[Token] | None") -> str:
    return "".join(
        token.content if token.type in _SHOWN else " " if token.type in _BREAKS else ""
        for token in tokens or ()
    )
