"""Plain one-line excerpts of Markdown."""

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_CHARACTERS = 2_000
"""Characters of the source that are parsed."""

_SHOWN = frozenset({"text", "code_inline"})
_BREAKS = frozenset({"softbreak", "hardbreak"})


def excerpt(markdown: str, max_blocks: int = 1_000) -> str:
    """Return the first *max_blocks* blocks of *markdown* as plain text on one line."""
    found: list[str] = []
    for token in _parser().parse(markdown[:MAX_CHARACTERS]):
        text = (
            token.content if token.type in {"fence", "code_block"} else _plain_text(token.children)
        )
        if text.strip():
            found.append(" ".join(text.split()))
        if len(found) == max_blocks:
            break
    return " ".join(found)


@functools.cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # kept out of start-up

    return MarkdownIt("commonmark").enable("table")


def _plain_text(tokens: "Iterable[Token] | None") -> str:
    return "".join(
        token.content if token.type in _SHOWN else " " if token.type in _BREAKS else ""
        for token in tokens or ()
    )
